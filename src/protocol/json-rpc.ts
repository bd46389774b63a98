// JSON-RPC messages of both sides, read as spans: what the relay routes by is looked at, everything else stays bytes.
// Callers are read strictly, because what is let through must mean the same to every backend; backends a little less
// so. Hot: once per message, one pass over its bytes.
import { Buffer } from 'node:buffer';
import { limits } from '../shared/limits.js';
import { clientBatchIn, type ClientBatch } from './client-batch.js';
import { ABSENT, AMBIGUOUS, findIn, findMembers, isString, MemberNames } from './json-member.js';
import { JsonScanner, jsonKind } from './json-scanner.js';
import { methodName } from './method-name.js';
import { PROTOCOL_VERSION_KEY, readModernEnvelope, type ModernEnvelope } from './modern-envelope.js';
import { readings, type Reading } from './reading-queue.js';
import { isSubjectUri, subjectOf } from './request-subject.js';
import { RELATED_TASK, type TaskIdSpans } from './task-places.js';
import { leadingFilter, mayNameUri, NO_URIS, URI_DEPTH, URI_LEADING, urisIn, type UriSpans } from './uri-places.js';

/** A message of a caller. Spans are offsets into its bytes, end exclusive, strings with their quotes; -1 is absent. */
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
   * What the request is about: `params.name`, of requests for resources `params.uri`, of a completion the name or URI in
   * `params.ref`, of requests about a task `params.taskId`. Absent as well when it is not a string.
   */
  readonly nameStart: number;
  readonly nameEnd: number;
  /** Whether that is a resource's URI. */
  readonly isUri: boolean;
  /** `params._meta.progressToken`; absent as well when it is neither string nor number, or too long. */
  readonly progressTokenStart: number;
  readonly progressTokenEnd: number;
  /** `params.requestId`; absent as well when it is neither string nor number, or too long. */
  readonly requestIdStart: number;
  readonly requestIdEnd: number;
  /** `params.cursor`, of whatever kind: no cursor that the relay has not given out is valid. */
  readonly cursorStart: number;
  readonly cursorEnd: number;
  /** Whether there is `params.task`: the request asks to become a task. */
  readonly asksForTask: boolean;
  /** What says which task it belongs to, in the `_meta` of `params` or of a result. */
  readonly relatedTaskStart: number;
  readonly relatedTaskEnd: number;
  /** `params._meta`, of whatever kind. */
  readonly metaStart: number;
  readonly metaEnd: number;
  /** What a caller of MCP 2026-07-28 says with each message; `undefined` of others. */
  readonly envelope: ModernEnvelope | undefined;
  /** Of a large message, for who reads on in it: good until whoever was told of the message returns. */
  readonly tape: JsonScanner | undefined;
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
  /** `params.progressToken` of a notification; absent as well when it is neither string nor number. */
  readonly progressTokenStart: number;
  readonly progressTokenEnd: number;
  /** Of an answer, where URIs stand in it; `undefined` where it has not been found out. */
  readonly uris: UriSpans | undefined;
  /** The same of ids of tasks. */
  readonly taskIds: TaskIdSpans | undefined;
}

/** `not-json` is for -32700, `not-json-rpc` for -32600 (decisions 2.2). */
export type ClientReading = ClientMessage | ClientBatch | 'not-json' | 'not-json-rpc';

/** A member of `params._meta` is the deepest value that is looked at. */
const CLIENT_DEPTH = 3;
/** As deep as a backend's message is looked at. */
export const BACKEND_DEPTH = 2;

/** Enough for `jsonrpc` and `id`, which backends put before the result when they do not begin with it. */
const BEGINNING_BYTES = 256;
const RESULT = Buffer.from('result');

// Shared by every call: reading is synchronous, and an answer holds numbers only.
const scanner = new JsonScanner();

/** The message that was read last; good until the next one is read. */
export const messageTape = scanner;

/** Nodes of the members that make a message; reused like the scanner. */
const envelope = { id: ABSENT, method: ABSENT, params: ABSENT, result: ABSENT, error: ABSENT };

// What is looked for, object by object, and where it is: in the order of the names.
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

export function readClientMessage(bytes: Buffer): ClientReading {
  return scanner.scan(bytes, CLIENT_DEPTH) ? clientMessageIn(scanner, bytes, undefined) : 'not-json';
}

/**
 * The same for a message of any size: in slices, with others' turns of the event loop between them.
 * @param subject whose message it is.
 * @param done called once, from within when there is time for all of it. The bytes must stay as they are until then.
 */
export function readLargeClientMessage(
  subject: string,
  bytes: Buffer,
  done: (message: ClientReading) => void,
): Reading {
  return readings.readNow(subject, bytes, CLIENT_DEPTH, (tape) => {
    done(tape === undefined ? 'not-json' : clientMessageIn(tape, bytes, tape));
  });
}

/** @param lasting the tape, where it is not used again at once. */
function clientMessageIn(tape: JsonScanner, bytes: Buffer, lasting: JsonScanner | undefined): ClientReading {
  if (!readEnvelope(tape, bytes)) return tape.kind(0) === jsonKind.array ? clientBatchIn(tape) : 'not-json-rpc';
  const { id, method, params } = envelope;
  if (id !== ABSENT && !isId(tape, id)) return 'not-json-rpc';
  if (method === ABSENT) {
    if (id === ABSENT || !isResponse(tape)) return 'not-json-rpc';
    const relatedTask = relatedTaskOfResult(tape, bytes);
    return clientMessage(
      tape,
      'response',
      '',
      id,
      ABSENT,
      ABSENT,
      false,
      ABSENT,
      ABSENT,
      ABSENT,
      false,
      relatedTask,
      ABSENT,
      undefined,
      undefined,
    );
  }
  if (!isCall(tape) || !isObjectOrAbsent(tape, params)) return 'not-json-rpc';
  if (!findIn(tape, bytes, params, paramsNames, inParams)) return 'not-json-rpc';
  const methodText = methodName(bytes, tape.start(method), tape.end(method));
  const subject = subjectOf(tape, bytes, methodText, params, inParams[0]!);
  if (subject === AMBIGUOUS) return 'not-json-rpc';
  const requestId = inParams[1]!;
  const cursor = inParams[2]!;
  const asksForTask = inParams[4]! !== ABSENT;
  const meta = inParams[3]!;
  if (!findIn(tape, bytes, meta, metaNames, inMeta)) return 'not-json-rpc';
  const progressToken = inMeta[0]!;
  const version = inMeta[2]!;
  const modern = version === ABSENT ? undefined : readModernEnvelope(tape, bytes, params, meta, version);
  if (modern === 'ambiguous') return 'not-json-rpc';
  return clientMessage(
    tape,
    id === ABSENT ? 'notification' : 'request',
    methodText,
    id,
    params,
    subject !== ABSENT && tape.kind(subject) === jsonKind.string ? subject : ABSENT,
    isSubjectUri(),
    idOrAbsent(tape, progressToken),
    idOrAbsent(tape, requestId),
    cursor,
    asksForTask,
    inMeta[1]!,
    meta,
    modern,
    lasting,
  );
}

/** One that is there twice says nothing. */
function relatedTaskOfResult(tape: JsonScanner, bytes: Buffer): number {
  if (envelope.result === ABSENT || !findIn(tape, bytes, envelope.result, resultNames, inResult)) return ABSENT;
  return findIn(tape, bytes, inResult[0]!, resultMetaNames, inResultMeta) ? inResultMeta[0]! : ABSENT;
}

/**
 * @param depthMax values nested at most so deep are left in `messageTape`, for who reads on in the message.
 * @returns `undefined` for what is not a JSON-RPC message.
 */
export function readBackendMessage(bytes: Buffer, depthMax = BACKEND_DEPTH): BackendMessage | undefined {
  return scanner.scan(bytes, depthMax) ? backendMessageIn(scanner, bytes) : undefined;
}

/**
 * The same, and of an answer it is told where URIs stand in it, in one pass. @returns without them when the message has more
 * values than can be written down on the way to them.
 */
export function readBackendAnswer(bytes: Buffer): BackendMessage | undefined {
  if (!mayNameUri(bytes))
    return scanner.scan(bytes, BACKEND_DEPTH) ? backendMessageIn(scanner, bytes, NO_URIS) : undefined;
  if (scanner.scan(bytes, URI_DEPTH, leadingFilter(bytes, URI_LEADING))) {
    const message = backendMessageIn(scanner, bytes, urisIn(scanner, bytes));
    // The filter leaves out what only other messages have.
    if (message === undefined || message.kind === 'response') return message;
  }
  return readBackendMessage(bytes);
}

/** What the tape of a scanned text says; `undefined` for what is not a JSON-RPC message. */
export function backendMessageIn(tape: JsonScanner, bytes: Buffer, uris?: UriSpans): BackendMessage | undefined {
  if (!readEnvelope(tape, bytes)) return undefined;
  const { method, result, error } = envelope;
  const params = nullAsAbsent(tape, envelope.params);
  if (method === ABSENT) {
    // An error that belongs to no request comes without an id (S33), or with JSON-RPC's `null`.
    const id = error === ABSENT ? envelope.id : nullAsAbsent(tape, envelope.id);
    if (!isResponse(tape) || (id === ABSENT ? error === ABSENT : !isId(tape, id))) return undefined;
    const body = error === ABSENT ? result : error;
    return backendMessage(tape, 'response', '', id, error !== ABSENT, body, ABSENT, ABSENT, uris);
  }
  const { id } = envelope;
  if (!isCall(tape) || !isObjectOrAbsent(tape, params) || (id !== ABSENT && !isId(tape, id))) return undefined;
  if (!findIn(tape, bytes, id === ABSENT ? params : ABSENT, tokenNames, inToken)) return undefined;
  const progressToken = inToken[0]!;
  return backendMessage(
    tape,
    id === ABSENT ? 'notification' : 'request',
    methodName(bytes, tape.start(method), tape.end(method)),
    id,
    false,
    ABSENT,
    params,
    idOrAbsent(tape, progressToken),
    undefined,
  );
}

/**
 * Whether the message's first bytes show a result already. Whatever follows makes the message that or nothing, because
 * no request and no notification may have one. False is no answer: the member may come late, or be written with escapes.
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

/** Fills the envelope. @returns false unless the document is an object of JSON-RPC 2.0 whose members are unambiguous. */
function readEnvelope(tape: JsonScanner, bytes: Buffer): boolean {
  if (tape.kind(0) !== jsonKind.object) return false;
  if (!findMembers(tape, bytes, 0, envelopeNames, inEnvelope)) return false;
  const version = inEnvelope[0]!;
  if (version === ABSENT || tape.kind(version) !== jsonKind.string) return false;
  envelope.id = inEnvelope[1]!;
  envelope.method = inEnvelope[2]!;
  envelope.params = inEnvelope[3]!;
  envelope.result = inEnvelope[4]!;
  envelope.error = inEnvelope[5]!;
  return isString(bytes, tape.start(version), tape.end(version), '2.0');
}

/** A request or a notification must not look like a response too: backends differ in what they look for first. */
function isCall(tape: JsonScanner): boolean {
  return tape.kind(envelope.method) === jsonKind.string && envelope.result === ABSENT && envelope.error === ABSENT;
}

function isResponse(tape: JsonScanner): boolean {
  if (envelope.error === ABSENT) return envelope.result !== ABSENT;
  return envelope.result === ABSENT && tape.kind(envelope.error) === jsonKind.object;
}

/** A string or a number, and short enough to be compared with others and kept. */
function isId(tape: JsonScanner, node: number): boolean {
  const kind = tape.kind(node);
  if (kind !== jsonKind.string && kind !== jsonKind.number) return false;
  return tape.end(node) - tape.start(node) <= limits.messageIdBytesMax;
}

function idOrAbsent(tape: JsonScanner, node: number): number {
  return node !== ABSENT && isId(tape, node) ? node : ABSENT;
}

function nullAsAbsent(tape: JsonScanner, node: number): number {
  return node !== ABSENT && tape.kind(node) === jsonKind.null ? ABSENT : node;
}

function isObjectOrAbsent(tape: JsonScanner, node: number): boolean {
  return node === ABSENT || tape.kind(node) === jsonKind.object;
}

function startOf(tape: JsonScanner, node: number): number {
  return node === ABSENT ? -1 : tape.start(node);
}

function endOf(tape: JsonScanner, node: number): number {
  return node === ABSENT ? -1 : tape.end(node);
}

/** Of nodes. One by one: in an object they cost some 30 ns more for each message, which takes 100 to 300. */
function clientMessage(
  tape: JsonScanner,
  kind: ClientMessage['kind'],
  method: string,
  id: number,
  params: number,
  name: number,
  isUri: boolean,
  progressToken: number,
  requestId: number,
  cursor: number,
  asksForTask: boolean,
  relatedTask: number,
  meta: number,
  modern: ModernEnvelope | undefined,
  lasting: JsonScanner | undefined,
): ClientMessage {
  return {
    kind,
    method,
    idStart: startOf(tape, id),
    idEnd: endOf(tape, id),
    paramsStart: startOf(tape, params),
    paramsEnd: endOf(tape, params),
    nameStart: startOf(tape, name),
    nameEnd: endOf(tape, name),
    isUri,
    progressTokenStart: startOf(tape, progressToken),
    progressTokenEnd: endOf(tape, progressToken),
    requestIdStart: startOf(tape, requestId),
    requestIdEnd: endOf(tape, requestId),
    cursorStart: startOf(tape, cursor),
    cursorEnd: endOf(tape, cursor),
    asksForTask,
    relatedTaskStart: startOf(tape, relatedTask),
    relatedTaskEnd: endOf(tape, relatedTask),
    metaStart: startOf(tape, meta),
    metaEnd: endOf(tape, meta),
    envelope: modern,
    tape: lasting,
  };
}

function backendMessage(
  tape: JsonScanner,
  kind: BackendMessage['kind'],
  method: string,
  id: number,
  isError: boolean,
  body: number,
  params: number,
  progressToken: number,
  uris: UriSpans | undefined,
): BackendMessage {
  return {
    kind,
    method,
    idStart: startOf(tape, id),
    idEnd: endOf(tape, id),
    isError,
    bodyStart: startOf(tape, body),
    bodyEnd: endOf(tape, body),
    paramsStart: startOf(tape, params),
    paramsEnd: endOf(tape, params),
    progressTokenStart: startOf(tape, progressToken),
    progressTokenEnd: endOf(tape, progressToken),
    uris,
    taskIds: undefined,
  };
}
