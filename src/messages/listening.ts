// Reads the filter in a `subscriptions/listen`, writes the filter in its acknowledgement (M25), and puts its id into the notifications for
// it. Cold path.
import { MEMBER_ABSENT, cutsOf, findMember, JsonScanner, jsonKind, partsOf } from '../bytes/index.js';
import { type BackendMessage, type ClientMessage, capability } from '../mcp/index.js';
import { isObject, limits } from '../shared/index.js';

/**
 * For each kind of list: `listBit`, the capability of backends that have such lists; `member`, the filter's member; `bit`, the capability of
 * backends that report changes; and `method`, the notification's.
 */
export const listChanges = [
  {
    kind: 'tools',
    listBit: capability.tools,
    member: 'toolsListChanged',
    bit: capability.toolsListChanged,
    method: 'notifications/tools/list_changed',
  },
  {
    kind: 'prompts',
    listBit: capability.prompts,
    member: 'promptsListChanged',
    bit: capability.promptsListChanged,
    method: 'notifications/prompts/list_changed',
  },
  {
    kind: 'resources',
    listBit: capability.resources,
    member: 'resourcesListChanged',
    bit: capability.resourcesListChanged,
    method: 'notifications/resources/list_changed',
  },
] as const;

export type ListChange = (typeof listChanges)[number];

export interface ListenFilter {
  readonly changes: readonly ListChange[];
  /** The URIs as the caller writes them, without duplicates. */
  readonly uris: readonly string[];
  readonly wantsTasks?: boolean;
}

/** Reads the params. @returns the filter, or a text that says what is wrong with the params. */
export function readListenFilter(body: Buffer, { paramsStart, paramsEnd }: ClientMessage): ListenFilter | string {
  if (paramsEnd - paramsStart > limits.readAtOnceBytesMax) return 'params are too large';
  const { notifications } = JSON.parse(body.toString('utf8', paramsStart, paramsEnd)) as { notifications?: unknown };
  if (!isObject(notifications)) return 'notifications must be an object';
  const changes: ListChange[] = [];
  for (const change of listChanges) {
    const wanted = notifications[change.member] ?? false;
    if (typeof wanted !== 'boolean') return `${change.member} must be a boolean`;
    if (wanted) changes.push(change);
  }
  const uris = notifications['resourceSubscriptions'] ?? [];
  if (!Array.isArray(uris) || !uris.every((uri) => typeof uri === 'string'))
    return 'resourceSubscriptions must be an array of strings';
  if (uris.length > limits.subscriptionsMax)
    return `resourceSubscriptions must not have more than ${limits.subscriptionsMax} members`;
  const taskIds = notifications['taskIds'] ?? [];
  if (!Array.isArray(taskIds)) return 'taskIds must be an array of strings';
  // The empty string is removed: it is no URI, but every URI begins with it.
  return { changes, uris: [...new Set(uris)].filter((uri) => uri !== ''), wantsTasks: taskIds.length > 0 };
}

/** The filter as JSON, with the requested members only. */
export function filterJson({ changes, uris }: ListenFilter): string {
  const members = changes.map(({ member }) => `"${member}":true`);
  if (uris.length > 0) members.push(`"resourceSubscriptions":${JSON.stringify(uris)}`);
  return `{${members.join()}}`;
}

// Puts the id of a client's `subscriptions/listen` into `params._meta` of a notification for it, and removes any other id there; all other
// bytes stay.

export const SUBSCRIPTION_ID_KEY = 'io.modelcontextprotocol/subscriptionId';

const META_DEPTH = 2;
const END_BRACE = 0x7d;

const scanner = new JsonScanner();

/**
 * The notification with the id. @param id that of the client's request, as JSON.
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

/** The notification without the id; `undefined` if `_meta`, or the id in it, is ambiguous or malformed. */
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

/** The comma behind a new first member, if the object has others. */
function commaIn(object: number): string {
  return scanner.next(object) > object + 1 ? ',' : '';
}

function inserted(bytes: Buffer, at: number, text: string): Buffer {
  return Buffer.concat(partsOf(bytes, [{ start: at, end: at, putIn: Buffer.from(text) }]));
}
