// Reads the type of a modern backend's result. From a result of type `input_required`, also reads the backend's questions and state, as
// views of the result, so that they keep their bytes on the way to the client and back. Cold path.
import { Buffer } from 'node:buffer';
import { limits } from '../shared/index.js';
import {
  MEMBER_ABSENT,
  findMember,
  isStringEqual,
  stringValue,
  jsonKind,
  JsonScanner,
  scanQueue,
  type Scan,
} from '../bytes/index.js';
import { METHOD_NAME_BYTES_MAX } from './json-rpc.js';

const scanner = new JsonScanner();

/** The type of a result. `other`: an unknown type, which makes the result invalid (N06). */
type ResultType = 'complete' | 'input_required' | 'other';

const KEYS_CHECKED_MAX = 16;

/** The key with its quotes, which would be escaped inside a string of the result. */
const TYPE_KEY = Buffer.from('"resultType"');
const COMPLETE = '"complete"';

/**
 * Reads the type of a result, which is searched natively for the key, and parsed only if it may have another value than `complete`. Warm
 * path: only for modern backends.
 * @param result a JSON value of any size; it must not change until `done` is called.
 * @param done called once, synchronously if there is time.
 * @returns the scan in progress of a large result.
 */
export function readResultType(subject: string, result: Buffer, done: (type: ResultType) => void): Scan | undefined {
  if (!mayHaveOtherType(result)) done('complete');
  else if (result.length <= limits.readAtOnceBytesMax)
    done(typeIn(scanner.scan(result, 1) ? scanner : undefined, result));
  else return scanQueue.scanNow(subject, result, 1, (tape) => done(typeIn(tape, result)));
  return undefined;
}

/** Whether the key occurs anywhere without `"complete"` after it. A key written with escapes is not found: no server writes one. */
function mayHaveOtherType(result: Buffer): boolean {
  let at = result.indexOf(TYPE_KEY);
  for (let count = 0; at !== -1; count++) {
    if (count >= KEYS_CHECKED_MAX || !isCompleteBehind(result, at + TYPE_KEY.length)) return true;
    at = result.indexOf(TYPE_KEY, at + 1);
  }
  return false;
}

/** Whether `"complete"` follows, with at most one space before it, as nearly all servers write it. */
function isCompleteBehind(result: Buffer, at: number): boolean {
  const text = result.toString('latin1', at, at + COMPLETE.length + 2);
  return text.startsWith(`:${COMPLETE}`) || text === `: ${COMPLETE}`;
}

function typeIn(tape: JsonScanner | undefined, result: Buffer): ResultType {
  if (tape === undefined || tape.kind(0) !== jsonKind.object) return 'other';
  const node = findMember(tape, result, 0, 'resultType');
  if (node === MEMBER_ABSENT) return 'complete';
  if (node < 0 || tape.kind(node) !== jsonKind.string) return 'other';
  if (isStringEqual(result, tape.start(node), tape.end(node), 'complete')) return 'complete';
  return isStringEqual(result, tape.start(node), tape.end(node), 'input_required') ? 'input_required' : 'other';
}

/** The methods of the requests that a backend may put into a result of type `input_required` (M22). */
export const INPUT_METHODS: ReadonlySet<string> = new Set([
  'elicitation/create',
  'sampling/createMessage',
  'roots/list',
]);

export interface InputRequest {
  /** The name under which the answer is expected, as JSON. */
  readonly key: Buffer;
  readonly method: string;
  /** The params as JSON; empty for none. */
  readonly params: Buffer;
  /** The value of `params.mode`; `''` for none. */
  readonly mode: string;
  readonly hasElicitationId: boolean;
}

export interface InputRequired {
  readonly requests: readonly InputRequest[];
  /** The backend's state as JSON, to be returned unchanged with the answers; `undefined` for none. */
  readonly requestState: Buffer | undefined;
}

const INPUT_DEPTH = 4;

/**
 * Reads a backend's questions. @param result JSON of any size. It must not change until `done` is called, which gets views of it.
 * @param done called once, with `undefined` when the result is not of this type, or asks for nothing.
 */
export function readInputRequired(
  subject: string,
  result: Buffer,
  done: (input: InputRequired | undefined) => void,
): Scan | undefined {
  if (result.length > limits.readAtOnceBytesMax)
    return scanQueue.scanNow(subject, result, INPUT_DEPTH, (tape) => done(tape && inputIn(tape, result)));
  done(scanner.scan(result, INPUT_DEPTH) ? inputIn(scanner, result) : undefined);
  return undefined;
}

function inputIn(tape: JsonScanner, bytes: Buffer): InputRequired | undefined {
  const state = findMember(tape, bytes, 0, 'requestState');
  const list = findMember(tape, bytes, 0, 'inputRequests');
  if (state !== MEMBER_ABSENT && !isKind(tape, state, jsonKind.string)) return undefined;
  if (list !== MEMBER_ABSENT && !isKind(tape, list, jsonKind.object)) return undefined;
  const requests = list === MEMBER_ABSENT ? [] : requestsIn(tape, bytes, list);
  if (requests === undefined || (requests.length === 0 && state === MEMBER_ABSENT)) return undefined;
  return {
    requests,
    requestState: state === MEMBER_ABSENT ? undefined : bytes.subarray(tape.start(state), tape.end(state)),
  };
}

function requestsIn(tape: JsonScanner, bytes: Buffer, list: number): InputRequest[] | undefined {
  const requests: InputRequest[] = [];
  const subtreeEnd = tape.next(list);
  for (let node = list + 1; node < subtreeEnd; node = tape.next(node)) {
    const request = requestIn(tape, bytes, node);
    if (request === undefined || requests.length >= limits.backendRequestsOpenMax) return undefined;
    requests.push(request);
  }
  return requests;
}

function requestIn(tape: JsonScanner, bytes: Buffer, node: number): InputRequest | undefined {
  if (!isKind(tape, node, jsonKind.object)) return undefined;
  const method = findMember(tape, bytes, node, 'method');
  const params = findMember(tape, bytes, node, 'params');
  if (!isKind(tape, method, jsonKind.string) || tape.end(method) - tape.start(method) > METHOD_NAME_BYTES_MAX)
    return undefined;
  if (params !== MEMBER_ABSENT && !isKind(tape, params, jsonKind.object)) return undefined;
  const mode = params === MEMBER_ABSENT ? MEMBER_ABSENT : findMember(tape, bytes, params, 'mode');
  const elicitationId = params === MEMBER_ABSENT ? MEMBER_ABSENT : findMember(tape, bytes, params, 'elicitationId');
  const isModeText = isKind(tape, mode, jsonKind.string) && tape.end(mode) - tape.start(mode) <= METHOD_NAME_BYTES_MAX;
  return {
    key: bytes.subarray(tape.keyStart(node) - 1, tape.keyEnd(node) + 1),
    method: stringValue(bytes, tape.start(method), tape.end(method)),
    params: params === MEMBER_ABSENT ? bytes.subarray(0, 0) : bytes.subarray(tape.start(params), tape.end(params)),
    mode: isModeText ? stringValue(bytes, tape.start(mode), tape.end(mode)) : '',
    hasElicitationId: elicitationId !== MEMBER_ABSENT,
  };
}

function isKind(tape: JsonScanner, node: number, kind: number): boolean {
  return node >= 0 && tape.kind(node) === kind;
}
