// Reads JSON-RPC messages of callers and backends as spans: the relay looks only at what it routes by, and everything else stays bytes.
// Callers' messages are read strictly, because a message let through must mean the same to every backend; backends' messages a little less
// strictly. Hot path: once per message, one pass over its bytes.
import { Buffer } from 'node:buffer';
import { limits } from '../shared/index.js';
import {
  MEMBER_ABSENT,
  MEMBER_AMBIGUOUS,
  endOf,
  findMembersOfAny,
  findMembers,
  isStringEqual,
  MemberNames,
  JsonScanner,
  jsonKind,
  readings,
  type Scan,
  startOf,
} from '../bytes/index.js';
import { methodName } from './method-name.js';
import { PROTOCOL_VERSION_KEY, readModernEnvelope, type ModernEnvelope } from './modern-envelope.js';
import { leadingFilter, NO_SPANS, uris as uriPlaces, type PlaceSpans, RELATED_TASK } from './uri-places.js';

/** A message of a caller. Spans are offsets into its bytes, end exclusive, with the quotes of strings; -1 is absent. */
export interface ClientMessage {
  readonly kind: 'request' | 'notification' | 'response';
  /** `''` for a response. */
  readonly method: string;
  /** A string or a number. */
  readonly idStart: number;
  readonly idEnd: number;
  /** An object. */
  readonly paramsStart: number;
  readonly paramsEnd: number;
  /**
   * The subject of the request: `params.name`; for requests about resources `params.uri`; for a completion the name or URI in `params.ref`;
   * for requests about a task `params.taskId`. Also absent when it is not a string.
   */
  readonly nameStart: number;
  readonly nameEnd: number;
  /** Whether that subject is a resource's URI. */
  readonly isUri: boolean;
  /** `params._meta.progressToken`; also absent when it is neither string nor number, or too long. */
  readonly progressTokenStart: number;
  readonly progressTokenEnd: number;
  /** `params.requestId`; also absent when it is neither string nor number, or too long. */
  readonly requestIdStart: number;
  readonly requestIdEnd: number;
  /** `params.cursor`, of any type, unless it asks for the first page: only cursors that the relay has issued are valid. */
  readonly cursorStart: number;
  readonly cursorEnd: number;
  /** Whether there is `params.task`: the request asks to become a task. */
  readonly asksForTask: boolean;
  /** The value in the `_meta` of `params` or of a result that says which task the message belongs to. */
  readonly relatedTaskStart: number;
  readonly relatedTaskEnd: number;
  /** `params._meta`, of any type. */
  readonly metaStart: number;
  readonly metaEnd: number;
  /** The envelope of a message of MCP 2026-07-28; `undefined` for other messages. */
  readonly envelope: ModernEnvelope | undefined;
  /** The tape of a large message, for further reading; valid until the callback that got the message returns. */
  readonly tape: JsonScanner | undefined;
}

// The messages that one POST carries in an array, which only MCP 2025-03-26 and earlier allow.

/** The offsets of each member in the bytes of the array, in order. */
export interface ClientBatch {
  readonly kind: 'batch';
  /** At most one more than the bound, which shows that there are too many. */
  readonly members: readonly { readonly start: number; readonly end: number }[];
}

/** A message of a backend; spans as above. */
export interface BackendMessage {
  readonly kind: 'response' | 'request' | 'notification';
  /** `''` for a response. */
  readonly method: string;
  /** A string or a number; absent in a notification and in an error that belongs to no request. */
  readonly idStart: number;
  readonly idEnd: number;
  readonly isError: boolean;
  /** The value of `result` or `error`. */
  readonly bodyStart: number;
  readonly bodyEnd: number;
  /** An object. */
  readonly paramsStart: number;
  readonly paramsEnd: number;
  /** `params.progressToken` of a notification; also absent when it is neither string nor number, or too long. */
  readonly progressTokenStart: number;
  readonly progressTokenEnd: number;
  /** Where URIs are in a response; `undefined` when that is not known. */
  readonly uris: PlaceSpans | undefined;
  /** The same for ids of tasks. */
  readonly taskIds: PlaceSpans | undefined;
}

/** `not-json` results in -32700, `not-json-rpc` in -32600 (decisions 2.2). */
export type ParsedClientMessage = ClientMessage | ClientBatch | 'not-json' | 'not-json-rpc';

/** The deepest values read are members of `params._meta`. */
const CLIENT_DEPTH = 3;
/** How deep a backend's message is read. */
export const BACKEND_MESSAGE_DEPTH = 2;

/** Enough for `jsonrpc` and `id`, which backends write before the result unless they begin with it. */
const BEGINNING_BYTES = 256;
const RESULT = Buffer.from('result');

// Shared by all calls: reading is synchronous, and its results contain only offsets.
const scanner = new JsonScanner();

/** The tape of the message read last; valid until the next one is read. */
export const messageTape = scanner;

/** Nodes of the top-level members of a message; reused like the scanner. */
const envelope = {
  id: MEMBER_ABSENT,
  method: MEMBER_ABSENT,
  params: MEMBER_ABSENT,
  result: MEMBER_ABSENT,
  error: MEMBER_ABSENT,
};

// The names to find in each object, and their nodes, in the order of the names.
const envelopeNames = new MemberNames('jsonrpc', 'id', 'method', 'params', 'result', 'error');
const paramsNames = new MemberNames('name', 'requestId', 'cursor', '_meta', 'task');
const tokenNames = new MemberNames('progressToken');
const metaNames = new MemberNames('progressToken', RELATED_TASK, PROTOCOL_VERSION_KEY);
const resultNames = new MemberNames('_meta');
const resultMetaNames = new MemberNames(RELATED_TASK);
const inEnvelope = new Int32Array(envelopeNames.all.length);
const inParams = new Int32Array(paramsNames.all.length);
const inToken = new Int32Array(tokenNames.all.length);
const inMeta = new Int32Array(metaNames.all.length);
const inResult = new Int32Array(resultNames.all.length);
const inResultMeta = new Int32Array(resultMetaNames.all.length);

export function readClientMessage(bytes: Buffer): ParsedClientMessage {
  return scanner.scan(bytes, CLIENT_DEPTH) ? clientMessageIn(scanner, bytes, undefined) : 'not-json';
}

/**
 * The same for a message of any size: read in slices, between which the event loop serves others.
 * @param subject the subject whose message it is.
 * @param done called once, synchronously when there is time for all of it. The bytes must not change until then.
 */
export function readLargeClientMessage(
  subject: string,
  bytes: Buffer,
  done: (message: ParsedClientMessage) => void,
): Scan {
  return readings.readNow(subject, bytes, CLIENT_DEPTH, (tape) => {
    done(tape === undefined ? 'not-json' : clientMessageIn(tape, bytes, tape));
  });
}

/** @param lasting the tape, if it stays valid after the call. */
function clientMessageIn(tape: JsonScanner, bytes: Buffer, lasting: JsonScanner | undefined): ParsedClientMessage {
  if (!readEnvelope(tape, bytes)) return tape.kind(0) === jsonKind.array ? clientBatchIn(tape) : 'not-json-rpc';
  const { id, method } = envelope;
  if (id !== MEMBER_ABSENT && !isId(tape, id)) return 'not-json-rpc';
  if (method === MEMBER_ABSENT) {
    if (id === MEMBER_ABSENT || !isResponse(tape)) return 'not-json-rpc';
    inParams.fill(MEMBER_ABSENT);
    inMeta.fill(MEMBER_ABSENT);
    inMeta[1] = relatedTaskOfResult(tape, bytes);
    return clientMessage(tape, 'response', '', MEMBER_ABSENT, MEMBER_ABSENT, undefined, undefined);
  }
  const params = nullAsAbsent(tape, envelope.params);
  if (!isCall(tape) || !isObjectOrAbsent(tape, params)) return 'not-json-rpc';
  if (!findMembersOfAny(tape, bytes, params, paramsNames, inParams)) return 'not-json-rpc';
  const methodText = methodName(bytes, tape.start(method), tape.end(method));
  const subject = requestSubjectOf(tape, bytes, methodText, params, inParams[0]!);
  if (subject === MEMBER_AMBIGUOUS) return 'not-json-rpc';
  if (!findMembersOfAny(tape, bytes, inParams[3]!, metaNames, inMeta)) return 'not-json-rpc';
  const version = inMeta[2]!;
  const modern = version === MEMBER_ABSENT ? undefined : readModernEnvelope(tape, bytes, params, inParams[3]!, version);
  if (modern === 'ambiguous') return 'not-json-rpc';
  const name = subject !== MEMBER_ABSENT && tape.kind(subject) === jsonKind.string ? subject : MEMBER_ABSENT;
  return clientMessage(
    tape,
    id === MEMBER_ABSENT ? 'notification' : 'request',
    methodText,
    params,
    name,
    modern,
    lasting,
  );
}

/** An ambiguous member counts as absent. */
function relatedTaskOfResult(tape: JsonScanner, bytes: Buffer): number {
  if (envelope.result === MEMBER_ABSENT || !findMembersOfAny(tape, bytes, envelope.result, resultNames, inResult))
    return MEMBER_ABSENT;
  return findMembersOfAny(tape, bytes, inResult[0]!, resultMetaNames, inResultMeta) ? inResultMeta[0]! : MEMBER_ABSENT;
}

/**
 * @param depthMax values nested at most this deep are left in `messageTape`, for further reading.
 * @returns `undefined` for anything but a JSON-RPC message.
 */
export function readBackendMessage(bytes: Buffer, depthMax = BACKEND_MESSAGE_DEPTH): BackendMessage | undefined {
  return scanner.scan(bytes, depthMax) ? backendMessageIn(scanner, bytes) : undefined;
}

/**
 * The same, and for a response also where URIs are in it, in one pass. @returns without the URIs when the message has too many values to
 * record on the way to them.
 */
export function readBackendAnswer(bytes: Buffer): BackendMessage | undefined {
  if (!uriPlaces.mayBeIn(bytes))
    return scanner.scan(bytes, BACKEND_MESSAGE_DEPTH) ? backendMessageIn(scanner, bytes, NO_SPANS) : undefined;
  if (scanner.scan(bytes, uriPlaces.depth, leadingFilter(bytes, uriPlaces.leading))) {
    const message = backendMessageIn(scanner, bytes, uriPlaces.in(scanner, bytes));
    // The filter omits members that only other kinds of message have.
    if (message === undefined || message.kind === 'response') return message;
  }
  return readBackendMessage(bytes);
}

/** The message on the tape of a scanned text; `undefined` for anything but a JSON-RPC message. */
export function backendMessageIn(tape: JsonScanner, bytes: Buffer, uris?: PlaceSpans): BackendMessage | undefined {
  if (!readEnvelope(tape, bytes)) return undefined;
  const { method, error } = envelope;
  const isAnswer = method === MEMBER_ABSENT;
  // An error that belongs to no request has no id (S33), or JSON-RPC's `null`.
  const id = isAnswer && error !== MEMBER_ABSENT ? nullAsAbsent(tape, envelope.id) : envelope.id;
  const params = isAnswer ? MEMBER_ABSENT : nullAsAbsent(tape, envelope.params);
  if (!isBackends(tape, id, params)) return undefined;
  const isNotification = !isAnswer && id === MEMBER_ABSENT;
  if (isNotification && !findMembersOfAny(tape, bytes, params, tokenNames, inToken)) return undefined;
  const progressToken = isNotification ? idOrAbsent(tape, inToken[0]!) : MEMBER_ABSENT;
  const body = error === MEMBER_ABSENT ? envelope.result : error;
  return {
    kind: isAnswer ? 'response' : isNotification ? 'notification' : 'request',
    method: isAnswer ? '' : methodName(bytes, tape.start(method), tape.end(method)),
    idStart: startOf(tape, id),
    idEnd: endOf(tape, id),
    isError: error !== MEMBER_ABSENT,
    bodyStart: startOf(tape, body),
    bodyEnd: endOf(tape, body),
    paramsStart: startOf(tape, params),
    paramsEnd: endOf(tape, params),
    progressTokenStart: startOf(tape, progressToken),
    progressTokenEnd: endOf(tape, progressToken),
    uris: isAnswer ? uris : undefined,
    taskIds: undefined,
  };
}

function isBackends(tape: JsonScanner, id: number, params: number): boolean {
  if (id !== MEMBER_ABSENT && !isId(tape, id)) return false;
  if (envelope.method !== MEMBER_ABSENT) return isCall(tape) && isObjectOrAbsent(tape, params);
  return isResponse(tape) && (id !== MEMBER_ABSENT || envelope.error !== MEMBER_ABSENT);
}

/**
 * Whether the message's first bytes already show a `result` member. Then it can only be a response or invalid, because requests and
 * notifications must not have a result. False is inconclusive: the member may come later, or be written with escapes.
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

/** Fills `envelope`. @returns false unless the document is an object of JSON-RPC 2.0 whose members are unambiguous. */
function readEnvelope(tape: JsonScanner, bytes: Buffer): boolean {
  if (tape.kind(0) !== jsonKind.object) return false;
  if (!findMembers(tape, bytes, 0, envelopeNames, inEnvelope)) return false;
  const version = inEnvelope[0]!;
  if (version === MEMBER_ABSENT || tape.kind(version) !== jsonKind.string) return false;
  envelope.id = inEnvelope[1]!;
  envelope.method = inEnvelope[2]!;
  envelope.params = inEnvelope[3]!;
  envelope.result = inEnvelope[4]!;
  envelope.error = inEnvelope[5]!;
  // Some servers write both members in every answer, one of them `null`.
  if (envelope.result !== MEMBER_ABSENT && envelope.error !== MEMBER_ABSENT) {
    if (tape.kind(envelope.error) === jsonKind.null) envelope.error = MEMBER_ABSENT;
    else if (tape.kind(envelope.result) === jsonKind.null) envelope.result = MEMBER_ABSENT;
  }
  return isStringEqual(bytes, tape.start(version), tape.end(version), '2.0');
}

/** A request or notification must not look like a response too: backends differ in what they check first. */
function isCall(tape: JsonScanner): boolean {
  return (
    tape.kind(envelope.method) === jsonKind.string &&
    envelope.result === MEMBER_ABSENT &&
    envelope.error === MEMBER_ABSENT
  );
}

function isResponse(tape: JsonScanner): boolean {
  if (envelope.error === MEMBER_ABSENT) return envelope.result !== MEMBER_ABSENT;
  return envelope.result === MEMBER_ABSENT && tape.kind(envelope.error) === jsonKind.object;
}

/** A string or a number, short enough to be compared and kept. */
function isId(tape: JsonScanner, node: number): boolean {
  const kind = tape.kind(node);
  if (kind !== jsonKind.string && kind !== jsonKind.number) return false;
  return tape.end(node) - tape.start(node) <= limits.messageIdBytesMax;
}

function idOrAbsent(tape: JsonScanner, node: number): number {
  return node !== MEMBER_ABSENT && isId(tape, node) ? node : MEMBER_ABSENT;
}

function nullAsAbsent(tape: JsonScanner, node: number): number {
  return node !== MEMBER_ABSENT && tape.kind(node) === jsonKind.null ? MEMBER_ABSENT : node;
}

/** Clients also ask for the first page with `null` or an empty cursor. */
function isNoCursor(tape: JsonScanner, node: number): boolean {
  if (node === MEMBER_ABSENT || tape.kind(node) === jsonKind.null) return true;
  return tape.kind(node) === jsonKind.string && tape.end(node) - tape.start(node) === '""'.length;
}

function isObjectOrAbsent(tape: JsonScanner, node: number): boolean {
  return node === MEMBER_ABSENT || tape.kind(node) === jsonKind.object;
}

/** Builds a message from these nodes and those in `envelope`, `inParams` and `inMeta`. */
function clientMessage(
  tape: JsonScanner,
  kind: ClientMessage['kind'],
  method: string,
  params: number,
  name: number,
  modern: ModernEnvelope | undefined,
  lasting: JsonScanner | undefined,
): ClientMessage {
  const { id } = envelope;
  const progressToken = idOrAbsent(tape, inMeta[0]!);
  const requestId = idOrAbsent(tape, inParams[1]!);
  const cursor = isNoCursor(tape, inParams[2]!) ? MEMBER_ABSENT : inParams[2]!;
  const relatedTask = inMeta[1]!;
  const meta = inParams[3]!;
  return {
    kind,
    method,
    idStart: startOf(tape, id),
    idEnd: endOf(tape, id),
    paramsStart: startOf(tape, params),
    paramsEnd: endOf(tape, params),
    nameStart: startOf(tape, name),
    nameEnd: endOf(tape, name),
    isUri: kind !== 'response' && isSubjectUri,
    progressTokenStart: startOf(tape, progressToken),
    progressTokenEnd: endOf(tape, progressToken),
    requestIdStart: startOf(tape, requestId),
    requestIdEnd: endOf(tape, requestId),
    cursorStart: startOf(tape, cursor),
    cursorEnd: endOf(tape, cursor),
    asksForTask: inParams[4]! !== MEMBER_ABSENT,
    relatedTaskStart: startOf(tape, relatedTask),
    relatedTaskEnd: endOf(tape, relatedTask),
    metaStart: startOf(tape, meta),
    metaEnd: endOf(tape, meta),
    envelope: modern,
    tape: lasting,
  };
}

/** @param tape the tape of a scanned array. */
export function clientBatchIn(tape: JsonScanner): ClientBatch {
  const members: { start: number; end: number }[] = [];
  const past = tape.next(0);
  for (let node = 1; node < past && members.length <= limits.batchMembersMax; node = tape.next(node)) {
    members.push({ start: tape.start(node), end: tape.end(node) });
  }
  return { kind: 'batch', members };
}

// What a caller's request is about, depending on its method: the name of a tool or a prompt, the URI of a resource, the id of a task.

const taskNames = new MemberNames('taskId');
const uriNames = new MemberNames('uri');
const refParamsNames = new MemberNames('ref');
const refNames = new MemberNames('type', 'name', 'uri');
const inTask = new Int32Array(taskNames.all.length);
const inUri = new Int32Array(uriNames.all.length);
const inRefParams = new Int32Array(refParamsNames.all.length);
const inRef = new Int32Array(refNames.all.length);

/** Whether the last result of `requestSubjectOf` is a URI. */
let isSubjectUri = false;

/**
 * @param name the node of `params.name`, which the caller has already found.
 * @returns the node of what the request is about; otherwise `MEMBER_ABSENT` or `MEMBER_AMBIGUOUS`.
 */
function requestSubjectOf(tape: JsonScanner, bytes: Buffer, method: string, params: number, name: number): number {
  isSubjectUri = false;
  switch (method) {
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      isSubjectUri = true;
      return findMembersOfAny(tape, bytes, params, uriNames, inUri) ? inUri[0]! : MEMBER_AMBIGUOUS;
    case 'tasks/get':
    case 'tasks/result':
    case 'tasks/cancel':
    case 'tasks/update':
      return findMembersOfAny(tape, bytes, params, taskNames, inTask) ? inTask[0]! : MEMBER_AMBIGUOUS;
    case 'completion/complete':
      if (!findMembersOfAny(tape, bytes, params, refParamsNames, inRefParams)) return MEMBER_AMBIGUOUS;
      return findMembersOfAny(tape, bytes, inRefParams[0]!, refNames, inRef)
        ? subjectOfRef(tape, bytes)
        : MEMBER_AMBIGUOUS;
    default:
      return name;
  }
}

function subjectOfRef(tape: JsonScanner, bytes: Buffer): number {
  const [type = MEMBER_ABSENT, name = MEMBER_ABSENT, uri = MEMBER_ABSENT] = inRef;
  if (type === MEMBER_ABSENT || tape.kind(type) !== jsonKind.string) return MEMBER_ABSENT;
  if (isStringEqual(bytes, tape.start(type), tape.end(type), 'ref/prompt')) return name;
  isSubjectUri = isStringEqual(bytes, tape.start(type), tape.end(type), 'ref/resource');
  return isSubjectUri ? uri : MEMBER_ABSENT;
}
