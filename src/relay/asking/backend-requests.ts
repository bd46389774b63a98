// What backends ask of the client of one session: sampling, elicitation, roots, and what has become of it where it was asked
// for as a task. Each request goes to the client under an id of ours, and the client's answer, whichever connection and worker
// it comes by, goes to the backend that asked, under the backend's own id. Nothing but ids is touched. Cold: a call whose backend asks nothing never comes here.
//
//   asked ──answered by the client──────────────> answer sent to the backend
//     ├────withdrawn by the backend─────────────> the client is told
//     ├────its stream has ended─────────────────> the client is told
//     └────not answered in time, or lost────────> the backend is told, and so is the client
import { readClientOffers, type ClientOffers } from '../../protocol/client-offers.js';
import {
  readCreatedTask,
  readProgressKey,
  readRequestDetail,
  readRequestId,
  type RequestDetail,
} from '../../protocol/backend-request.js';
import { ANY_TASKS } from '../../protocol/capabilities.js';
import { findMember } from '../../protocol/json-member.js';
import { readMember } from '../../protocol/json-member-text.js';
import { JsonScanner } from '../../protocol/json-scanner.js';
import type { BackendMessage, ClientMessage } from '../../protocol/json-rpc.js';
import { idKey } from '../../protocol/message-id.js';
import { taskPlace } from '../../protocol/task-places.js';
import type { Account } from '../../shared/accounts.js';
import type { DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import { refusals, rpcCodes, type Refusal } from '../../shared/refusals.js';
import type { CompiledBackend } from '../../user-config/compiled-config.js';
import { unknownTask, type RpcError } from '../exchange/answers.js';
import { withEdit } from '../message/bare-body.js';
import { AskedIds, type AskedRequest } from './asked-ids.js';
import { AwaitedAnswers, tellCancelled, type InputTaker } from './awaited-answers.js';
import { ClientTasks } from './client-tasks.js';
import { partsOf, type Edit } from '../message/edits.js';
import type { ClientIntroduction } from '../../upstream/session/client-introduction.js';
import type { Exchange, ExchangeRequest } from '../exchange/exchange.js';
import { metadataFor } from '../exchange/passthrough.js';
import type { SessionShare } from '../../upstream/session/session-share.js';
import { bareTaskEdit, callersTaskEdits, type TaskForm } from '../message/task-ids.js';
import type { OutgoingMessage } from '../../upstream/http/http-upstream.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';
import type { RequestMetadata } from '../../upstream/http/request-metadata.js';

/** A stream to the client on which it can be asked: that of a call, or the session's own. */
export interface AskingStream {
  /** Why the client cannot be asked on it, as the backend is told; `undefined` when it can. */
  readonly askingObstacle: RpcError | undefined;
  /**
   * A message for the client.
   * @param parts one behind the other. Small ones are valid until this returns.
   */
  tell(parts: readonly Buffer[]): void;
  /**
   * The same of a request to the client.
   * @param id ours, as JSON, which it has already.
   * @param onLost called when it will not reach the client, though the stream goes on; with why, where more is known.
   */
  ask(id: Buffer, parts: readonly Buffer[], onLost: (error?: RpcError) => void): void;
  /** Its answer is wanted no more. @param parts what says so. */
  withdraw(id: Buffer, parts: readonly Buffer[]): void;
  /** The backend has asked what the client does not declare to be asked. @param mode of an elicitation. */
  onUnoffered?(method: string, mode: string): void;
  /** The backend has asked on it, or the last that it asked is settled: meanwhile it is the client who is waited for. */
  onAsking(isAsking: boolean, upstream: UpstreamSession): void;
}

export interface BackendRequestsPlan {
  readonly sessionId: string;
  readonly account: Account;
  readonly memory: SessionShare;
  readonly introduction: ClientIntroduction;
  readonly deadlines: DeadlineWheel;
  readonly answerTimeoutMs: number;
  /** Whether requests about the task would reach the backend. */
  isTaskReachable(backend: CompiledBackend, taskId: string): boolean;
  /** Those that another process may have asked in; none where there is no other. */
  openUpstreams(): readonly UpstreamSession[];
}

/** What has to be known of the client's answer, which is the body of a request. */
export type AnswerSpans = Pick<ClientMessage, 'idStart' | 'idEnd' | 'relatedTaskStart' | 'relatedTaskEnd'> & {
  readonly tape?: ClientMessage['tape'];
};

/** What a backend without sessions wants to know. */
export interface InputQuestion {
  readonly method: string;
  /** JSON; empty for none. */
  readonly params: Buffer;
  /** `params.mode`; `''` for none. */
  readonly mode: string;
}

export class BackendRequests {
  readonly #plan: BackendRequestsPlan;
  readonly #clientTasks: ClientTasks;
  #offers: ClientOffers | undefined;
  readonly #awaited: AwaitedAnswers;
  readonly #ids: AskedIds;

  constructor(plan: BackendRequestsPlan) {
    this.#plan = plan;
    this.#ids = new AskedIds(plan.sessionId, plan.answerTimeoutMs);
    this.#awaited = new AwaitedAnswers({ ...plan, ids: this.#ids });
    this.#clientTasks = new ClientTasks(plan.memory);
  }

  /** How ids of tasks are written that a backend has; `undefined` for one without tasks. */
  taskForm(upstream: UpstreamSession): TaskForm | undefined {
    if (!upstream.declares(ANY_TASKS)) return undefined;
    const { backend } = upstream;
    return {
      backendName: backend.name,
      isClients: (taskId) => this.#clientTasks.isOf(upstream, taskId),
      isReachable: (taskId) => this.#plan.isTaskReachable(backend, taskId),
    };
  }

  /** As `AskedIds` has it. */
  get secret(): string {
    return this.#ids.secret;
  }

  set secret(secret: string) {
    this.#ids.secret = secret;
  }

  /** Whether the client has anything to answer. */
  get isEmpty(): boolean {
    return this.#awaited.isEmpty;
  }

  get offersRoots(): boolean {
    return this.#offered.roots;
  }

  /** Whether the client opens addresses for its user. */
  get offersUrls(): boolean {
    return this.#offered.elicitationUrl;
  }

  /** Whether the client can be asked for anything at all. */
  get offersAnything(): boolean {
    const { sampling, roots, elicitationForm, elicitationUrl } = this.#offered;
    return sampling || roots || elicitationForm || elicitationUrl;
  }

  /**
   * Puts a backend's request to the client, or refuses it.
   * @param bytes the whole message; valid until this returns unless it is large.
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
      this.#awaited.noRoomFor(upstream, backendId.length, tokenKey);
    if (error !== undefined || taskEdits === undefined) {
      const isOffered = this.#notOffered(message.method, upstream, detail) === undefined;
      if (!isOffered) stream.onUnoffered?.(message.method, detail.mode);
      upstream.answerInstead(backendId, error ?? TASK_UNREACHABLE, metadata);
      return;
    }
    const request = this.#awaited.begin(stream, { upstream, backendId, tokenKey, asksForTask }, metadata, undefined);
    const { id } = request;
    const edits = [{ start: idStart, end: idEnd, putIn: id }, ...taskEdits];
    stream.ask(id, partsOf(bytes, edits), (error) => this.#awaited.onLost(request, error));
  }

  /**
   * Puts a question to the client of a backend that has asked it in place of an answer.
   * @param onInput called once, later, unless the stream ends before.
   * @returns why the client is not asked, if so.
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
    const unoffered = isInput ? this.#notOffered(method, upstream, detail) : notOffered(method);
    const error = unoffered ?? stream.askingObstacle ?? this.#awaited.noRoomFor(upstream, 0, undefined);
    if (error !== undefined) return error;
    const asked = { upstream, backendId: NO_ID, tokenKey: undefined, asksForTask: false };
    const request = this.#awaited.begin(stream, asked, metadata, onInput);
    const head = `,"method":${JSON.stringify(method)}${params.length === 0 ? '' : ',"params":'}`;
    const parts = [BEFORE_ID, request.id, Buffer.from(head), params, CLOSE];
    stream.ask(request.id, parts, (error) => this.#awaited.onLost(request, error));
    return undefined;
  }

  /** Of what a message of a backend's says of the task that it belongs to. */
  #taskEdits(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): readonly Edit[] | undefined {
    const form = this.taskForm(upstream);
    return form === undefined ? [] : callersTaskEdits(bytes, message, taskPlace.related, form);
  }

  /**
   * The client has answered something. What was not asked, or is settled, goes nowhere. What another process has asked, of
   * which the session was taken over, goes to its backend if that is in the same session still.
   * @returns what the client is told when its answer cannot be passed on, though somebody may wait for it; `asked-elsewhere` where
   *   another process has asked, and takes the request for open still.
   */
  onAnswer(request: ExchangeRequest, message: AnswerSpans): Refusal | 'asked-elsewhere' | undefined {
    const { body } = request;
    const { idStart: start, idEnd: end } = message;
    const open = this.#awaited.take(idKey(body, start, end));
    if (open === undefined) {
      const asked = this.#ids.takeOthers(body.subarray(start, end), this.#plan.openUpstreams());
      if (asked === 'lost') return refusals.askerLost;
      if (asked === undefined) return undefined;
      this.#pass(request, message, asked);
      return 'asked-elsewhere';
    }
    if (open.onInput !== undefined) open.onInput(resultIn(body, message) ?? NO_RESULT);
    else if (open.upstream.record === open.askedIn) this.#pass(request, message, open);
    return undefined;
  }

  /** The client has answered another process, which has told the backend. @param key of our id, as `idKey` has it. */
  onAnsweredElsewhere(key: string): void {
    this.#awaited.take(key);
  }

  /** To the backend that has asked. */
  #pass(request: ExchangeRequest, message: AnswerSpans, asked: AskedRequest): void {
    const { upstream, backendId, asksForTask, tokenKey } = asked;
    const { body } = request;
    const { idStart: start, idEnd: end } = message;
    const taskId = asksForTask ? readCreatedTask(body) : undefined;
    if (taskId !== undefined) this.#clientTasks.note(taskId, upstream, tokenKey);
    // Of the exchange, which is over at once, nobody counts it any more.
    const countedBytes = body.length >= limits.countedFromBytes ? body.length : 0;
    const { requestBytes } = this.#plan.account;
    requestBytes.take(countedBytes);
    const headers = metadataFor(upstream.backend, request);
    const answer = { body, leftOut: { start, end }, putIn: backendId };
    upstream.send(this.#withBareTask(answer, message, upstream), headers, () => requestBytes.give(countedBytes));
  }

  /** The client reports progress of a request that it was asked, or of what has become a task. A token that two share says nothing. */
  onProgress(exchange: Exchange, message: ClientMessage): void {
    const { body } = exchange.request;
    // What waits to be sent is counted by nobody.
    const tokenKey = body.length < limits.countedFromBytes ? readProgressKey(body, message) : undefined;
    if (tokenKey === undefined) return;
    const [request, ...others] = this.#awaited.withToken(tokenKey);
    if (others.length > 0) return;
    if (request === undefined) this.#notify(this.#clientTasks.ownerOfToken(tokenKey), exchange, message);
    else if (request.upstream.record === request.askedIn) this.#notify(request.upstream, exchange, message);
  }

  /** The client tells how a task of its own is doing: the backend that it runs it for. */
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

  /** A backend's `notifications/cancelled`: it no longer wants the answer. */
  withdraw(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): void {
    const span = this.isEmpty ? undefined : readRequestId(bytes, message);
    if (span === undefined) return;
    const backendIdKey = idKey(bytes, span.start, span.end);
    const request = this.#awaited.takeOf(upstream, backendIdKey);
    if (request === undefined) return;
    const taskEdits = this.#taskEdits(upstream, bytes, message);
    if (taskEdits === undefined) tellCancelled(request, 'The backend has cancelled its request');
    else request.stream.withdraw(request.id, partsOf(bytes, [{ ...span, putIn: request.id }, ...taskEdits]));
  }

  /** The stream ends: what was asked on it is withdrawn. */
  endOf(stream: AskingStream): void {
    this.#awaited.endOf(stream);
  }

  /** Whether anything is open that the backend has asked on the stream, in the upstream session that it has now. */
  isAsking(stream: AskingStream, upstream: UpstreamSession): boolean {
    return this.#awaited.isAsking(stream, upstream);
  }

  /** The session is over; nobody is told. */
  clear(): void {
    this.#awaited.clear();
  }

  get #offered(): ClientOffers {
    return (this.#offers ??= readClientOffers(this.#plan.introduction.capabilities));
  }

  /** Only what the client has declared is asked of it (C19). */
  #notOffered(method: string, upstream: UpstreamSession, { mode, taskId = '' }: RequestDetail): RpcError | undefined {
    const offers = this.#offered;
    switch (method) {
      case 'sampling/createMessage':
        return offers.sampling ? undefined : notOffered(method);
      case 'roots/list':
        return offers.roots ? undefined : notOffered(method);
      case 'elicitation/create':
        if (!offers.elicitationForm && !offers.elicitationUrl) return notOffered(method);
        return (mode === 'url' ? offers.elicitationUrl : offers.elicitationForm) ? undefined : MODE_NOT_OFFERED;
      case 'tasks/get':
      case 'tasks/result':
        return offers.tasks ? this.#notIts(upstream, taskId) : notOffered(method);
      case 'tasks/cancel':
        return offers.tasksCancel ? this.#notIts(upstream, taskId) : notOffered(method);
      // Of `tasks/list` too: the client's list has the tasks of all backends in it.
      default:
        return notOffered(method);
    }
  }

  #notIts(upstream: UpstreamSession, taskId: string): RpcError | undefined {
    return this.#clientTasks.isOf(upstream, taskId) ? undefined : unknownTask(taskId);
  }
}

/** What the client has answered; `undefined` for an error, and for what is ambiguous. */
function resultIn(body: Buffer, { tape }: AnswerSpans): Buffer | undefined {
  if (tape === undefined && !scanner.scan(body, 1)) return undefined;
  const read = tape ?? scanner;
  const node = findMember(read, body, 0, 'result');
  // A copy: the memory of the exchange is used again.
  return node < 0 ? undefined : Buffer.from(body.subarray(read.start(node), read.end(node)));
}

const scanner = new JsonScanner();

function notOffered(method: string): RpcError {
  return { code: rpcCodes.methodNotFound, message: `The client does not support ${method}` };
}

/** What a backend may ask for in place of an answer (M22). */
const INPUT_METHODS: ReadonlySet<string> = new Set(['elicitation/create', 'sampling/createMessage', 'roots/list']);
/** Of a question that has none. */
const NO_ID = Buffer.from('""');
const BEFORE_ID = Buffer.from('{"jsonrpc":"2.0","id":');
const CLOSE = Buffer.from('}');

const MODE_NOT_OFFERED = {
  code: rpcCodes.invalidParams,
  message: 'The client does not support this mode of elicitation',
};
const TASK_UNREACHABLE = {
  code: rpcCodes.internalError,
  message: 'Ambiguous task id: the name of another backend is a prefix of it',
};
const NO_RESULT = { code: rpcCodes.internalError, message: 'The client responded with an error' };
