// What a backend of MCP 2026-07-28 says unasked, for one session: on the answer to a `subscriptions/listen`, which says what is wanted
// to be heard. When something else is wanted, another one is opened, and the one before ends when the backend has
// acknowledged the new one, so that nothing is lost in between. Cold.
//
//   next ── acknowledged, or its time is over ──> current ── the next one is ──> closed
//   next, current ── refused ──> closed
import type { BackendMessage } from '../../protocol/json-rpc.js';
import { readUnhonoured, type Unhonoured } from '../../protocol/listen-acknowledgement.js';
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import { BackendStream } from './backend-stream.js';
import type { UpstreamCall, UpstreamHandler } from '../http/http-upstream.js';
import type { SessionShare } from './session-share.js';

export interface ModernListeningPlan {
  readonly deadlines: DeadlineWheel;
  readonly memory: SessionShare;
  /** What is wanted now, as the JSON of `notifications`; `''` for nothing. */
  filter(): string;
  /** Sends a `subscriptions/listen`. */
  ask(filter: string, handler: UpstreamHandler): UpstreamCall;
  /** One is about to be opened. */
  onAsking(): void;
  /** The backend has acknowledged what is wanted, or refuses it, or cannot be reached now, or nothing is wanted. */
  onSettled(): void;
  /** A backend that was listened to does not know any more what that is. */
  onLost(): void;
  /** A notification, with the id of the subscription still on it; `bytes` is valid until the callback returns. */
  onMessage(bytes: Buffer, message: BackendMessage): void;
}

interface Asked {
  filter: string;
  /** Of that, once it is acknowledged. */
  unhonoured?: Unhonoured | undefined;
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

  /** What of that which is wanted the backend has said that it does not tell of; `undefined` for nothing. */
  get unhonoured(): Unhonoured | undefined {
    return this.#current?.unhonoured;
  }

  /** Something else may be wanted. Several changes in one go are one. */
  renew(): void {
    if (this.#isOver || this.#isRenewing) return;
    this.#isRenewing = true;
    this.#plan.onAsking();
    queueMicrotask(() => {
      this.#isRenewing = false;
      this.#open();
    });
  }

  /** Nobody wants to hear it any more. */
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
      this.#plan.onSettled();
      return;
    }
    // One at a time: when this is acknowledged, what is wanted then is looked at.
    if (this.#next !== undefined) return;
    this.#plan.onAsking();
    const asked: Asked = { filter, stream: undefined };
    this.#next = asked;
    const { deadlines } = this.#plan;
    this.#patience = deadlines.after(limits.subscribeMsMax, () => {
      if (asked.stream?.isOffered === true) this.#onAcknowledged(asked);
    });
    asked.stream = this.#streamOf(asked);
  }

  #streamOf(asked: Asked): BackendStream {
    const { deadlines, memory } = this.#plan;
    return new BackendStream({
      ...{ deadlines, memory },
      // Nothing is kept of a stream that has ended: it begins anew, with what is wanted then.
      ask: (_lastEventId, handler) => {
        asked.filter = this.#plan.filter();
        return this.#plan.ask(asked.filter, handler);
      },
      onAnswered: (isStream) => {
        if (!isStream) this.#plan.onSettled();
      },
      onMessage: (bytes, message) => this.#onMessage(asked, bytes, message),
      onRefused: () => this.#onRefused(asked),
      onSessionLost: () => {
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
    this.#plan.onSettled();
  }
}
