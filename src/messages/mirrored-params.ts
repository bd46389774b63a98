// The parameters of a call that headers repeat: reads them from the arguments as they go to the backend, and compares them with the headers
// of the caller's request (M13). Warm path: only for calls of tools with such parameters.
import { Buffer } from 'node:buffer';
import { jsonKind, JsonScanner, stringValue, ESCAPE_BYTES_MAX, partsOf } from '../bytes/index.js';
import type { MirroredParam } from '../mcp/index.js';
import { headerIn, limits } from '../shared/index.js';
import type { OutgoingMessage } from '../http-client/index.js';
import { headerValueOf } from '../upstream/index.js';

const ARGUMENTS_PATH: readonly string[] = ['params', 'arguments'];

/** Decodes the key between the offsets, which exclude its quotes. */
export type DecodeKey = (start: number, end: number) => string;

/** A member on the path to parameters, or a parameter itself. */
interface PathStep {
  /** The index of the parameter; -1 if the member is none. */
  paramIndex: number;
  readonly members: Map<string, PathStep>;
}

/**
 * The paths to the mirrored parameters of one tool, from the message's root. One walk over the arguments finds all parameters, and reads
 * each key once. To search all keys for each parameter would cost the product of both numbers, which backends and callers choose.
 */
export class MirroredPaths {
  static readonly #byParams = new WeakMap<readonly MirroredParam[], MirroredPaths>();

  static of(params: readonly MirroredParam[]): MirroredPaths {
    let paths = MirroredPaths.#byParams.get(params);
    if (paths === undefined) MirroredPaths.#byParams.set(params, (paths = new MirroredPaths(params)));
    return paths;
  }

  readonly depth: number;
  readonly #root: PathStep = { paramIndex: -1, members: new Map() };
  readonly #paramCount: number;
  /** The names of members on the path to a parameter. */
  readonly #containers = new Set<string>();
  /** The most bytes of any key on a path. */
  readonly #keyBytesMax: number;

  private constructor(params: readonly MirroredParam[]) {
    let [depth, keyBytesMax] = [0, 0];
    for (const [index, { path }] of params.entries()) {
      const names = [...ARGUMENTS_PATH, ...path];
      depth = Math.max(depth, names.length);
      let step = this.#root;
      for (const [at, name] of names.entries()) {
        if (at < names.length - 1) this.#containers.add(name);
        keyBytesMax = Math.max(keyBytesMax, ESCAPE_BYTES_MAX * name.length);
        let next = step.members.get(name);
        if (next === undefined) step.members.set(name, (next = { paramIndex: -1, members: new Map() }));
        step = next;
      }
      step.paramIndex = index;
    }
    this.depth = depth;
    this.#keyBytesMax = keyBytesMax;
    this.#paramCount = params.length;
  }

  /** Whether an object with this key may be on the path to a parameter. */
  mayLeadToParam(keyStart: number, keyEnd: number, decodeKey: DecodeKey): boolean {
    return keyEnd - keyStart <= this.#keyBytesMax && this.#containers.has(decodeKey(keyStart, keyEnd));
  }

  /** The node of each parameter; -1 if it is absent, or occurs twice, since the backend may take either. */
  nodesIn(tape: JsonScanner, decodeKey: DecodeKey): readonly number[] {
    const nodes = new Array<number>(this.#paramCount).fill(-1);
    this.#collectNodes(tape, decodeKey, this.#root, 0, nodes);
    return nodes;
  }

  #collectNodes(tape: JsonScanner, decodeKey: DecodeKey, step: PathStep, node: number, nodes: number[]): void {
    if (step.paramIndex !== -1) nodes[step.paramIndex] = node;
    if (step.members.size === 0 || tape.kind(node) !== jsonKind.object) return;
    const found = new Map<PathStep, number>();
    const subtreeEnd = tape.next(node);
    for (let member = node + 1; member < subtreeEnd; member = tape.next(member)) {
      const [start, end] = [tape.keyStart(member), tape.keyEnd(member)];
      if (end - start > this.#keyBytesMax) continue;
      const next = step.members.get(decodeKey(start, end));
      if (next !== undefined) found.set(next, found.has(next) ? -1 : member);
    }
    for (const [next, member] of found) if (member !== -1) this.#collectNodes(tape, decodeKey, next, member, nodes);
  }
}

const scanner = new JsonScanner();
const WHOLE_NUMBER = /^-?\d+$/;
/** The values in the order of the tool's parameters; `undefined` for an absent value, and one that has no form in a header. */
export type MirroredValues = readonly (string | typeof TOO_LONG | undefined)[];

/** What was read from the arguments of a large call, for the tool's mirrored parameters as they were known then (`params`). */
export interface ReadArguments {
  readonly params: readonly MirroredParam[];
  readonly callersValues: MirroredValues;
  /** The values as sent: the caller's, and those that the config fixes. */
  readonly sentValues: MirroredValues;
}

/** Stands for a string that is too long for any header, and was not decoded, or for a number with too many digits. */
export const TOO_LONG = Symbol('too long');

/** The values in a call. @returns `undefined` for a message that is too large to be parsed at once. */
export function mirroredValuesIn(
  message: OutgoingMessage,
  params: readonly MirroredParam[],
): MirroredValues | undefined {
  const { body, leftOut, putIn = NO_BYTES } = message;
  if (body.length + putIn.length > limits.readAtOnceBytesMax) return undefined;
  const bytes = leftOut === undefined ? body : Buffer.concat(partsOf(body, [{ ...leftOut, putIn }]));
  const paths = MirroredPaths.of(params);
  if (!scanner.scan(bytes, paths.depth)) return undefined;
  const decodeKey: DecodeKey = (start, end) => stringValue(bytes, start - 1, end + 1);
  return paths.nodesIn(scanner, decodeKey).map((node) => (node < 0 ? undefined : headerTextOf(bytes, node)));
}

/**
 * The headers for a message to a backend. @param params the tool's mirrored parameters, if they are known.
 * @param read the arguments of a large message. @param received the caller's `mcp-param-*` headers.
 */
export function paramHeaders(
  params: readonly MirroredParam[] | undefined,
  message: OutgoingMessage,
  read: ReadArguments | undefined,
  received = NO_HEADERS,
): readonly string[] | undefined {
  const values = params && (read?.params === params ? read.sentValues : mirroredValuesIn(message, params));
  return params && values ? headersOf(params, values, received) : received;
}

/**
 * The headers for these values. @param received the `mcp-param-*` headers of the caller's request; those that the tool does not name
 *   are passed on.
 * @returns headers: name, value, …; `undefined` when they are too long to be sent.
 */
function headersOf(
  params: readonly MirroredParam[],
  values: MirroredValues,
  received: readonly string[],
): readonly string[] | undefined {
  const headers: string[] = [];
  let bytes = 0;
  if (values.includes(TOO_LONG)) return undefined;
  params.forEach(({ header }, index) => {
    const value = values[index];
    if (typeof value !== 'string') return;
    const text = headerValueOf(value);
    bytes += header.length + text.length;
    headers.push(header, text);
  });
  for (let at = 0; at + 1 < received.length; at += 2)
    if (!params.some(({ header }) => header === received[at])) headers.push(received[at]!, received[at + 1]!);
  return bytes > limits.mirroredParamBytesMax ? undefined : headers;
}

const NO_HEADERS: readonly string[] = [];
const NO_BYTES = Buffer.alloc(0);

const SENTINEL_START = '=?base64?';
const SENTINEL_END = '?=';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A header's value, decoded if it is written as `=?base64?…?=`; `undefined` if that is not canonical base64 of UTF-8. */
export function decodeHeader(value: string): string | undefined {
  if (!value.startsWith(SENTINEL_START) || !value.endsWith(SENTINEL_END)) return value;
  const base64 = value.slice(SENTINEL_START.length, -SENTINEL_END.length);
  const bytes = Buffer.from(base64, 'base64');
  // Only the canonical spelling is accepted: Node's decoder is lenient, but an intermediary may not recognize another one.
  if (bytes.toString('base64') !== base64) return undefined;
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Compares headers with arguments. @returns in words what is wrong with the first header that differs; `undefined` when all agree. */
export function mirrorDisagreement(
  params: readonly MirroredParam[],
  values: MirroredValues,
  received: readonly string[],
): string | undefined {
  for (const [index, { header }] of params.entries()) {
    const value = values[index];
    const headerValue = headerIn(received, header);
    if (value === undefined && headerValue === undefined) continue;
    if (headerValue === undefined) return `${header} is missing`;
    const decoded = decodeHeader(headerValue);
    if (decoded === undefined) return `${header} is not valid base64 of UTF-8`;
    if (typeof value !== 'string' || !isSameValue(value, decoded)) return `${header} differs from the body`;
  }
  return undefined;
}

/** Whether two texts are the same value: a whole number may be written in several ways. */
function isSameValue(value: string, headerValue: string): boolean {
  if (value === headerValue) return true;
  const [, whole] = /^(-?\d+)(?:\.0+)?$/.exec(headerValue) ?? [];
  // The numbers are compared as BigInt, because floating-point numbers cannot tell large whole numbers apart.
  return whole !== undefined && WHOLE_NUMBER.test(value) && BigInt(value) === BigInt(whole);
}

function headerTextOf(bytes: Buffer, node: number): MirroredValues[number] {
  return scalarText(bytes, scanner.start(node), scanner.end(node), scanner.kind(node));
}

/** A value as it is written in a header; `undefined` if it has no such form. */
export function scalarText(bytes: Buffer, start: number, end: number, kind: number): MirroredValues[number] {
  if (kind === jsonKind.string) return stringValue(bytes, start, end);
  if (kind !== jsonKind.boolean && kind !== jsonKind.number) return undefined;
  if (end - start > limits.mirroredNumberCharsMax) return TOO_LONG;
  const text = bytes.toString('latin1', start, end);
  if (kind === jsonKind.boolean) return text;
  if (WHOLE_NUMBER.test(text)) return text;
  const value = Number(text);
  return Number.isSafeInteger(value) ? String(value) : undefined;
}
