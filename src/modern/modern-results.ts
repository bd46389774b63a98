// The members that a modern result has beside its content (type, cache hints, `_meta`), for the gateway's own results and for backends'
// results that lack them. Also how errors differ in the modern era.
import { findMember, isEmptyObject, isKey, isStringEqual, JsonScanner, jsonKind, type Edit } from '../bytes/index.js';
import { isObject, limits, PROGRAM_VERSION, rpcCodes, rpcErrors, type RpcError } from '../shared/index.js';
import { type BackendMessage, type Era, MODERN_PROTOCOL_VERSION } from '../mcp/index.js';
import { NO_EDITS } from '../calls/index.js';

// A legacy backend whose user must first open an address in a browser answers with an error (-32042). Modern clients do not know this error
// (M27), so they get a result that asks for input (M22). Then the call is made from the start, as the backend expects. Cold path.

const URL_ELICITATION_CODE = String(rpcCodes.urlElicitationRequired);

interface UrlElicitation {
  readonly mode: 'url';
  readonly message: string;
  readonly url: string;
}

/** Reads the addresses that the user must open. @param error as JSON. @returns `undefined` for any other, or too large, error. */
export function readUrlElicitations(error: Buffer): readonly UrlElicitation[] | undefined {
  if (error.length > limits.suspendedQuestionBytesMax || !error.includes(URL_ELICITATION_CODE)) return undefined;
  const { code, data } = JSON.parse(error.toString()) as { code?: unknown; data?: unknown };
  if (code !== rpcCodes.urlElicitationRequired) return undefined;
  const listed = isObject(data) ? data['elicitations'] : undefined;
  const elicitations = Array.isArray(listed) ? listed.map(readElicitation) : [];
  const valid = elicitations.filter((each) => each !== undefined);
  return valid.length === 0 ? undefined : valid.slice(0, limits.backendRequestsOpenMax);
}

function readElicitation(value: unknown): UrlElicitation | undefined {
  if (!isObject(value)) return undefined;
  const { url, message = '' } = value;
  if (typeof url !== 'string' || typeof message !== 'string') return undefined;
  return { mode: 'url', message, url };
}

export function inputRequestsOf(elicitations: readonly UrlElicitation[]): string {
  const asked = elicitations.map((params, index) => [String(index + 1), { method: 'elicitation/create', params }]);
  return JSON.stringify(Object.fromEntries(asked));
}

/** Whether the user has opened the addresses. @param responses `inputResponses` as JSON; if too large to be parsed at once: true. */
export function hasOpenedUrls(responses: Buffer): boolean {
  if (responses.length > limits.readAtOnceBytesMax) return true;
  const answers: unknown = JSON.parse(responses.toString());
  const given = isObject(answers) ? Object.values(answers) : [];
  return given.length > 0 && given.every((each) => isObject(each) && each['action'] === 'accept');
}

/**
 * The most cache scopes in one large result of `resources/read` that are rewritten to `private`. Further ones stay: only one scope of a
 * result has a meaning.
 */
export const SCOPES_CHANGED_MAX = 16;

/** The `_meta` of every result of the gateway's own (M18). */
export const RESULT_META: Readonly<Record<string, unknown>> = Object.freeze({
  'io.modelcontextprotocol/serverInfo': { name: 'switchyard', version: PROGRAM_VERSION },
});

export function inputRequiredResult(inputRequests: string, requestState: string): string {
  return `{"resultType":"input_required","inputRequests":${inputRequests},"requestState":"${requestState}","_meta":${JSON.stringify(RESULT_META)}}`;
}

export const RESULT_TYPE = '"resultType":"complete"';
const RESULT_TYPE_START = Buffer.from('{"resultType":');
/** The bytes at the end of a result that are searched for `resultType`: a `_meta` with the server's name may follow it. */
const TAIL_BYTES = 512;
const OPEN = Buffer.from('{');
const COMMA = 0x2c;
const REQUIRED_MEMBERS: readonly (readonly [name: string, member: string])[] = [['resultType', RESULT_TYPE]];
/**
 * The members that a result of `resources/read` must have. No other relayed result has cache hints: lists have hints, too, but are the
 * gateway's own results. A legacy backend gives no hints, so these forbid caching (M19).
 */
const REQUIRED_IN_READ: typeof REQUIRED_MEMBERS = [
  ...REQUIRED_MEMBERS,
  ['ttlMs', '"ttlMs":0'],
  ['cacheScope', '"cacheScope":"private"'],
];
/** The members that a legacy backend's result of a tool call must have. Legacy clients do without `content`, as in a draft of MCP. */
const REQUIRED_IN_CALL: typeof REQUIRED_MEMBERS = [...REQUIRED_MEMBERS, ['content', '"content":[]']];
const CONTENT_START = Buffer.from('{"content":');
const BRACE = 0x7b;

const scanner = new JsonScanner();

/**
 * Edits that make a backend's result a modern one. Missing members are added (M18, M19, N06). In the result of a `resources/read`, any
 * other `cacheScope` becomes `private`: no shared cache may keep the result, since allow-lists are per user (M30). In a legacy backend's
 * result, any other `resultType` becomes `complete`: the name means nothing in its revision, and the backend waits for no retry. In a
 * modern backend's result, the type stays, even an unknown one.
 */
export function resultEdits(
  bytes: Buffer,
  { bodyStart, bodyEnd }: BackendMessage,
  method: string,
  era: Era,
): readonly Edit[] {
  if (bytes[bodyStart] !== BRACE) return NO_EDITS;
  const result = bytes.subarray(bodyStart, bodyEnd);
  const isRead = method === 'resources/read';
  const scopes = isRead ? privateScopes(result, bodyStart) : NO_EDITS;
  if (era === 'modern' && hasTypeAtEitherEnd(result)) return scopes;
  const isCall = method === 'tools/call' && !result.subarray(0, CONTENT_START.length).equals(CONTENT_START);
  const needed =
    era === 'modern' ? REQUIRED_MEMBERS : isRead ? REQUIRED_IN_READ : isCall ? REQUIRED_IN_CALL : REQUIRED_MEMBERS;
  // Most results of calls need no scan: they begin with their content, and nothing in them looks like a type.
  if (needed === REQUIRED_MEMBERS && !isRead && !mayContain(result, RESULT_TYPE_KEY))
    return [insertMembers(result, bodyStart, RESULT_TYPE)];
  const edits = [...scopes];
  const missing = needed.filter(([name]) => !mayHaveMember(result, name));
  for (const node of era === 'legacy' ? membersNamed(result, 'resultType') : [])
    if (scanner.kind(node) === jsonKind.string) replaceNode(edits, result, bodyStart, node, COMPLETE);
  if (missing.length > 0) edits.push(insertMembers(result, bodyStart, missing.map(([, member]) => member).join()));
  return edits;
}

function insertMembers(result: Buffer, bodyStart: number, members: string): Edit {
  const start = bodyStart + 1;
  return { start, end: start, putIn: Buffer.from(isEmptyObject(result, 0) ? members : `${members},`) };
}

function replaceNode(edits: Edit[], result: Buffer, bodyStart: number, node: number, putIn: Buffer): void {
  const [start, end] = [scanner.start(node), scanner.end(node)];
  if (!result.subarray(start, end).equals(putIn)) edits.push({ start: bodyStart + start, end: bodyStart + end, putIn });
}

/**
 * Whether the result has its type where nearly all servers write it: as the first member, or near the end. The rest is not scanned. The
 * tail from the key on, with a brace before it, is a valid object only if the key is a member of the result itself.
 */
function hasTypeAtEitherEnd(result: Buffer): boolean {
  if (result.subarray(0, RESULT_TYPE_START.length).equals(RESULT_TYPE_START)) return true;
  const tail = result.subarray(Math.max(0, result.length - TAIL_BYTES));
  const at = tail.lastIndexOf(RESULT_TYPE_KEY);
  if (at < 1 || (tail[at - 1] !== COMMA && tail[at - 1] !== BRACE)) return false;
  return scanner.scan(Buffer.concat([OPEN, tail.subarray(at)]), 1);
}

/**
 * The edits that make the result's `cacheScope` private. In a result too large to be parsed at once, `"public"` scopes are found by their
 * bytes, which no JSON string can contain: only the first `SCOPES_CHANGED_MAX`, and also nested ones, which mean nothing.
 */
function privateScopes(result: Buffer, bodyStart: number): readonly Edit[] {
  const edits: Edit[] = [];
  if (result.length <= limits.readAtOnceBytesMax) {
    for (const node of membersNamed(result, 'cacheScope')) replaceNode(edits, result, bodyStart, node, PRIVATE);
    return edits;
  }
  for (let at = result.indexOf(SCOPE_KEY); at !== -1; at = result.indexOf(SCOPE_KEY, at + 1)) {
    if (edits.length >= SCOPES_CHANGED_MAX) break;
    const start = at + SCOPE_KEY.length;
    const [written] = PUBLIC_BEHIND.exec(result.toString('latin1', start, start + SCOPE_LOOK_BYTES)) ?? [];
    if (written === undefined) continue;
    const end = bodyStart + start + written.length;
    edits.push({ start: end - PUBLIC_BYTES, end, putIn: PRIVATE });
  }
  return edits;
}

const SCOPE_KEY = '"cacheScope"';
const PRIVATE = Buffer.from('"private"');
const PUBLIC_BEHIND = /^\s*:\s*"public"/;
const PUBLIC_BYTES = '"public"'.length;
/** How many bytes are searched behind the key: there is little or no white space. */
const SCOPE_LOOK_BYTES = 64;

const RESULT_TYPE_KEY = Buffer.from('"resultType"');
const COMPLETE = Buffer.from('"complete"');

/** Whether the result says that the call has become a task; false for a result too large to be parsed at once. */
export function isTaskHandle(bytes: Buffer, { bodyStart, bodyEnd, isError }: BackendMessage): boolean {
  const result = bytes.subarray(bodyStart, bodyEnd);
  if (isError || result.length > limits.readAtOnceBytesMax || !result.includes(RESULT_TYPE_KEY)) return false;
  if (!scanner.scan(result, 1) || scanner.kind(0) !== jsonKind.object) return false;
  const node = findMember(scanner, result, 0, 'resultType');
  return (
    node >= 0 &&
    scanner.kind(node) === jsonKind.string &&
    isStringEqual(result, scanner.start(node), scanner.end(node), 'task')
  );
}

/** The edits that replace a legacy error code with the modern one (M27). */
export function modernErrorEdits(bytes: Buffer, { bodyStart, bodyEnd }: BackendMessage): readonly Edit[] {
  const error = bytes.subarray(bodyStart, bodyEnd);
  if (error.length > limits.readAtOnceBytesMax || !scanner.scan(error, 1)) return NO_EDITS;
  const node = findMember(scanner, error, 0, 'code');
  const code = node < 0 ? '' : error.toString('latin1', scanner.start(node), scanner.end(node));
  const putIn = MODERN_CODES.get(code);
  return putIn === undefined
    ? NO_EDITS
    : [{ start: bodyStart + scanner.start(node), end: bodyStart + scanner.end(node), putIn }];
}

const MODERN_CODES: ReadonlyMap<string, Buffer> = new Map([
  [String(rpcCodes.resourceNotFound), Buffer.from(String(rpcCodes.invalidParams))],
  // Only for an error that `readUrlElicitations` could not read; any other such error has become a question to the client.
  [String(rpcCodes.urlElicitationRequired), Buffer.from(String(rpcCodes.internalError))],
]);

/** Whether a result has the member. For one too large to be parsed at once: whether the name occurs anywhere in it. */
function mayHaveMember(result: Buffer, name: string): boolean {
  if (result.length > limits.readAtOnceBytesMax) return result.includes(`"${name}"`);
  return membersNamed(result, name).length > 0;
}

/** How the escape of an ASCII letter begins. */
const ESCAPED = Buffer.from('\\u00');

function mayContain(result: Buffer, key: Buffer | string): boolean {
  return result.includes(key) || result.includes(ESCAPED);
}

/** The members with this name, written with escapes or without; none of a result too large to be parsed at once. */
function membersNamed(result: Buffer, name: string): readonly number[] {
  const nodes: number[] = [];
  if (result.length > limits.readAtOnceBytesMax || !mayContain(result, `"${name}"`)) return nodes;
  if (!scanner.scan(result, 1) || scanner.kind(0) !== jsonKind.object) return nodes;
  const past = scanner.next(0);
  for (let node = 1; node < past; node = scanner.next(node))
    if (isKey(result, scanner.keyStart(node), scanner.keyEnd(node), name)) nodes.push(node);
  return nodes;
}

// How errors differ in the modern era. Cold path.

/** The versions that an error names for a retry (`data.supported`). Legacy versions cannot be requested in an envelope. */
export const MODERN_VERSIONS: readonly string[] = [MODERN_PROTOCOL_VERSION];

/** The HTTP status for one of the gateway's own errors. Faults of the request get 400 or 404, which intermediaries see; others get 200. */
export function httpStatusOf(code: number): number {
  switch (code) {
    case rpcCodes.methodNotFound:
      return 404;
    case rpcCodes.headerMismatch:
    case rpcCodes.capabilityMissing:
    case rpcCodes.versionUnsupported:
      return 400;
    default:
      return 200;
  }
}

/**
 * The HTTP status for a backend's error. Errors about the request's headers or the client's capabilities get 400, like the gateway's own
 * (M13, M15). All other errors are ordinary answers, even an unsupported version, about which the caller can do nothing.
 */
export function httpStatusOfBackendError(code: number): number {
  return code === rpcCodes.headerMismatch || code === rpcCodes.capabilityMissing ? 400 : 200;
}

/** The error with its modern code, where that differs: the modern era has no -32002. */
export function modernError(error: RpcError): RpcError {
  return error.code === rpcCodes.resourceNotFound ? { ...error, ...rpcErrors.modernResourceNotFound } : error;
}
