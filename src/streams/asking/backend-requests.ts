// Backends' requests to the client of one session: sampling, elicitation, roots, and the tasks that these become. The client gets a request
// under an id of the gateway's. Its response, on whichever connection and worker, goes to the backend under the backend's own id. Only ids
// are changed. Cold path: only calls whose backend asks something.
//
//   asked ──answered by the client──────────────> answer sent to the backend
//     ├────withdrawn by the backend─────────────> the client is told
//     ├────its stream has ended─────────────────> the client is told
//     └────not answered in time, or lost────────> the backend is told, and so is the client
import {
  INPUT_METHODS,
  readClientCapabilities,
  type ClientCapabilities,
  ANY_TASK_CAPABILITY,
  readCreatedTask,
  readProgressKey,
  readRequestDetail,
  readRequestId,
  type RequestDetail,
  type BackendMessage,
  type ClientMessage,
  taskLocation,
} from '../../mcp/index.js';
import { findMember, readStringMember, JsonScanner, idKey, partsOf, type Edit } from '../../bytes/index.js';
import type { Account, Deadline, DeadlineWheel } from '../../fair/index.js';
import { limits, refusals, type Refusal, errorsToBackends, KIB, rpcErrors, type RpcError } from '../../shared/index.js';
import type { CompiledBackend } from '../../user-config/index.js';
import { withEdit, bareTaskEdit, callersTaskEdits, type TaskOwnership } from '../../messages/index.js';
import { AskedRequestIds, type AskedRequest } from './asked-request-ids.js';
import { ClientTasks } from './client-tasks.js';
import {
  type ClientIntroduction,
  type MessageBudget,
  type UpstreamSession,
  type UpstreamSessionRecord,
  cancelledNotification,
} from '../../upstream/index.js';
import { type Exchange, type ExchangeRequest, metadataFor } from '../../exchange/index.js';
import type { OutgoingMessage, RequestMetadata } from '../../http-client/index.js';

/** Bytes that each request counts in the subject's share of session bytes, beside its id. Without room, it is refused. */
export const BACKEND_REQUEST_BYTES_EACH = KIB;

export interface AskingStream {
  /** Why the client cannot be asked on this stream; `undefined` if it can. */
  readonly askingObstacle: RpcError | undefined;
  /** Sends the client a message. @param parts the message, in consecutive parts; small ones are valid only until this returns. */
  sendToClient(parts: readonly Buffer[]): void;
  /** Sends a request. @param id the gateway's, as JSON; the parts contain it. @param onLost called if the client will not get the request. */
  ask(id: Buffer, parts: readonly Buffer[], onLost: (error?: RpcError) => void): void;
  /** Cancels a request whose response is no longer wanted. @param parts the cancellation, in consecutive parts. */
  withdraw(id: Buffer, parts: readonly Buffer[]): void;
  /** Called when the backend asks for something that the client does not declare. @param mode of an elicitation. */
  onUndeclaredRequest?(method: string, mode: string): void;
  /** Called with true at the backend's first open request on this stream, with false when none is open any more. */
  onAskingChanged(isAsking: boolean, upstream: UpstreamSession): void;
}

/** Called with the client's result as JSON, which may be kept, or with an error. */
export type InputHandler = (answer: Buffer | RpcError) => void;

interface AwaitedAnswer extends AskedRequest {
  readonly id: Buffer;
  readonly key: string;
  /** The upstream session in which the backend asked; in a later one, the id may belong to another request. */
  readonly askedIn: UpstreamSessionRecord | undefined;
  readonly backendIdKey: string;
  readonly bytes: number;
  readonly stream: AskingStream;
  readonly metadata: RequestMetadata;
  readonly deadline: Deadline;
  /** Gets the response in place of the backend, if the backend has no session in which to send it. */
  readonly onInput: InputHandler | undefined;
}

interface BackendRequestsPlan {
  readonly sessionId: string;
  readonly memory: MessageBudget;
  readonly deadlines: DeadlineWheel;
  readonly answerTimeoutMs: number;
  readonly account: Account;
  readonly introduction: ClientIntroduction;
  isTaskReachable(backend: CompiledBackend, taskId: string): boolean;
  /** The upstream sessions of which another process may have forwarded a request to the client. */
  openUpstreams(): readonly UpstreamSession[];
}

type AnswerSpans = Pick<ClientMessage, 'idStart' | 'idEnd' | 'relatedTaskStart' | 'relatedTaskEnd'> & {
  readonly tape?: ClientMessage['tape'];
};

interface InputQuestion {
  readonly method: string;
  /** The params as JSON; empty for none. */
  readonly params: Buffer;
  readonly mode: string;
}

export class BackendRequests {
  readonly #plan: BackendRequestsPlan;
  readonly ids: AskedRequestIds;
  /** Requests without a response, by the key of the gateway's id. */
  readonly #openRequests = new Map<string, AwaitedAnswer>();
  readonly #clientTasks: ClientTasks;
  #offers: ClientCapabilities | undefined;

  constructor(plan: BackendRequestsPlan) {
    this.#plan = plan;
    this.ids = new AskedRequestIds(plan.sessionId, plan.answerTimeoutMs);
    this.#clientTasks = new ClientTasks(plan.memory);
  }

  /** How to translate a backend's task ids; `undefined` for a backend without tasks. */
  taskOwnership(upstream: UpstreamSession): TaskOwnership | undefined {
    if (!upstream.declares(ANY_TASK_CAPABILITY)) return undefined;
    const { backend } = upstream;
    return {
      backendName: backend.name,
      isClientsTask: (taskId) => this.#clientTasks.ownerOf(taskId) === upstream,
      isReachable: (taskId) => this.#plan.isTaskReachable(backend, taskId),
    };
  }

  get offersRoots(): boolean {
    return this.#offered.roots;
  }

  get offersUrls(): boolean {
    return this.#offered.elicitationUrl;
  }

  get acceptsRequests(): boolean {
    const { sampling, roots, elicitationForm, elicitationUrl } = this.#offered;
    return sampling || roots || elicitationForm || elicitationUrl;
  }

  /** Sends the client a backend's request, or refuses it. @param bytes the message, valid until this returns unless large. */
  ask(
    stream: AskingStream,
    upstream: UpstreamSession,
    metadata: RequestMetadata,
    bytes: Buffer,
    message: BackendMessage,
  ): void {
    const { idStart, idEnd } = message;
    const backendId = Buffer.from(bytes.subarray(idStart, idEnd));
    if (message.method === 'ping') {
      upstream.answerForClient(backendId, undefined, metadata);
      return;
    }
    const detail = readRequestDetail(bytes, message);
    const { progressKey, asksForTask } = detail;
    const taskEdits = this.#taskEdits(upstream, bytes, message);
    const unoffered = this.#offerError(message.method, upstream, detail);
    const error = unoffered ?? stream.askingObstacle ?? this.#roomError(upstream, backendId.length, progressKey);
    if (unoffered !== undefined) stream.onUndeclaredRequest?.(message.method, detail.mode);
    if (error !== undefined || taskEdits === undefined) {
      upstream.answerForClient(backendId, error ?? errorsToBackends.taskAmbiguous, metadata);
      return;
    }
    const request = this.#addOpen(stream, { upstream, backendId, progressKey, asksForTask }, metadata, undefined);
    const { id } = request;
    const edits = [{ start: idStart, end: idEnd, putIn: id }, ...taskEdits];
    stream.ask(id, partsOf(bytes, edits), (error) => this.#onLost(request, error));
  }

  /**
   * Sends the client a question that a backend gave in place of a result.
   * @param onInput called once, later, unless the stream ends first.
   * @returns why the client is not asked; `undefined` if it is.
   */
  askInput(
    stream: AskingStream,
    upstream: UpstreamSession,
    metadata: RequestMetadata,
    { method, params, mode }: InputQuestion,
    onInput: InputHandler,
  ): RpcError | undefined {
    const detail = { progressKey: undefined, asksForTask: false, taskId: undefined, mode };
    const isInput = INPUT_METHODS.has(method);
    const unoffered = isInput
      ? this.#offerError(method, upstream, detail)
      : errorsToBackends.methodNotSupported(method);
    const error = unoffered ?? stream.askingObstacle ?? this.#roomError(upstream, 0, undefined);
    if (error !== undefined) return error;
    const asked = { upstream, backendId: NO_ID, progressKey: undefined, asksForTask: false };
    const request = this.#addOpen(stream, asked, metadata, onInput);
    const head = `,"method":${JSON.stringify(method)}${params.length === 0 ? '' : ',"params":'}`;
    const parts = [BEFORE_ID, request.id, Buffer.from(head), params, CLOSING_BRACE];
    stream.ask(request.id, parts, (error) => this.#onLost(request, error));
    return undefined;
  }

  /** The edits of the task id in a backend's message; `undefined` if it is ambiguous. */
  #taskEdits(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): readonly Edit[] | undefined {
    const ownership = this.taskOwnership(upstream);
    return ownership === undefined ? [] : callersTaskEdits(bytes, message, taskLocation.related, ownership);
  }

  /**
   * Takes a response from the client. It is dropped if its request was never sent, or is settled. If another process sent the request, the
   * response goes to the backend, provided that the upstream session is the same.
   * @returns the refusal if a backend may wait for the response but cannot get it; `asked-elsewhere` if another process still waits for it.
   */
  onAnswer(request: ExchangeRequest, message: AnswerSpans): Refusal | 'asked-elsewhere' | undefined {
    const { body } = request;
    const { idStart: start, idEnd: end } = message;
    const open = this.#settleAnswered(idKey(body, start, end));
    if (open === undefined) {
      const asked = this.ids.takeRequestOfOthers(body.subarray(start, end), this.#plan.openUpstreams());
      if (asked === 'lost') return refusals.askerLost;
      if (asked === undefined) return undefined;
      this.#forwardAnswer(request, message, asked);
      return 'asked-elsewhere';
    }
    if (open.onInput !== undefined) open.onInput(resultIn(body, message) ?? errorsToBackends.clientFailed);
    else if (open.upstream.record === open.askedIn) this.#forwardAnswer(request, message, open);
    return undefined;
  }

  /** Called when another process has forwarded the response to the backend. @param key `idKey` of the gateway's id for the request. */
  onAnsweredElsewhere(key: string): void {
    this.#settleAnswered(key);
  }

  #forwardAnswer(request: ExchangeRequest, message: AnswerSpans, asked: AskedRequest): void {
    const { upstream, backendId, asksForTask, progressKey } = asked;
    const { body } = request;
    const { idStart: start, idEnd: end } = message;
    const taskId = asksForTask ? readCreatedTask(body) : undefined;
    if (taskId !== undefined) this.#clientTasks.add(taskId, upstream, progressKey);
    // The body is counted here until it is sent, because its exchange, which counted it, ends at once.
    const { requestBytes } = this.#plan.account;
    requestBytes.take(body.length);
    const headers = metadataFor(upstream.backend, request);
    const answer = { body, leftOut: { start, end }, putIn: backendId };
    upstream.send(this.#withBareTask(answer, message, upstream), headers, () => requestBytes.give(body.length));
  }

  /** Forwards progress of a backend's request, or of the task that it became, unless two requests have the token. */
  onProgress(exchange: Exchange, message: ClientMessage): void {
    const { body } = exchange.request;
    // Large progress is dropped: its memory would not be counted while it waits.
    const progressKey = body.length < limits.countedFromBytes ? readProgressKey(body, message) : undefined;
    if (progressKey === undefined) return;
    const [request, ...others] = [...this.#openRequests.values()].filter((open) => open.progressKey === progressKey);
    if (others.length > 0) return;
    if (request === undefined) this.#notify(this.#clientTasks.ownerOfProgress(progressKey), exchange, message);
    else if (request.upstream.record === request.askedIn) this.#notify(request.upstream, exchange, message);
  }

  /** Forwards the status of a client's own task to the backend that asked for the task. */
  onTaskStatus(exchange: Exchange, message: ClientMessage): void {
    const { body } = exchange.request;
    const { paramsStart, paramsEnd } = message;
    if (paramsStart === -1 || body.length >= limits.countedFromBytes) return;
    const taskId = readStringMember(body.subarray(paramsStart, paramsEnd), 'taskId');
    if (taskId !== undefined) this.#notify(this.#clientTasks.ownerOf(taskId), exchange, message);
  }

  #notify(upstream: UpstreamSession | undefined, exchange: Exchange, message: ClientMessage): void {
    if (upstream === undefined) return;
    const notification = this.#withBareTask({ body: exchange.request.body }, message, upstream);
    upstream.send(notification, metadataFor(upstream.backend, exchange.request));
  }

  #withBareTask(outgoing: OutgoingMessage, message: AnswerSpans, upstream: UpstreamSession): OutgoingMessage {
    const edit = bareTaskEdit(outgoing.body, message, upstream.backend, this.taskOwnership(upstream));
    return withEdit(outgoing, edit);
  }

  withdraw(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): void {
    const span = this.isEmpty ? undefined : readRequestId(bytes, message);
    if (span === undefined) return;
    const backendIdKey = idKey(bytes, span.start, span.end);
    const open = [...this.#openRequests.values()];
    const request = open.find((each) => each.upstream === upstream && each.backendIdKey === backendIdKey);
    if (request === undefined) return;
    this.#settle(request);
    const taskEdits = this.#taskEdits(upstream, bytes, message);
    if (taskEdits === undefined) sendCancellation(request, 'The backend has cancelled its request');
    else request.stream.withdraw(request.id, partsOf(bytes, [{ ...span, putIn: request.id }, ...taskEdits]));
  }

  get isEmpty(): boolean {
    return this.#openRequests.size === 0;
  }

  #addOpen(
    stream: AskingStream,
    asked: AskedRequest,
    metadata: RequestMetadata,
    onInput: InputHandler | undefined,
  ): AwaitedAnswer {
    const { upstream, backendId, asksForTask, progressKey } = asked;
    const id = this.ids.issueId(asked);
    const key = idKey(id, 0, id.length);
    const request: AwaitedAnswer = {
      upstream,
      backendId,
      asksForTask,
      progressKey,
      id,
      key,
      askedIn: upstream.record,
      backendIdKey: idKey(backendId, 0, backendId.length),
      stream,
      metadata,
      onInput,
      bytes: bytesOf(backendId.length, progressKey),
      deadline: this.#plan.deadlines.after(this.#plan.answerTimeoutMs, () => this.#onTimeUp(request)),
    };
    this.#openRequests.set(key, request);
    this.#plan.memory.keep(request.bytes);
    stream.onAskingChanged(true, upstream);
    return request;
  }

  /** Settles a request that has been answered here or in another process. @param key `idKey` of the gateway's id for it. */
  #settleAnswered(key: string): AwaitedAnswer | undefined {
    const request = this.#openRequests.get(key);
    if (request !== undefined) this.#settle(request);
    return request;
  }

  #onLost(request: AwaitedAnswer, error: RpcError = errorsToBackends.clientReadsNoRequests): void {
    if (!this.#openRequests.has(request.key)) return;
    this.#settle(request);
    sendErrorToBackend(request, error);
  }

  onStreamEnded(stream: AskingStream): void {
    for (const request of [...this.#openRequests.values()]) {
      if (request.stream !== stream) continue;
      this.#settle(request);
      sendCancellation(request, 'The request that it belongs to has ended');
    }
  }

  /** Whether the backend, in its current session, waits for a response to a request on this stream. */
  isAsking(stream: AskingStream, upstream: UpstreamSession): boolean {
    for (const open of this.#openRequests.values()) {
      if (open.stream === stream && open.upstream === upstream && open.askedIn === upstream.record) return true;
    }
    return false;
  }

  clear(): void {
    for (const { deadline, bytes } of this.#openRequests.values()) {
      deadline.cancel();
      this.#plan.memory.drop(bytes);
    }
    this.#openRequests.clear();
  }

  /** The error if there is no room for another request of the backend. */
  #roomError(upstream: UpstreamSession, idBytes: number, progressKey: string | undefined): RpcError | undefined {
    if (idBytes > limits.backendRequestIdBytesMax) return errorsToBackends.idTooLong;
    if (!this.#plan.memory.hasRoomFor(bytesOf(idBytes, progressKey))) return errorsToBackends.tooManyPending;
    let openCount = 0;
    for (const request of this.#openRequests.values()) if (request.upstream === upstream) openCount += 1;
    return openCount < limits.backendRequestsOpenMax ? undefined : errorsToBackends.tooManyPending;
  }

  #onTimeUp(request: AwaitedAnswer): void {
    // The request is settled first: otherwise, if the cancellation got lost, the backend would get a second answer.
    this.#settle(request);
    sendCancellation(request, 'It was not answered in time');
    sendErrorToBackend(request, errorsToBackends.clientTimedOut);
  }

  #settle(request: AwaitedAnswer): void {
    request.deadline.cancel();
    this.#openRequests.delete(request.key);
    this.#plan.memory.drop(request.bytes);
    const { stream, upstream } = request;
    if (!this.isAsking(stream, upstream)) stream.onAskingChanged(false, upstream);
  }

  get #offered(): ClientCapabilities {
    return (this.#offers ??= readClientCapabilities(this.#plan.introduction.capabilities));
  }

  /** The error for a request that the client does not support (C19); `undefined` if it does. */
  #offerError(method: string, upstream: UpstreamSession, { mode, taskId = '' }: RequestDetail): RpcError | undefined {
    const offers = this.#offered;
    switch (method) {
      case 'sampling/createMessage':
        return offers.sampling ? undefined : errorsToBackends.methodNotSupported(method);
      case 'roots/list':
        return offers.roots ? undefined : errorsToBackends.methodNotSupported(method);
      case 'elicitation/create':
        if (!offers.elicitationForm && !offers.elicitationUrl) return errorsToBackends.methodNotSupported(method);
        return (mode === 'url' ? offers.elicitationUrl : offers.elicitationForm)
          ? undefined
          : errorsToBackends.elicitationModeNotSupported;
      case 'tasks/get':
      case 'tasks/result':
        return offers.tasks ? this.#unknownTask(upstream, taskId) : errorsToBackends.methodNotSupported(method);
      case 'tasks/cancel':
        return offers.tasksCancel ? this.#unknownTask(upstream, taskId) : errorsToBackends.methodNotSupported(method);
      // `tasks/list` is refused, too: the client's list has the tasks of all backends.
      default:
        return errorsToBackends.methodNotSupported(method);
    }
  }

  #unknownTask(upstream: UpstreamSession, taskId: string): RpcError | undefined {
    return this.#clientTasks.ownerOf(taskId) === upstream ? undefined : rpcErrors.unknownTask(taskId);
  }
}

function sendCancellation({ stream, id }: AwaitedAnswer, reason: string): void {
  stream.withdraw(id, [cancelledNotification({ bytes: id, start: 0, end: id.length }, reason)]);
}

function sendErrorToBackend({ upstream, askedIn, backendId, metadata, onInput }: AwaitedAnswer, error: RpcError): void {
  if (onInput !== undefined) onInput(error);
  else if (upstream.record === askedIn) upstream.answerForClient(backendId, error, metadata);
}

/** The bytes of a request. The backend's id is kept four times: alone, in the gateway's id, and in the keys of both. */
function bytesOf(idBytes: number, progressKey: string | undefined): number {
  return BACKEND_REQUEST_BYTES_EACH + 6 * idBytes + 2 * (progressKey?.length ?? 0);
}

/** The result in the client's response; `undefined` for an error, or several results. */
function resultIn(body: Buffer, { tape }: AnswerSpans): Buffer | undefined {
  if (tape === undefined && !scanner.scan(body, 1)) return undefined;
  const read = tape ?? scanner;
  const node = findMember(read, body, 0, 'result');
  // The result is copied, because the exchange's memory is reused.
  return node < 0 ? undefined : Buffer.from(body.subarray(read.start(node), read.end(node)));
}

const scanner = new JsonScanner();

/** Takes the place of the backend's id if a question has no id. */
const NO_ID = Buffer.from('""');
const BEFORE_ID = Buffer.from('{"jsonrpc":"2.0","id":');
const CLOSING_BRACE = Buffer.from('}');
