// Puts into a notification for one listening client the id of the client's own `subscriptions/listen`, in `params._meta`, and removes any
// other id there; all other bytes stay. Cold path.
import { MEMBER_ABSENT, cutsOf, findMember, JsonScanner, jsonKind, partsOf } from '../bytes/index.js';
import type { BackendMessage } from '../mcp/index.js';

export const SUBSCRIPTION_ID_KEY = 'io.modelcontextprotocol/subscriptionId';

const META_DEPTH = 2;
const END_BRACE = 0x7d;

const scanner = new JsonScanner();

/**
 * @param id the id of the client's request, as JSON.
 * @returns `undefined` for a message whose `_meta`, or the id in it, is ambiguous or malformed.
 */
export function taggedNotification(bytes: Buffer, message: BackendMessage, id: string): Buffer | undefined {
  const { paramsStart, paramsEnd } = message;
  const tag = `"${SUBSCRIPTION_ID_KEY}":${id}`;
  if (paramsStart === -1) return inserted(bytes, bytes.lastIndexOf(END_BRACE), `,"params":{"_meta":{${tag}}}`);
  const params = bytes.subarray(paramsStart, paramsEnd);
  if (!scanner.scan(params, META_DEPTH) || scanner.kind(0) !== jsonKind.object) return undefined;
  const meta = findMember(scanner, params, 0, '_meta');
  if (meta === MEMBER_ABSENT) return inserted(bytes, paramsStart + 1, `"_meta":{${tag}}${commaIn(0)}`);
  if (meta < 0 || scanner.kind(meta) !== jsonKind.object) return undefined;
  const present = findMember(scanner, params, meta, SUBSCRIPTION_ID_KEY);
  if (present === MEMBER_ABSENT)
    return inserted(bytes, paramsStart + scanner.start(meta) + 1, `${tag}${commaIn(meta)}`);
  if (present < 0) return undefined;
  const [start, end] = [paramsStart + scanner.start(present), paramsStart + scanner.end(present)];
  return Buffer.concat(partsOf(bytes, [{ start, end, putIn: Buffer.from(id) }]));
}

/**
 * The notification without an id of a `subscriptions/listen`.
 * @returns `undefined` for a message whose `_meta`, or the id in it, is ambiguous or malformed.
 */
export function untaggedNotification(bytes: Buffer, { paramsStart, paramsEnd }: BackendMessage): Buffer | undefined {
  if (paramsStart === -1) return bytes;
  const params = bytes.subarray(paramsStart, paramsEnd);
  if (!scanner.scan(params, META_DEPTH)) return undefined;
  const meta = findMember(scanner, params, 0, '_meta');
  if (meta === MEMBER_ABSENT) return bytes;
  if (meta < 0 || scanner.kind(meta) !== jsonKind.object) return undefined;
  const tag = findMember(scanner, params, meta, SUBSCRIPTION_ID_KEY);
  if (tag === MEMBER_ABSENT) return bytes;
  if (tag < 0) return undefined;
  const edits = cutsOf(scanner, meta, (member) => member === tag).map(({ start, end }) => {
    return { start: paramsStart + start, end: paramsStart + end, putIn: NO_BYTES };
  });
  return Buffer.concat(partsOf(bytes, edits));
}

const NO_BYTES = Buffer.alloc(0);

/** The separator between a new first member and the object's other members; `''` when it has none. */
function commaIn(object: number): string {
  return scanner.next(object) > object + 1 ? ',' : '';
}

function inserted(bytes: Buffer, at: number, text: string): Buffer {
  return Buffer.concat(partsOf(bytes, [{ start: at, end: at, putIn: Buffer.from(text) }]));
}
