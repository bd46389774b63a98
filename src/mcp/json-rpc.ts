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
import { filterOf, NO_SPANS, uris as uriPlaces, type PlaceSpans, RELATED_TASK, taskIds } from './uri-places.js';

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
   * What the request is about: `params.name`; for requests about resources `params.uri`; for a completion the name or URI in `params.ref`;
   * for requests about a task `params.taskId`. Also absent when that is not a string.
   */
  readonly nameStart: number;
  readonly nameEnd: number;
  /** Whether `nameStart` is that of a resource's URI. */
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
  /** The value of `RELATED_TASK` in `_meta` of `params` or of a result: the task that the message belongs to. */
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

/** Several messages in one POST, as an array, which only MCP 2025-03-26 and earlier allow. */
export interface ClientBatch {
  readonly kind: 'batch';
  /** The offsets of each message in the bytes of the array; at most `batchMembersMax` and one more, which shows that there are too many. */
  readonly members: readonly { readonly start: number; readonly end: number }[];
}

/** A message of a backend; spans as in `ClientMessage`. */
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
  /** The places of resource URIs in a response; `undefined` when they were not searched for. */
  readonly uris: PlaceSpans | undefined;
  /** The places of task ids; `undefined` as for `uris`. */
  readonly taskIds: PlaceSpans | undefined;
}

/** `not-json` results in -32700, `not-json-rpc` in -32600 (specification 2.2). */
export type ParsedClientMessage = ClientMessage | ClientBatch | 'not-json' | 'not-json-rpc';

/** The deepest values read are members of `params._meta`. */
const CLIENT_DEPTH = 3;
/** The deepest values read of a backend's message are members of `params`. */
const BACKEND_MESSAGE_DEPTH = 2;

/** Bytes in which a response's `result` begins: backends write at most `jsonrpc` and `id` before it. */
const BEGINNING_BYTES = 256;
const RESULT = Buffer.from('result');

// Shared by all calls: reading is synchronous, and its results contain only offsets.
const scanner = new JsonScanner();

/** The tape of the message read last; valid until the next one is read. */
export const messageTape = scanner;

/** The nodes of the top-level members of a message; reused like the scanner. */
const topLevel = {
  id: MEMBER_ABSENT,
  method: MEMBER_ABSENT,
  params: MEMBER_ABSENT,
  result: MEMBER_ABSENT,
  error: MEMBER_ABSENT,
};

// The names to find in each object, and their nodes, in the order of the names.
const topLevelNames = new MemberNames('jsonrpc', 'id', 'method', 'params', 'result', 'error');
const paramsNames = new MemberNames('name', 'requestId', 'cursor', '_meta', 'task');
const tokenNames = new MemberNames('progressToken');
const metaNames = new MemberNames('progressToken', RELATED_TASK, PROTOCOL_VERSION_KEY);
const resultNames = new MemberNames('_meta');
const resultMetaNames = new MemberNames(RELATED_TASK);
const inTopLevel = new Int32Array(topLevelNames.all.length);
const inParams = new Int32Array(paramsNames.all.length);
const inToken = new Int32Array(tokenNames.all.length);
const inMeta = new Int32Array(metaNames.all.length);
const inResult = new Int32Array(resultNames.all.length);
const inResultMeta = new Int32Array(resultMetaNames.all.length);

export function readClientMessage(bytes: Buffer): ParsedClientMessage {
  return scanner.scan(bytes, CLIENT_DEPTH) ? clientMessageIn(scanner, bytes, undefined) : 'not-json';
}

/**
 * Like `readClientMessage`, for a message of any size, which is read in slices, between which the event loop serves others.
 * @param subject the subject whose message it is.
 * @param done called once, synchronously if there is time for the whole message. The bytes must not change until then.
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

/** @param lastingTape the tape, if it stays valid after the call. */
function clientMessageIn(tape: JsonScanner, bytes: Buffer, lastingTape: JsonScanner | undefined): ParsedClientMessage {
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
  if (!isCall(tape) || !isObjectOrAbsent(tape, params)) return 'not-json-rpc';
  if (!findMembersOfAny(tape, bytes, params, paramsNames, inParams)) return 'not-json-rpc';
  const methodText = methodName(bytes, tape.start(method), tape.end(method));
  const nameNode = nameNodeOf(tape, bytes, methodText, params, inParams[0]!);
  if (nameNode === MEMBER_AMBIGUOUS) return 'not-json-rpc';
  if (!findMembersOfAny(tape, bytes, inParams[3]!, metaNames, inMeta)) return 'not-json-rpc';
  const version = inMeta[2]!;
  const modern = version === MEMBER_ABSENT ? undefined : readModernEnvelope(tape, bytes, params, inParams[3]!, version);
  if (modern === 'ambiguous') return 'not-json-rpc';
  const name = nameNode !== MEMBER_ABSENT && tape.kind(nameNode) === jsonKind.string ? nameNode : MEMBER_ABSENT;
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

/** The node of `result._meta[RELATED_TASK]`; `MEMBER_ABSENT` also for an ambiguous member. */
function relatedTaskOfResult(tape: JsonScanner, bytes: Buffer): number {
  if (topLevel.result === MEMBER_ABSENT || !findMembersOfAny(tape, bytes, topLevel.result, resultNames, inResult))
    return MEMBER_ABSENT;
  return findMembersOfAny(tape, bytes, inResult[0]!, resultMetaNames, inResultMeta) ? inResultMeta[0]! : MEMBER_ABSENT;
}

/**
 * @param depthMax values nested at most this deep are left in `messageTape`, so that the caller can read more of them.
 * @returns `undefined` for anything but a JSON-RPC message.
 */
export function readBackendMessage(bytes: Buffer, depthMax = BACKEND_MESSAGE_DEPTH): BackendMessage | undefined {
  return scanner.scan(bytes, depthMax) ? backendMessageIn(scanner, bytes) : undefined;
}

/**
 * Like `readBackendMessage`, and for a response also with `uris`, in one pass; without them when too many values would have to be recorded
 * on the way to them.
 */
export function readBackendAnswer(bytes: Buffer): BackendMessage | undefined {
  if (!uriPlaces.mayBeIn(bytes))
    return scanner.scan(bytes, BACKEND_MESSAGE_DEPTH) ? backendMessageIn(scanner, bytes, NO_SPANS) : undefined;
  if (scanner.scan(bytes, uriPlaces.depth, filterOf(bytes, uriPlaces.containers))) {
    const message = backendMessageIn(scanner, bytes, uriPlaces.in(scanner, bytes));
    // The filter has left out members that only requests and notifications have.
    if (message === undefined || message.kind === 'response') return message;
  }
  return readBackendMessage(bytes);
}

/**
 * Like `readBackendMessage`, in slices, between which the event loop serves others. A message that may contain resource URIs or task ids is
 * read a second time, to find these. Cold path except for large messages.
 * @param subject the subject to whose session the message belongs.
 * @param done called once, synchronously if there is time for the whole message. The bytes must not change until then.
 * @param hasTasks whether task ids are searched for. @param isLater whether `done` must never be called synchronously.
 */
export function readLargeBackendMessage(
  subject: string,
  bytes: Buffer,
  done: (message: BackendMessage | undefined) => void,
  hasTasks = false,
  isLater = false,
): Scan {
  const searched = hasTasks ? [uriPlaces, taskIds] : [uriPlaces];
  const seen = new Set<typeof uriPlaces>();
  const onSlice = (from: number, to: number): void => {
    for (const places of searched)
      if (!seen.has(places) && places.mayBeIn(bytes.subarray(Math.max(0, from - places.overlap), to))) seen.add(places);
  };
  let second: Scan | undefined;
  const first = readings[isLater ? 'read' : 'readNow'](
    subject,
    bytes,
    BACKEND_MESSAGE_DEPTH,
    (tape) => {
      const message = tape && backendMessageIn(tape, bytes);
      if (message?.kind !== 'response') seen.delete(uriPlaces);
      if (message === undefined || seen.size === 0) {
        // Set explicitly, or the whole message would be searched for them again at once.
        done(message && { ...message, uris: NO_SPANS, taskIds: NO_SPANS });
        return;
      }
      const found = [...seen];
      const filter = filterOf(
        bytes,
        found.flatMap(({ containers }) => containers),
      );
      const depth = Math.max(...found.map((places) => places.depth));
      second = readings.read(
        subject,
        bytes,
        depth,
        (uriTape) => {
          const spansOf = (places: typeof uriPlaces) =>
            uriTape && seen.has(places) ? places.in(uriTape, bytes) : NO_SPANS;
          // The text is known to be JSON, so the second reading fails only because of too many values.
          done(uriTape && { ...message, uris: spansOf(uriPlaces), taskIds: spansOf(taskIds) });
        },
        { filter },
      );
    },
    { onSlice },
  );
  return { cancel: () => (second ?? first).cancel() };
}

/** The message on the tape of a scanned text; `undefined` for anything but a JSON-RPC message. */
function backendMessageIn(tape: JsonScanner, bytes: Buffer, uris?: PlaceSpans): BackendMessage | undefined {
  if (!readTopLevel(tape, bytes)) return undefined;
  const { method, error } = topLevel;
  const isAnswer = method === MEMBER_ABSENT;
  // An error that belongs to no request has no id (S33), or JSON-RPC's `null`.
  const id = isAnswer && error !== MEMBER_ABSENT ? nullAsAbsent(tape, topLevel.id) : topLevel.id;
  const params = isAnswer ? MEMBER_ABSENT : nullAsAbsent(tape, topLevel.params);
  if (!isValidBackendMessage(tape, id, params)) return undefined;
  const isNotification = !isAnswer && id === MEMBER_ABSENT;
  if (isNotification && !findMembersOfAny(tape, bytes, params, tokenNames, inToken)) return undefined;
  const progressToken = isNotification ? idOrAbsent(tape, inToken[0]!) : MEMBER_ABSENT;
  const body = error === MEMBER_ABSENT ? topLevel.result : error;
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

function isValidBackendMessage(tape: JsonScanner, id: number, params: number): boolean {
  if (id !== MEMBER_ABSENT && !isId(tape, id)) return false;
  if (topLevel.method !== MEMBER_ABSENT) return isCall(tape) && isObjectOrAbsent(tape, params);
  return isResponse(tape) && (id !== MEMBER_ABSENT || topLevel.error !== MEMBER_ABSENT);
}

/**
 * Whether the message's first bytes show a `result` member: then the message can only be a response or invalid. False means nothing, since
 * the member may come later, or be written with escapes.
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

/** Fills `topLevel`. @returns false unless the document is a JSON-RPC 2.0 object without ambiguous members. */
function readTopLevel(tape: JsonScanner, bytes: Buffer): boolean {
  if (tape.kind(0) !== jsonKind.object) return false;
  if (!findMembers(tape, bytes, 0, topLevelNames, inTopLevel)) return false;
  const version = inTopLevel[0]!;
  if (version === MEMBER_ABSENT || tape.kind(version) !== jsonKind.string) return false;
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

/** Whether it is a request or notification that has nothing of a response: backends differ in what they check first. */
function isCall(tape: JsonScanner): boolean {
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

/** Whether the value can be an id: a string or a number, short enough to be compared and kept. */
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

/** Whether there is no cursor: clients also ask for the first page with `null` or an empty cursor. */
function isNoCursor(tape: JsonScanner, node: number): boolean {
  if (node === MEMBER_ABSENT || tape.kind(node) === jsonKind.null) return true;
  return tape.kind(node) === jsonKind.string && tape.end(node) - tape.start(node) === '""'.length;
}

function isObjectOrAbsent(tape: JsonScanner, node: number): boolean {
  return node === MEMBER_ABSENT || tape.kind(node) === jsonKind.object;
}

/** Builds a message from these nodes and those in `topLevel`, `inParams` and `inMeta`. */
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
    isUri: kind !== 'response' && isNameUri,
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
    tape: lastingTape,
  };
}

/** @param tape the tape of a scanned array. */
export function clientBatchIn(tape: JsonScanner): ClientBatch {
  const members: { start: number; end: number }[] = [];
  const subtreeEnd = tape.next(0);
  for (let node = 1; node < subtreeEnd && members.length <= limits.batchMembersMax; node = tape.next(node)) {
    members.push({ start: tape.start(node), end: tape.end(node) });
  }
  return { kind: 'batch', members };
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
 * The node of what a request is about: the name of a tool or prompt, the URI of a resource, or the id of a task; or `MEMBER_ABSENT` or
 * `MEMBER_AMBIGUOUS`.
 * @param name the node of `params.name`, which was found before.
 */
function nameNodeOf(tape: JsonScanner, bytes: Buffer, method: string, params: number, name: number): number {
  isNameUri = false;
  switch (method) {
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      isNameUri = true;
      return findMembersOfAny(tape, bytes, params, uriNames, inUri) ? inUri[0]! : MEMBER_AMBIGUOUS;
    case 'tasks/get':
    case 'tasks/result':
    case 'tasks/cancel':
    case 'tasks/update':
      return findMembersOfAny(tape, bytes, params, taskNames, inTask) ? inTask[0]! : MEMBER_AMBIGUOUS;
    case 'completion/complete':
      if (!findMembersOfAny(tape, bytes, params, refParamsNames, inRefParams)) return MEMBER_AMBIGUOUS;
      return findMembersOfAny(tape, bytes, inRefParams[0]!, refNames, inRef)
        ? nameNodeOfRef(tape, bytes)
        : MEMBER_AMBIGUOUS;
    default:
      return name;
  }
}

function nameNodeOfRef(tape: JsonScanner, bytes: Buffer): number {
  const [type = MEMBER_ABSENT, name = MEMBER_ABSENT, uri = MEMBER_ABSENT] = inRef;
  if (type === MEMBER_ABSENT || tape.kind(type) !== jsonKind.string) return MEMBER_ABSENT;
  if (isStringEqual(bytes, tape.start(type), tape.end(type), 'ref/prompt')) return name;
  isNameUri = isStringEqual(bytes, tape.start(type), tape.end(type), 'ref/resource');
  return isNameUri ? uri : MEMBER_ABSENT;
}
