// The event stream of one upstream session: the response to a GET, on which the backend sends messages that belong to no request. When it
// ends, it is resumed after its last event, after the backend's `retry` or a growing delay (C13, C14). A backend without such a stream
// answers 405 (C04). Cold path: a few events per session.
//
//   asking ── 200 ──> streaming ── end, fault ──> waiting ── delay ──> asking
//   asking ── 5xx, 429, 409, fault ──> waiting
//   asking, streaming, waiting ── 405 or any other refusal, close ──> over
import { EventStreamParser } from '../../bytes/index.js';
import { readBackendMessage, type BackendMessage } from '../../mcp/index.js';
import type { Deadline, DeadlineWheel } from '../../fair/index.js';
import { limits } from '../../shared/index.js';
import type { UpstreamCall, UpstreamHandler } from '../../http-client/index.js';
import { Reconnection } from '../rpc/resumption.js';
import type { MessageBudget } from './known-mirrors.js';

export interface BackendStreamPlan {
  readonly deadlines: DeadlineWheel;
  readonly memory: MessageBudget;
  /** Requests the stream. @param lastEventId `''` for none. */
  requestStream(lastEventId: string, handler: UpstreamHandler): UpstreamCall;
  /** Follows a redirect. @returns whether to request the stream again, at the new target. */
  tryFollowRedirect(status: number, location: string): boolean;
  /** Called with the outcome. @param isStream false if the backend refuses the stream, cannot be reached, or sends too large an event. */
  onOutcome(isStream: boolean): void;
  /** Called with a request or a notification. @param bytes valid until this returns. */
  onMessage(bytes: Buffer, message: BackendMessage): void;
  onRefused?(): void;
  /** Called with an answer, which belongs on the stream of its request (S14). @param bytes as for `onMessage`. */
  onAnswer?(bytes: Buffer, message: BackendMessage): void;
  /** Called when the stream was cut within an event that cannot come again. */
  onCut?(): void;
  /** Called for a status that may mean a lost session, no such stream, or a second stream: only a POST shows which. */
  onUnclearStatus(): void;
}

export const SUBSCRIPTION_ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';

type State = 'asking' | 'streaming' | 'waiting' | 'over';

export class BackendStream implements UpstreamHandler {
  readonly #plan: BackendStreamPlan;
  #state: State = 'asking';
  #call: UpstreamCall | undefined;
  #parser: EventStreamParser | undefined;
  readonly #reconnection = new Reconnection();
  #delay: Deadline | undefined;
  /** Whether the backend has ever responded with a stream. Changed only here. */
  isOffered = false;
  /** Whether the stream is over, rather than requested again, once it ends. */
  isClosedAtEnd = false;
  /** Whether a redirect was followed. Only one is followed: later requests go to its target at once. */
  #hasFollowedRedirect = false;
  #countedBytes = 0;

  constructor(plan: BackendStreamPlan) {
    this.#plan = plan;
    const call = plan.requestStream('', this);
    if (this.#state !== 'over') this.#call = call;
  }

  /** Whether the stream is closed, or refused for good. May become true while a message is handled. */
  get isOver(): boolean {
    return this.#state === 'over';
  }

  close(): void {
    if (!this.#transition(this.#state, 'over')) return;
    this.#delay?.cancel();
    this.#call?.abort();
    this.#call = undefined;
    this.#parser = undefined;
    this.#tryCount(0);
  }

  onHead(status: number, contentType: string, _sessionId: string, _bodyBytes: number, statusHeader: string): void {
    if (this.#state !== 'asking') return;
    if (!this.#hasFollowedRedirect && this.#plan.tryFollowRedirect(status, statusHeader)) {
      this.#hasFollowedRedirect = true;
      this.#call?.abort();
      this.#call = this.#plan.requestStream(this.#reconnection.lastEventId, this);
      return;
    }
    const isStream = status < 300 && contentType === 'text/event-stream';
    this.#plan.onOutcome(isStream);
    if (isStream) {
      this.isOffered = true;
      if (this.#transition('asking', 'streaming'))
        this.#parser = new EventStreamParser((data) => this.#onEvent(data), limits.backendStreamEventBytesMax);
    } else if (status >= 500 || status === 429 || status === 409) {
      // 409: the session has such a stream already, perhaps one of the process that had the session before. The next try may succeed.
      this.#call?.abort();
      this.#wait();
    } else {
      this.#refuse();
      if (status === 404 || (this.isOffered && (status === 400 || status === 405))) this.#plan.onUnclearStatus();
    }
  }

  onData(chunk: Buffer): void {
    const parser = this.#parser;
    if (this.#state !== 'streaming' || parser === undefined) return;
    const isSound = parser.push(chunk);
    if (this.isOver) return;
    if (isSound && this.#tryCount(parser.keptBytes)) return;
    // When the stream is requested again, an event that was too large is skipped, and an event for which there was no room comes again.
    if (!isSound) this.#plan.onOutcome(false);
    this.#call?.abort();
    this.#wait();
  }

  #tryCount(bytes: number): boolean {
    const more = bytes - this.#countedBytes;
    const { memory } = this.#plan;
    if (more > 0 && !memory.hasRoomFor(more)) return false;
    if (more > 0) memory.keep(more);
    else if (more < 0) memory.drop(-more);
    this.#countedBytes = bytes;
    return true;
  }

  onEnd(): void {
    this.#wait();
  }

  onFault(): void {
    if (this.#state === 'asking') this.#plan.onOutcome(false);
    this.#wait();
  }

  #onEvent(data: Buffer): void {
    if (this.#state !== 'streaming') return;
    const message = readBackendMessage(data);
    // A stream that brings nothing but answers and acknowledgements counts as failing.
    const isWithoutProgress = message?.kind === 'response' || message?.method === SUBSCRIPTION_ACKNOWLEDGED;
    if (!isWithoutProgress) this.#reconnection.noteProgress();
    if (message === undefined) return;
    if (message.kind !== 'response') this.#plan.onMessage(data, message);
    else if (message.isError && this.#plan.onRefused !== undefined) this.#refuse();
    else this.#plan.onAnswer?.(data, message);
  }

  #refuse(): void {
    this.close();
    this.#plan.onRefused?.();
  }

  #wait(): void {
    const hasEnded = this.#transition('streaming', 'waiting');
    if (!hasEnded && !this.#transition('asking', 'waiting')) return;
    this.#tryCount(0);
    const isCut = this.#parser !== undefined && this.#parser.keptBytes > 0;
    if (this.#parser !== undefined) this.#reconnection.noteEnded(this.#parser);
    this.#parser = undefined;
    if (isCut && this.#reconnection.lastEventId === '') this.#plan.onCut?.();
    if (this.isClosedAtEnd || this.isOver) return;
    this.#delay = this.#plan.deadlines.after(this.#reconnection.nextDelayMs(hasEnded), () => {
      if (!this.#transition('waiting', 'asking')) return;
      this.#call = this.#plan.requestStream(this.#reconnection.lastEventId, this);
    });
  }

  #transition(from: State, to: State): boolean {
    if (this.#state !== from || from === 'over') return false;
    this.#state = to;
    return true;
  }
}
