// Backends' requests to the client of one session: sampling, elicitation, roots, and the tasks that these become. Each request goes
// to the client under an id of ours; the client's response, whichever connection and worker it arrives by, goes to the backend that
// asked, under the backend's own id. Only ids are changed. Cold path: never reached by a call whose backend asks nothing.
//
//   asked ──answered by the client──────────────> answer sent to the backend
//     ├────withdrawn by the backend─────────────> the client is told
//     ├────its stream has ended─────────────────> the client is told
//     └────not answered in time, or lost────────> the backend is told, and so is the client
import {
  readClientOffers,
  type ClientOffers,
  ANY_TASKS,
  readCreatedTask,
  readProgressKey,
  readRequestDetail,
  readRequestId,
  type RequestDetail,
  type BackendMessage,
  type ClientMessage,
  taskPlace,
} from '../../mcp/index.js';
import { findMember, readMember, JsonScanner, idKey } from '../../bytes/index.js';
import type { Account } from '../../fair/index.js';
import { limits, refusals, type Refusal, errorsToBackends, rpcErrors, type RpcError } from '../../shared/index.js';
import type { CompiledBackend } from '../../user-config/index.js';
import { withEdit, partsOf, type Edit, bareTaskEdit, callersTaskEdits, type TaskForm } from '../../messages/index.js';
import type { AskedRequest } from './asked-ids.js';
import {
  type AskingStream,
  AwaitedAnswers,
  type AwaitedAnswersPlan,
  tellCancelled,
  type InputTaker,
} from './awaited-answers.js';
import type { ClientIntroduction, SessionShare, UpstreamSession } from '../../upstream/index.js';
import { type Exchange, type ExchangeRequest, metadataFor } from '../../exchange/index.js';
import type { OutgoingMessage, RequestMetadata } from '../../http-client/index.js';

// The tasks that the client of one session runs for backends, which asked for them. The client's task ids pass unchanged, so the
// owner of each is kept here: a backend may ask only about a task whose id the client gave to that backend.

/** Tasks that a session's client runs for backends, whose ids are kept. Beyond that, the oldest is forgotten when one is added. */
export const CLIENT_TASKS_MAX = 256;
/** What each such task adds to the subject's share of session bytes, beside its id. Without room for it, the task is not kept. */
export const CLIENT_TASK_BYTES_EACH = 192;

interface ClientTask {
  readonly upstream: UpstreamSession;
  /** Key of the progress token of the request that became the task: progress is reported under it until the task ends. */
  readonly tokenKey: string | undefined;
  readonly bytes: number;
}

export class ClientTasks {
  readonly #memory: SessionShare;
  /** By the client's task ids, oldest first. */
  readonly #tasks = new Map<string, ClientTask>();

  constructor(memory: SessionShare) {
    this.#memory = memory;
  }

  /** The client has given this task id to the backend. The oldest is forgotten at the limit; the new one, if memory is short. */
  note(taskId: string, upstream: UpstreamSession, tokenKey: string | undefined): void {
    this.#forget(taskId);
    const bytes = CLIENT_TASK_BYTES_EACH + 2 * (taskId.length + (tokenKey?.length ?? 0));
    for (const oldestId of this.#tasks.keys()) {
      if (this.#tasks.size < CLIENT_TASKS_MAX) break;
      this.#forget(oldestId);
    }
    if (!this.#memory.hasRoomFor(bytes)) return;
    this.#memory.keep(bytes);
    this.#tasks.set(taskId, { upstream, tokenKey, bytes });
  }

  isOf(upstream: UpstreamSession, taskId: string): boolean {
    return this.#tasks.get(taskId)?.upstream === upstream;
  }

  /** The upstream session for which the client runs the task. */
  ownerOf(taskId: string): UpstreamSession | undefined {
    return this.#tasks.get(taskId)?.upstream;
  }

  /** The upstream session of the task with this progress token; `undefined` if two tasks share the token. */
  ownerOfToken(tokenKey: string): UpstreamSession | undefined {
    const [task, ...others] = [...this.#tasks.values()].filter((candidate) => candidate.tokenKey === tokenKey);
    return others.length === 0 ? task?.upstream : undefined;
  }

  #forget(taskId: string): void {
    const task = this.#tasks.get(taskId);
    if (task === undefined) return;
    this.#tasks.delete(taskId);
    this.#memory.drop(task.bytes);
  }
}

interface BackendRequestsPlan extends AwaitedAnswersPlan {
  readonly account: Account;
  readonly introduction: ClientIntroduction;
  /** Whether requests about the task would reach the backend. */
  isTaskReachable(backend: CompiledBackend, taskId: string): boolean;
  /** The upstream sessions in which another process may have asked; none where there is no other process. */
  openUpstreams(): readonly UpstreamSession[];
}

/** Where the ids are in the client's response, which is the body of an HTTP request. */
type AnswerSpans = Pick<ClientMessage, 'idStart' | 'idEnd' | 'relatedTaskStart' | 'relatedTaskEnd'> & {
  readonly tape?: ClientMessage['tape'];
};

/** A question to the client from a backend without sessions. */
interface InputQuestion {
  readonly method: string;
  /** JSON; empty for none. */
  readonly params: Buffer;
  /** `params.mode`; `''` for none. */
  readonly mode: string;
}

export class BackendRequests extends AwaitedAnswers {
  readonly #plan: BackendRequestsPlan;
  readonly #clientTasks: ClientTasks;
  #offers: ClientOffers | undefined;

  constructor(plan: BackendRequestsPlan) {
    super(plan);
    this.#plan = plan;
    this.#clientTasks = new ClientTasks(plan.memory);
  }

  /** How to translate the ids of a backend's tasks; `undefined` for a backend without tasks. */
  taskForm(upstream: UpstreamSession): TaskForm | undefined {
    if (!upstream.declares(ANY_TASKS)) return undefined;
    const { backend } = upstream;
    return {
      backendName: backend.name,
      isClients: (taskId) => this.#clientTasks.isOf(upstream, taskId),
      isReachable: (taskId) => this.#plan.isTaskReachable(backend, taskId),
    };
  }

  /** @see AskedIds.secret */
  get secret(): string {
    return this.ids.secret;
  }

  set secret(secret: string) {
    this.ids.secret = secret;
  }

  get offersRoots(): boolean {
    return this.#offered.roots;
  }

  /** Whether the client can open a URL for its user. */
  get offersUrls(): boolean {
    return this.#offered.elicitationUrl;
  }

  /** Whether the client can be asked for anything at all. */
  get offersAnything(): boolean {
    const { sampling, roots, elicitationForm, elicitationUrl } = this.#offered;
    return sampling || roots || elicitationForm || elicitationUrl;
  }

  /**
   * Sends a backend's request to the client, or refuses it.
   * @param bytes the whole message; valid only until this returns, unless it is large.
   */
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
      upstream.answerInstead(backendId, undefined, metadata);
      return;
    }
    const detail = readRequestDetail(bytes, message);
    const { tokenKey, asksForTask } = detail;
    const taskEdits = this.#taskEdits(upstream, bytes, message);
    const error =
      this.#notOffered(message.method, upstream, detail) ??
      stream.askingObstacle ??
      this.noRoomFor(upstream, backendId.length, tokenKey);
    if (error !== undefined || taskEdits === undefined) {
      const isOffered = this.#notOffered(message.method, upstream, detail) === undefined;
      if (!isOffered) stream.onUnoffered?.(message.method, detail.mode);
      upstream.answerInstead(backendId, error ?? errorsToBackends.taskAmbiguous, metadata);
      return;
    }
    const request = this.begin(stream, { upstream, backendId, tokenKey, asksForTask }, metadata, undefined);
    const { id } = request;
    const edits = [{ start: idStart, end: idEnd, putIn: id }, ...taskEdits];
    stream.ask(id, partsOf(bytes, edits), (error) => this.onLost(request, error));
  }

  /**
   * Sends the client a question that a backend gave in place of a result.
   * @param onInput called once, later, unless the stream ends first.
   * @returns why the client is not asked; `undefined` when it is.
   */
  askInput(
    stream: AskingStream,
    upstream: UpstreamSession,
    metadata: RequestMetadata,
    { method, params, mode }: InputQuestion,
    onInput: InputTaker,
  ): RpcError | undefined {
    const detail = { tokenKey: undefined, asksForTask: false, taskId: undefined, mode };
    const isInput = INPUT_METHODS.has(method);
    const unoffered = isInput
      ? this.#notOffered(method, upstream, detail)
      : errorsToBackends.methodNotSupported(method);
    const error = unoffered ?? stream.askingObstacle ?? this.noRoomFor(upstream, 0, undefined);
    if (error !== undefined) return error;
    const asked = { upstream, backendId: NO_ID, tokenKey: undefined, asksForTask: false };
    const request = this.begin(stream, asked, metadata, onInput);
    const head = `,"method":${JSON.stringify(method)}${params.length === 0 ? '' : ',"params":'}`;
    const parts = [BEFORE_ID, request.id, Buffer.from(head), params, CLOSE];
    stream.ask(request.id, parts, (error) => this.onLost(request, error));
    return undefined;
  }

  /** The edits that bring the id of the task which a backend's message belongs to into the caller's form. */
  #taskEdits(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): readonly Edit[] | undefined {
    const form = this.taskForm(upstream);
    return form === undefined ? [] : callersTaskEdits(bytes, message, taskPlace.related, form);
  }

  /**
   * Takes a response from the client. A response to a request that was never sent, or is settled, is dropped. A response to a request
   * that another process sent in this session goes to the backend if that still has the same session.
   * @returns the refusal when the response cannot be passed on though a backend may wait for it; `asked-elsewhere` where another
   *   process sent the request, and still considers it open.
   */
  onAnswer(request: ExchangeRequest, message: AnswerSpans): Refusal | 'asked-elsewhere' | undefined {
    const { body } = request;
    const { idStart: start, idEnd: end } = message;
    const open = this.take(idKey(body, start, end));
    if (open === undefined) {
      const asked = this.ids.takeOthers(body.subarray(start, end), this.#plan.openUpstreams());
      if (asked === 'lost') return refusals.askerLost;
      if (asked === undefined) return undefined;
      this.#pass(request, message, asked);
      return 'asked-elsewhere';
    }
    if (open.onInput !== undefined) open.onInput(resultIn(body, message) ?? errorsToBackends.clientFailed);
    else if (open.upstream.record === open.askedIn) this.#pass(request, message, open);
    return undefined;
  }

  /** The client sent its response to another process, which has passed it to the backend. @param key of our id, from `idKey`. */
  onAnsweredElsewhere(key: string): void {
    this.take(key);
  }

  /** Passes the client's response to the backend that asked. */
  #pass(request: ExchangeRequest, message: AnswerSpans, asked: AskedRequest): void {
    const { upstream, backendId, asksForTask, tokenKey } = asked;
    const { body } = request;
    const { idStart: start, idEnd: end } = message;
    const taskId = asksForTask ? readCreatedTask(body) : undefined;
    if (taskId !== undefined) this.#clientTasks.note(taskId, upstream, tokenKey);
    // The exchange ends at once and stops counting the body, so it is counted here until it is sent.
    const countedBytes = body.length >= limits.countedFromBytes ? body.length : 0;
    const { requestBytes } = this.#plan.account;
    requestBytes.take(countedBytes);
    const headers = metadataFor(upstream.backend, request);
    const answer = { body, leftOut: { start, end }, putIn: backendId };
    upstream.send(this.#withBareTask(answer, message, upstream), headers, () => requestBytes.give(countedBytes));
  }

  /** The client reports progress of a backend's request, or of the task that it became. Dropped if two of them share the token. */
  onProgress(exchange: Exchange, message: ClientMessage): void {
    const { body } = exchange.request;
    // A large notification is dropped: its memory would not be counted while it waits to be sent.
    const tokenKey = body.length < limits.countedFromBytes ? readProgressKey(body, message) : undefined;
    if (tokenKey === undefined) return;
    const [request, ...others] = this.withToken(tokenKey);
    if (others.length > 0) return;
    if (request === undefined) this.#notify(this.#clientTasks.ownerOfToken(tokenKey), exchange, message);
    else if (request.upstream.record === request.askedIn) this.#notify(request.upstream, exchange, message);
  }

  /** Passes the status of a client's own task to the backend that it runs the task for. */
  onTaskStatus(exchange: Exchange, message: ClientMessage): void {
    const { body } = exchange.request;
    const { paramsStart, paramsEnd } = message;
    if (paramsStart === -1 || body.length >= limits.countedFromBytes) return;
    const taskId = readMember(body.subarray(paramsStart, paramsEnd), 'taskId');
    if (taskId !== undefined) this.#notify(this.#clientTasks.ownerOf(taskId), exchange, message);
  }

  #notify(upstream: UpstreamSession | undefined, exchange: Exchange, message: ClientMessage): void {
    if (upstream === undefined) return;
    const notice = this.#withBareTask({ body: exchange.request.body }, message, upstream);
    upstream.send(notice, metadataFor(upstream.backend, exchange.request));
  }

  #withBareTask(outgoing: OutgoingMessage, message: AnswerSpans, upstream: UpstreamSession): OutgoingMessage {
    const edit = bareTaskEdit(outgoing.body, message, upstream.backend, this.taskForm(upstream));
    return withEdit(outgoing, edit);
  }

  /** A backend's `notifications/cancelled`: it no longer wants the response. */
  withdraw(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): void {
    const span = this.isEmpty ? undefined : readRequestId(bytes, message);
    if (span === undefined) return;
    const backendIdKey = idKey(bytes, span.start, span.end);
    const request = this.takeOf(upstream, backendIdKey);
    if (request === undefined) return;
    const taskEdits = this.#taskEdits(upstream, bytes, message);
    if (taskEdits === undefined) tellCancelled(request, 'The backend has cancelled its request');
    else request.stream.withdraw(request.id, partsOf(bytes, [{ ...span, putIn: request.id }, ...taskEdits]));
  }

  get #offered(): ClientOffers {
    return (this.#offers ??= readClientOffers(this.#plan.introduction.capabilities));
  }

  /** The error for a request that the client has not declared to support (C19); `undefined` for one that it has. */
  #notOffered(method: string, upstream: UpstreamSession, { mode, taskId = '' }: RequestDetail): RpcError | undefined {
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
        return offers.tasks ? this.#notIts(upstream, taskId) : errorsToBackends.methodNotSupported(method);
      case 'tasks/cancel':
        return offers.tasksCancel ? this.#notIts(upstream, taskId) : errorsToBackends.methodNotSupported(method);
      // `tasks/list` too is not passed on: the client's list contains the tasks of all backends.
      default:
        return errorsToBackends.methodNotSupported(method);
    }
  }

  #notIts(upstream: UpstreamSession, taskId: string): RpcError | undefined {
    return this.#clientTasks.isOf(upstream, taskId) ? undefined : rpcErrors.unknownTask(taskId);
  }
}

/** The `result` of the client's response; `undefined` for an error, and where the member is ambiguous. */
function resultIn(body: Buffer, { tape }: AnswerSpans): Buffer | undefined {
  if (tape === undefined && !scanner.scan(body, 1)) return undefined;
  const read = tape ?? scanner;
  const node = findMember(read, body, 0, 'result');
  // A copy, because the memory of the exchange is reused.
  return node < 0 ? undefined : Buffer.from(body.subarray(read.start(node), read.end(node)));
}

const scanner = new JsonScanner();

/** The methods that a backend may ask for in place of a result (M22). */
const INPUT_METHODS: ReadonlySet<string> = new Set(['elicitation/create', 'sampling/createMessage', 'roots/list']);
/** Stands for the backend's id where a question has none. */
const NO_ID = Buffer.from('""');
const BEFORE_ID = Buffer.from('{"jsonrpc":"2.0","id":');
const CLOSE = Buffer.from('}');
