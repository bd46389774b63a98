// Reads JSON-RPC messages of callers and backends as spans: only the members by which messages are routed are read, and everything else
// stays bytes. Callers' messages are read strictly, because they must mean the same to every backend; backends' messages are read less
// strictly. Hot path: once per message, one pass over its bytes.
import { Buffer } from 'node:buffer';
import { limits } from '../shared/index.js';
import {
  MEMBER_ABSENT,
  MEMBER_AMBIGUOUS,
  findMembers,
  isNumberIdAsText,
  isSameId,
  isStringEqual,
  MemberNames,
  JsonScanner,
  jsonKind,
  stringValue,
} from '../bytes/index.js';
import { PROTOCOL_VERSION_KEY, readModernEnvelope, type ModernEnvelope } from './modern-envelope.js';
import { filterOf, NO_SPANS, uriFinder, type LocatedSpans, RELATED_TASK } from './value-finder.js';

/** A message of a caller. Spans are offsets into its bytes, end exclusive, with the quotes of strings; -1 is absent. */
export interface ClientMessage {
  readonly kind: 'request' | 'notification' | 'response';
  readonly method: string;
  /** The span of the id, a string or a number. */
  readonly idStart: number;
  readonly idEnd: number;
  /** The span of the params, an object. */
  readonly paramsStart: number;
  readonly paramsEnd: number;
  /**
   * What the request is about: `params.name`; for resources `params.uri`; for a completion the name or URI in `params.ref`; for a task
   * `params.taskId`. Also absent when that is not a string.
   */
  readonly nameStart: number;
  readonly nameEnd: number;
  /** Whether the name is a resource's URI. */
  readonly isUri: boolean;
  /** `params._meta.progressToken`; also absent when it is neither string nor number, or too long. */
  readonly progressTokenStart: number;
  readonly progressTokenEnd: number;
  /** `params.requestId`; also absent when it is neither string nor number, or too long. */
  readonly requestIdStart: number;
  readonly requestIdEnd: number;
  /** `params.cursor`, of any type; also absent when it asks for the first page (`null` or `""`). */
  readonly cursorStart: number;
  readonly cursorEnd: number;
  /** Whether there is `params.task`: the request asks to become a task. */
  readonly asksForTask: boolean;
  /** `RELATED_TASK` in `_meta` of `params` or of a result: the task that the message belongs to. */
  readonly relatedTaskStart: number;
  readonly relatedTaskEnd: number;
  /** `params._meta`, of any type. */
  readonly metaStart: number;
  readonly metaEnd: number;
  /** The envelope, which only a message of MCP 2026-07-28 has. */
  readonly envelope: ModernEnvelope | undefined;
  /** The tape of a large message, for further reading; valid until the callback that got the message returns. */
  readonly tape: JsonScanner | undefined;
}

/** Several messages in one POST, as an array, which only MCP 2025-03-26 and earlier allow. */
export interface ClientBatch {
  readonly kind: 'batch';
  /** The messages: at most `batchMembersMax` and one more, which shows that there are too many. */
  readonly members: readonly { readonly start: number; readonly end: number }[];
}

/** A message of a backend; spans as in `ClientMessage`. */
export interface BackendMessage {
  readonly kind: 'response' | 'request' | 'notification';
  readonly method: string;
  /** The span of the id, a string or a number; absent in a notification and in an error that belongs to no request. */
  readonly idStart: number;
  readonly idEnd: number;
  readonly isError: boolean;
  /** The span of `result` or `error`. */
  readonly bodyStart: number;
  readonly bodyEnd: number;
  /** The span of the params, an object. */
  readonly paramsStart: number;
  readonly paramsEnd: number;
  /** `params.progressToken` of a notification; also absent when it is neither string nor number, or too long. */
  readonly progressTokenStart: number;
  readonly progressTokenEnd: number;
  /** Where a response has resource URIs; `undefined` when they were not searched for. */
  readonly uris: LocatedSpans | undefined;
  /** Where the message has task ids; `undefined` when they were not searched for. */
  readonly taskIds: LocatedSpans | undefined;
}

/** A message that was read. `not-json` results in -32700, `not-json-rpc` in -32600 (specification 2.2). */
export type ParsedClientMessage = ClientMessage | ClientBatch | 'not-json' | 'not-json-rpc';

/** The depth of the deepest values of a client's message that are read: members of `params._meta`. */
export const CLIENT_DEPTH = 3;
/** The depth of the deepest values of a backend's message that are read: members of `params`. */
export const BACKEND_MESSAGE_DEPTH = 2;

/** A response's `result` begins within these bytes: backends write at most `jsonrpc` and `id` before it. */
const BEGINNING_BYTES = 256;
const RESULT = Buffer.from('result');

// The scanner, shared by all calls: reading is synchronous, and its results contain only offsets.
const scanner = new JsonScanner();

/** The tape of the message read last; valid until the next one is read. */
export const messageTape = scanner;

/** The nodes of a message's top-level members; reused like the scanner. */
const topLevel = {
  id: MEMBER_ABSENT,
  method: MEMBER_ABSENT,
  params: MEMBER_ABSENT,
  result: MEMBER_ABSENT,
  error: MEMBER_ABSENT,
};

// The names to find in each object, and their nodes in the same order.
const topLevelNames = new MemberNames('jsonrpc', 'id', 'method', 'params', 'result', 'error');
const paramsNames = new MemberNames('name', 'requestId', 'cursor', '_meta', 'task');
const progressNames = new MemberNames('progressToken');
const metaNames = new MemberNames('progressToken', RELATED_TASK, PROTOCOL_VERSION_KEY);
const resultNames = new MemberNames('_meta');
const resultMetaNames = new MemberNames(RELATED_TASK);
const inTopLevel = new Int32Array(topLevelNames.all.length);
const inParams = new Int32Array(paramsNames.all.length);
const inProgressParams = new Int32Array(progressNames.all.length);
const inMeta = new Int32Array(metaNames.all.length);
const inResult = new Int32Array(resultNames.all.length);
const inResultMeta = new Int32Array(resultMetaNames.all.length);

export function readClientMessage(bytes: Buffer): ParsedClientMessage {
  return scanner.scan(bytes, CLIENT_DEPTH) ? clientMessageIn(scanner, bytes, undefined) : 'not-json';
}

/** The message on a tape. @param lastingTape the tape, if it stays valid after the call. */
export function clientMessageIn(
  tape: JsonScanner,
  bytes: Buffer,
  lastingTape: JsonScanner | undefined,
): ParsedClientMessage {
  if (!readTopLevel(tape, bytes)) return tape.kind(0) === jsonKind.array ? clientBatchIn(tape) : 'not-json-rpc';
  const { id, method } = topLevel;
  if (id !== MEMBER_ABSENT && !isId(tape, id)) return 'not-json-rpc';
  if (method === MEMBER_ABSENT) {
    if (id === MEMBER_ABSENT || !isResponse(tape)) return 'not-json-rpc';
    inParams.fill(MEMBER_ABSENT);
    inMeta.fill(MEMBER_ABSENT);
    inMeta[1] = relatedTaskOfResult(tape, bytes);
    return clientMessage(tape, 'response', '', MEMBER_ABSENT, MEMBER_ABSENT, undefined, undefined);
  }
  const params = nullAsAbsent(tape, topLevel.params);
  if (!isRequestOrNotification(tape) || !isObjectOrAbsent(tape, params)) return 'not-json-rpc';
  if (!findMembers(tape, bytes, params, paramsNames, inParams)) return 'not-json-rpc';
  const methodText = methodName(bytes, tape.start(method), tape.end(method));
  const nameNode = nameNodeOf(tape, bytes, methodText, params, inParams[0]!);
  if (nameNode === MEMBER_AMBIGUOUS) return 'not-json-rpc';
  if (!findMembers(tape, bytes, inParams[3]!, metaNames, inMeta)) return 'not-json-rpc';
  const version = inMeta[2]!;
  const modern = version === MEMBER_ABSENT ? undefined : readModernEnvelope(tape, bytes, params, inParams[3]!, version);
  if (modern === 'ambiguous') return 'not-json-rpc';
  const name = tape.kind(nameNode) === jsonKind.string ? nameNode : MEMBER_ABSENT;
  return clientMessage(
    tape,
    id === MEMBER_ABSENT ? 'notification' : 'request',
    methodText,
    params,
    name,
    modern,
    lastingTape,
  );
}

/** The node of the related task in a result; `MEMBER_ABSENT` also for an ambiguous member. */
function relatedTaskOfResult(tape: JsonScanner, bytes: Buffer): number {
  if (!findMembers(tape, bytes, topLevel.result, resultNames, inResult)) return MEMBER_ABSENT;
  return findMembers(tape, bytes, inResult[0]!, resultMetaNames, inResultMeta) ? inResultMeta[0]! : MEMBER_ABSENT;
}

/**
 * Reads a backend's message. @param depthMax values nested at most this deep stay in `messageTape`, for further reading.
 * @returns `undefined` for anything but a JSON-RPC message.
 */
export function readBackendMessage(bytes: Buffer, depthMax = BACKEND_MESSAGE_DEPTH): BackendMessage | undefined {
  return scanner.scan(bytes, depthMax) ? backendMessageIn(scanner, bytes) : undefined;
}

/**
 * Reads a message as `readBackendMessage` does, and for a response also `uris`, in the same pass. If too many values would have to be
 * recorded for that, `uris` is `undefined`.
 */
export function readBackendAnswer(bytes: Buffer): BackendMessage | undefined {
  if (!uriFinder.mayBeIn(bytes))
    return scanner.scan(bytes, BACKEND_MESSAGE_DEPTH) ? backendMessageIn(scanner, bytes, NO_SPANS) : undefined;
  if (scanner.scan(bytes, uriFinder.depth, filterOf(bytes, uriFinder.containers))) {
    const message = backendMessageIn(scanner, bytes, uriFinder.findOn(scanner, bytes));
    // The filter has left out members that only requests and notifications have.
    if (message === undefined || message.kind === 'response') return message;
  }
  return readBackendMessage(bytes);
}

/** The message on a tape. @returns `undefined` for anything but a JSON-RPC message. */
export function backendMessageIn(tape: JsonScanner, bytes: Buffer, uris?: LocatedSpans): BackendMessage | undefined {
  if (!readTopLevel(tape, bytes)) return undefined;
  const { method, error } = topLevel;
  const isAnswer = method === MEMBER_ABSENT;
  // An error that belongs to no request has no id (S33), or `null`.
  const id = isAnswer && error !== MEMBER_ABSENT ? nullAsAbsent(tape, topLevel.id) : topLevel.id;
  const params = isAnswer ? MEMBER_ABSENT : nullAsAbsent(tape, topLevel.params);
  if (!isValidBackendMessage(tape, id, params)) return undefined;
  const isNotification = !isAnswer && id === MEMBER_ABSENT;
  if (isNotification && !findMembers(tape, bytes, params, progressNames, inProgressParams)) return undefined;
  const progressToken = isNotification ? idOrAbsent(tape, inProgressParams[0]!) : MEMBER_ABSENT;
  const body = error === MEMBER_ABSENT ? topLevel.result : error;
  return {
    kind: isAnswer ? 'response' : isNotification ? 'notification' : 'request',
    method: isAnswer ? '' : methodName(bytes, tape.start(method), tape.end(method)),
    idStart: tape.start(id),
    idEnd: tape.end(id),
    isError: error !== MEMBER_ABSENT,
    bodyStart: tape.start(body),
    bodyEnd: tape.end(body),
    paramsStart: tape.start(params),
    paramsEnd: tape.end(params),
    progressTokenStart: tape.start(progressToken),
    progressTokenEnd: tape.end(progressToken),
    uris: isAnswer ? uris : undefined,
    taskIds: undefined,
  };
}

function isValidBackendMessage(tape: JsonScanner, id: number, params: number): boolean {
  if (id !== MEMBER_ABSENT && !isId(tape, id)) return false;
  if (topLevel.method !== MEMBER_ABSENT) return isRequestOrNotification(tape) && isObjectOrAbsent(tape, params);
  return isResponse(tape) && (id !== MEMBER_ABSENT || topLevel.error !== MEMBER_ABSENT);
}

/**
 * Whether the first bytes show a `result` member: then the message can only be a response or invalid. False means nothing, since the member
 * may come later, or be written with escapes.
 */
export function beginsWithResult(bytes: Buffer): boolean {
  scanner.begin(1);
  scanner.push(bytes.subarray(0, BEGINNING_BYTES));
  for (let node = 1; node < scanner.count; node++) {
    const key = bytes.subarray(scanner.keyStart(node), scanner.keyEnd(node));
    if (scanner.depth(node) === 1 && scanner.keyStart(node) !== -1 && key.equals(RESULT)) return true;
  }
  return false;
}

/** Whether a message answers the request. `as-text`: the id is a number, and came back as a string. */
export function answersRequest(
  bytes: Buffer,
  { kind, idStart, idEnd }: BackendMessage,
  id: Buffer,
  start: number,
  end: number,
): 'yes' | 'as-text' | 'no' {
  if (kind !== 'response' || idStart === -1) return 'no';
  if (isSameId(bytes, idStart, idEnd, id, start, end)) return 'yes';
  return isNumberIdAsText(bytes, idStart, idEnd, id, start, end) ? 'as-text' : 'no';
}

/** Fills `topLevel`. @returns false unless the document is a JSON-RPC 2.0 object without ambiguous members. */
function readTopLevel(tape: JsonScanner, bytes: Buffer): boolean {
  if (tape.kind(0) !== jsonKind.object) return false;
  if (!findMembers(tape, bytes, 0, topLevelNames, inTopLevel)) return false;
  const version = inTopLevel[0]!;
  if (tape.kind(version) !== jsonKind.string) return false;
  topLevel.id = inTopLevel[1]!;
  topLevel.method = inTopLevel[2]!;
  topLevel.params = inTopLevel[3]!;
  topLevel.result = inTopLevel[4]!;
  topLevel.error = inTopLevel[5]!;
  // Some servers write both `result` and `error` in every answer, one of them as `null`.
  if (topLevel.result !== MEMBER_ABSENT && topLevel.error !== MEMBER_ABSENT) {
    if (tape.kind(topLevel.error) === jsonKind.null) topLevel.error = MEMBER_ABSENT;
    else if (tape.kind(topLevel.result) === jsonKind.null) topLevel.result = MEMBER_ABSENT;
  }
  return isStringEqual(bytes, tape.start(version), tape.end(version), '2.0');
}

/** Whether the message is a request or notification. It must have no `result` or `error`: backends differ in which member they check first. */
function isRequestOrNotification(tape: JsonScanner): boolean {
  return (
    tape.kind(topLevel.method) === jsonKind.string &&
    topLevel.result === MEMBER_ABSENT &&
    topLevel.error === MEMBER_ABSENT
  );
}

function isResponse(tape: JsonScanner): boolean {
  if (topLevel.error === MEMBER_ABSENT) return topLevel.result !== MEMBER_ABSENT;
  return topLevel.result === MEMBER_ABSENT && tape.kind(topLevel.error) === jsonKind.object;
}

/** Whether a node is an id: a string or a number, short enough to be compared and kept. */
function isId(tape: JsonScanner, node: number): boolean {
  const kind = tape.kind(node);
  if (kind !== jsonKind.string && kind !== jsonKind.number) return false;
  return tape.end(node) - tape.start(node) <= limits.messageIdBytesMax;
}

function idOrAbsent(tape: JsonScanner, node: number): number {
  return isId(tape, node) ? node : MEMBER_ABSENT;
}

function nullAsAbsent(tape: JsonScanner, node: number): number {
  return tape.kind(node) === jsonKind.null ? MEMBER_ABSENT : node;
}

/** Whether a cursor asks for the first page: clients also do that with `null` or an empty one. */
function asksForFirstPage(tape: JsonScanner, node: number): boolean {
  if (node === MEMBER_ABSENT || tape.kind(node) === jsonKind.null) return true;
  return tape.kind(node) === jsonKind.string && tape.end(node) - tape.start(node) === '""'.length;
}

function isObjectOrAbsent(tape: JsonScanner, node: number): boolean {
  return node === MEMBER_ABSENT || tape.kind(node) === jsonKind.object;
}

/** The message, built from these nodes and those in `topLevel`, `inParams` and `inMeta`. */
function clientMessage(
  tape: JsonScanner,
  kind: ClientMessage['kind'],
  method: string,
  params: number,
  name: number,
  modern: ModernEnvelope | undefined,
  lastingTape: JsonScanner | undefined,
): ClientMessage {
  const { id } = topLevel;
  const progressToken = idOrAbsent(tape, inMeta[0]!);
  const requestId = idOrAbsent(tape, inParams[1]!);
  const cursor = asksForFirstPage(tape, inParams[2]!) ? MEMBER_ABSENT : inParams[2]!;
  const relatedTask = inMeta[1]!;
  const meta = inParams[3]!;
  return {
    kind,
    method,
    idStart: tape.start(id),
    idEnd: tape.end(id),
    paramsStart: tape.start(params),
    paramsEnd: tape.end(params),
    nameStart: tape.start(name),
    nameEnd: tape.end(name),
    isUri: kind !== 'response' && isNameUri,
    progressTokenStart: tape.start(progressToken),
    progressTokenEnd: tape.end(progressToken),
    requestIdStart: tape.start(requestId),
    requestIdEnd: tape.end(requestId),
    cursorStart: tape.start(cursor),
    cursorEnd: tape.end(cursor),
    asksForTask: inParams[4]! !== MEMBER_ABSENT,
    relatedTaskStart: tape.start(relatedTask),
    relatedTaskEnd: tape.end(relatedTask),
    metaStart: tape.start(meta),
    metaEnd: tape.end(meta),
    envelope: modern,
    tape: lastingTape,
  };
}

export function clientBatchIn(tape: JsonScanner): ClientBatch {
  const members: { start: number; end: number }[] = [];
  const subtreeEnd = tape.next(0);
  for (let node = 1; node < subtreeEnd && members.length <= limits.batchMembersMax; node = tape.next(node)) {
    members.push({ start: tape.start(node), end: tape.end(node) });
  }
  return { kind: 'batch', members };
}

/** The messages in an array of a backend, its only answer last; `undefined` for any other array, and for a large one. */
export function readBackendBatch(bytes: Buffer): readonly Buffer[] | undefined {
  if (bytes.length > limits.readAtOnceBytesMax || !scanner.scan(bytes, 1) || scanner.kind(0) !== jsonKind.array)
    return undefined;
  const { members } = clientBatchIn(scanner);
  const [answers, others]: [Buffer[], Buffer[]] = [[], []];
  for (const { start, end } of members) {
    const kind = readBackendMessage(bytes.subarray(start, end))?.kind;
    if (kind === undefined) return undefined;
    (kind === 'response' ? answers : others).push(bytes.subarray(start, end));
  }
  return answers.length === 1 && others.length < limits.batchMembersMax ? [...others, ...answers] : undefined;
}

const taskNames = new MemberNames('taskId');
const uriNames = new MemberNames('uri');
const refParamsNames = new MemberNames('ref');
const refNames = new MemberNames('type', 'name', 'uri');
const inTask = new Int32Array(taskNames.all.length);
const inUri = new Int32Array(uriNames.all.length);
const inRefParams = new Int32Array(refParamsNames.all.length);
const inRef = new Int32Array(refNames.all.length);

/** Whether the last result of `nameNodeOf` is a URI. */
let isNameUri = false;

/**
 * The node of what a request is about: the name of a tool or prompt, the URI of a resource, or the id of a task. `MEMBER_ABSENT` or
 * `MEMBER_AMBIGUOUS` without such a node.
 * @param name the node of `params.name`, which was found before.
 */
function nameNodeOf(tape: JsonScanner, bytes: Buffer, method: string, params: number, name: number): number {
  isNameUri = false;
  switch (method) {
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      isNameUri = true;
      return findMembers(tape, bytes, params, uriNames, inUri) ? inUri[0]! : MEMBER_AMBIGUOUS;
    case 'tasks/get':
    case 'tasks/result':
    case 'tasks/cancel':
    case 'tasks/update':
      return findMembers(tape, bytes, params, taskNames, inTask) ? inTask[0]! : MEMBER_AMBIGUOUS;
    case 'completion/complete':
      if (!findMembers(tape, bytes, params, refParamsNames, inRefParams)) return MEMBER_AMBIGUOUS;
      return findMembers(tape, bytes, inRefParams[0]!, refNames, inRef) ? nameNodeOfRef(tape, bytes) : MEMBER_AMBIGUOUS;
    default:
      return name;
  }
}

function nameNodeOfRef(tape: JsonScanner, bytes: Buffer): number {
  const [type = MEMBER_ABSENT, name = MEMBER_ABSENT, uri = MEMBER_ABSENT] = inRef;
  if (tape.kind(type) !== jsonKind.string) return MEMBER_ABSENT;
  if (isStringEqual(bytes, tape.start(type), tape.end(type), 'ref/prompt')) return name;
  isNameUri = isStringEqual(bytes, tape.start(type), tape.end(type), 'ref/resource');
  return isNameUri ? uri : MEMBER_ABSENT;
}

// A known method is recognized by its bytes, without decoding.

/** The most bytes of a method's name that are repeated in the error about an unknown method. The rest is cut off. */
export const METHOD_NAME_BYTES_MAX = 256;

export const KNOWN_METHODS = [
  'tools/call',
  'initialize',
  'ping',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'logging/setLevel',
  'tasks/get',
  'tasks/result',
  'tasks/cancel',
  'tasks/update',
  'tasks/list',
  'server/discover',
  'subscriptions/listen',
  'roots/list',
  'sampling/createMessage',
  'elicitation/create',
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/message',
  'notifications/tasks/status',
  'notifications/tools/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/prompts/list_changed',
  'notifications/roots/list_changed',
] as const;

const knownNames: ReadonlySet<string> = new Set(KNOWN_METHODS);

/** Whether the method is one of any version of MCP. Cold path. */
export function isMcpMethod(method: string): boolean {
  return knownNames.has(method);
}

/** The names of each length; the commonest come first. */
const namesByLength: string[][] = [];
for (const name of KNOWN_METHODS) (namesByLength[name.length] ??= []).push(name);

/** A method's name. @param start,end of the string token, with its quotes. A name longer than any real one is cut off, and not decoded. */
function methodName(bytes: Buffer, start: number, end: number): string {
  const length = end - start - 2;
  if (length > METHOD_NAME_BYTES_MAX) return `${bytes.toString('utf8', start + 1, start + 1 + METHOD_NAME_BYTES_MAX)}…`;
  for (const name of namesByLength[length] ?? []) if (isStringEqual(bytes, start, end, name)) return name;
  return stringValue(bytes, start, end);
}
