// Reads the messages about a request that a backend sends to its client: the request itself, its cancellation, progress and response. Cold
// path: few backends send requests.
import type { Buffer } from 'node:buffer';
import { limits } from '../shared/index.js';
import { MEMBER_ABSENT, findMember, stringValue, idKey, JsonScanner, jsonKind } from '../bytes/index.js';

interface ParamsSpan {
  readonly paramsStart: number;
  readonly paramsEnd: number;
}

export interface RequestDetail {
  /** `params._meta.progressToken` as `idKey` writes it; `undefined` when there is none, or it cannot be used. */
  readonly progressKey: string | undefined;
  /** `params.mode`; `''` when it is not a string, or too long. */
  readonly mode: string;
  readonly asksForTask: boolean;
  /** `params.taskId`; `undefined` when it is not a string, or too long. */
  readonly taskId: string | undefined;
}

const NO_DETAIL: RequestDetail = { progressKey: undefined, mode: '', asksForTask: false, taskId: undefined };
/** A request that is too large to be parsed may ask to become a task, so that is assumed. */
const TOO_LARGE_DETAIL: RequestDetail = { ...NO_DETAIL, asksForTask: true };

const PARAMS_DEPTH = 2;
/** The most bytes of a mode, with quotes and escapes: more than any real one has. */
const MODE_BYTES_MAX = 128;
const ANSWER_DEPTH = 3;

const scanner = new JsonScanner();

/** Reads the details. A request that is too large to be parsed at once counts as `TOO_LARGE_DETAIL`. */
export function readRequestDetail(bytes: Buffer, message: ParamsSpan): RequestDetail {
  const params = scanParams(bytes, message);
  if (params === undefined) return message.paramsStart === -1 ? NO_DETAIL : TOO_LARGE_DETAIL;
  const token = memberOf(params, findMember(scanner, params, 0, '_meta'), 'progressToken');
  const mode = findMember(scanner, params, 0, 'mode');
  return {
    progressKey: isShortId(token) ? idKey(params, scanner.start(token), scanner.end(token)) : undefined,
    mode: isShortString(mode) ? stringValue(params, scanner.start(mode), scanner.end(mode)) : '',
    asksForTask: findMember(scanner, params, 0, 'task') !== MEMBER_ABSENT,
    taskId: taskIdIn(params, 0),
  };
}

/** The id of the task that a request has become, by its response; `undefined` when it names none. */
export function readCreatedTask(answer: Buffer): string | undefined {
  if (answer.length > limits.readAtOnceBytesMax || !scanner.scan(answer, ANSWER_DEPTH)) return undefined;
  return taskIdIn(answer, memberOf(answer, memberOf(answer, 0, 'result'), 'task'));
}

function taskIdIn(bytes: Buffer, node: number): string | undefined {
  const id = memberOf(bytes, node, 'taskId');
  if (id < 0 || scanner.kind(id) !== jsonKind.string) return undefined;
  const [start, end] = [scanner.start(id), scanner.end(id)];
  return end - start - 2 <= limits.toolNameBytesMax ? stringValue(bytes, start, end) : undefined;
}

/** The span of a notification's `params.requestId`; `undefined` when it is neither string nor number, or too long. */
export function readRequestId(bytes: Buffer, message: ParamsSpan): { start: number; end: number } | undefined {
  const params = scanParams(bytes, message);
  if (params === undefined) return undefined;
  const id = findMember(scanner, params, 0, 'requestId');
  if (!isShortId(id)) return undefined;
  return { start: message.paramsStart + scanner.start(id), end: message.paramsStart + scanner.end(id) };
}

/** The progress token of a client's notification, as `idKey` writes it; `undefined` when it is neither string nor number, or too long. */
export function readProgressKey(bytes: Buffer, message: ParamsSpan): string | undefined {
  const params = scanParams(bytes, message);
  if (params === undefined) return undefined;
  const token = findMember(scanner, params, 0, 'progressToken');
  return isShortId(token) ? idKey(params, scanner.start(token), scanner.end(token)) : undefined;
}

function scanParams(bytes: Buffer, { paramsStart, paramsEnd }: ParamsSpan): Buffer | undefined {
  if (paramsStart === -1 || paramsEnd - paramsStart > limits.readAtOnceBytesMax) return undefined;
  const params = bytes.subarray(paramsStart, paramsEnd);
  return scanner.scan(params, PARAMS_DEPTH) ? params : undefined;
}

function memberOf(params: Buffer, node: number, name: string): number {
  if (node < 0 || scanner.kind(node) !== jsonKind.object) return MEMBER_ABSENT;
  return findMember(scanner, params, node, name);
}

function isShortId(node: number): boolean {
  if (node < 0) return false;
  const kind = scanner.kind(node);
  const isId = kind === jsonKind.string || kind === jsonKind.number;
  return isId && scanner.end(node) - scanner.start(node) <= limits.backendRequestIdBytesMax;
}

function isShortString(node: number): boolean {
  if (node < 0 || scanner.kind(node) !== jsonKind.string) return false;
  return scanner.end(node) - scanner.start(node) <= MODE_BYTES_MAX;
}
