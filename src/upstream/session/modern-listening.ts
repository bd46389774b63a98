// What a backend of MCP 2026-07-28 sends unasked, for one session: on the response to a `subscriptions/listen`, which names what is wanted.
// When that changes, a new one is opened, and the previous one is closed once the backend has acknowledged the new one, so that nothing is
// lost in between. Cold path.
//
//   next ── acknowledged, or its time is over ──> current ── the next one is ──> closed
//   next, current ── refused ──> closed
import { type BackendMessage, readUnhonoured, type RefusedSubscriptions } from '../../mcp/index.js';
import type { Deadline, DeadlineWheel } from '../../fair/index.js';
import { limits } from '../../shared/index.js';
import { BackendStream } from './backend-stream.js';
import type { UpstreamCall, UpstreamHandler } from '../../http-client/index.js';
import type { SessionShare } from './known-mirrors.js';

export interface ModernListeningPlan {
  readonly deadlines: DeadlineWheel;
  readonly memory: SessionShare;
  /** What is wanted now, as the JSON of `notifications`; `''` for nothing. */
  filter(): string;
  /** Sends a `subscriptions/listen`. */
  ask(filter: string, handler: UpstreamHandler): UpstreamCall;
  /** A `subscriptions/listen` is about to be sent. */
  onAsking(): void;
  /** The backend has acknowledged what is wanted, refuses it or cannot be reached now, or nothing is wanted. */
  onAnswered(): void;
  /** A backend that has acknowledged one before no longer knows the method. */
  onLost(): void;
  /** A notification, still with the id of the subscription; `bytes` is valid until the callback returns. */
  onMessage(bytes: Buffer, message: BackendMessage): void;
}

interface Asked {
  filter: string;
  /** What of the filter the backend does not honour, once it has acknowledged. */
  unhonoured?: RefusedSubscriptions | undefined;
  stream: BackendStream | undefined;
}

export class ModernListening {
  readonly #plan: ModernListeningPlan;
  #current: Asked | undefined;
  #next: Asked | undefined;
  #patience: Deadline | undefined;
  #isRenewing = false;
  #isOver = false;
  #isOffered = false;

  constructor(plan: ModernListeningPlan) {
    this.#plan = plan;
    this.#open();
  }

  /** Closed, or refused for good. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether the backend has ever acknowledged one. */
  get isOffered(): boolean {
    return this.#isOffered;
  }

  /** What is wanted but, as the backend said, will not be sent; `undefined` for nothing. */
  get unhonoured(): RefusedSubscriptions | undefined {
    return this.#current?.unhonoured;
  }

  /** Called when what is wanted may have changed. Several changes in one go cause one renewal. */
  renew(): void {
    if (this.#isOver || this.#isRenewing) return;
    this.#isRenewing = true;
    this.#plan.onAsking();
    queueMicrotask(() => {
      this.#isRenewing = false;
      this.#open();
    });
  }

  /** Closes everything: nothing is wanted any more. */
  close(): void {
    this.#isOver = true;
    this.#closeBoth();
  }

  #closeBoth(): void {
    this.#patience?.cancel();
    this.#next?.stream?.close();
    this.#current?.stream?.close();
    this.#next = this.#current = undefined;
  }

  #open(): void {
    if (this.#isOver) return;
    const filter = this.#plan.filter();
    if (filter === '') this.#closeBoth();
    if (filter === '' || (this.#next === undefined && this.#current?.filter === filter)) {
      this.#plan.onAnswered();
      return;
    }
    // One at a time: once this one is acknowledged, `#open` checks again what is wanted.
    if (this.#next !== undefined) return;
    this.#plan.onAsking();
    const asked: Asked = { filter, stream: undefined };
    this.#next = asked;
    const { deadlines } = this.#plan;
    this.#patience = deadlines.after(limits.remoteAnswerMsMax, () => {
      if (asked.stream?.isOffered === true) this.#onAcknowledged(asked);
    });
    asked.stream = this.#streamOf(asked);
  }

  #streamOf(asked: Asked): BackendStream {
    const { deadlines, memory } = this.#plan;
    return new BackendStream({
      ...{ deadlines, memory },
      // A stream that has ended is not resumed: a new one is opened with what is wanted then.
      ask: (_lastEventId, handler) => {
        asked.filter = this.#plan.filter();
        return this.#plan.ask(asked.filter, handler);
      },
      onAnswered: (isStream) => {
        if (!isStream) this.#plan.onAnswered();
      },
      onMessage: (bytes, message) => this.#onMessage(asked, bytes, message),
      onRefused: () => this.#onRefused(asked),
      onSessionDoubtful: () => {
        if (this.#isOffered) this.#plan.onLost();
      },
    });
  }

  #onMessage(asked: Asked, bytes: Buffer, message: BackendMessage): void {
    if (message.method === 'notifications/subscriptions/acknowledged') {
      asked.unhonoured = readUnhonoured(asked.filter, bytes, message);
      this.#onAcknowledged(asked);
    } else if (message.kind === 'notification') this.#plan.onMessage(bytes, message);
  }

  #onAcknowledged(asked: Asked): void {
    this.#isOffered = true;
    if (this.#next !== asked) return;
    this.#patience?.cancel();
    this.#current?.stream?.close();
    this.#current = asked;
    this.#next = undefined;
    this.#open();
  }

  #onRefused(asked: Asked): void {
    if (this.#current === asked) this.#current = undefined;
    if (this.#next === asked) {
      this.#patience?.cancel();
      this.#next = undefined;
    }
    if (this.#current === undefined && this.#next === undefined) this.#isOver = true;
    this.#plan.onAnswered();
  }
}
