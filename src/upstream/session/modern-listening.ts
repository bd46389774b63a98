// What a backend of MCP 2026-07-28 sends unasked, for one session: on the response to a `subscriptions/listen`, whose filter names what is
// wanted. When that changes, a new request is sent, and the previous one is closed once the backend has acknowledged the new one, so that
// nothing is lost in between. Cold path.
//
//   next ── acknowledged, or its time is over ──> current ── the next one is ──> closed
//   next, current ── refused ──> closed
import type { BackendMessage } from '../../mcp/index.js';
import type { Deadline, DeadlineWheel } from '../../fair/index.js';
import { isObject, limits } from '../../shared/index.js';
import { BackendStream } from './backend-stream.js';
import type { UpstreamCall, UpstreamHandler } from '../../http-client/index.js';
import type { SessionShare } from './known-mirrors.js';

/** What of a `subscriptions/listen` a backend does not honour, according to its acknowledgement (M25). */
export interface RefusedSubscriptions {
  /** Members of the filter, such as `toolsListChanged`. */
  readonly members: ReadonlySet<string>;
  /** The backend's own URIs. */
  readonly uris: ReadonlySet<string>;
}

/**
 * @param asked the filter that the backend was sent, as JSON.
 * @returns `undefined` when it honours all of it, does not say, or says too much to be read at once.
 */
export function readUnhonoured(
  asked: string,
  bytes: Buffer,
  { paramsStart, paramsEnd }: BackendMessage,
): RefusedSubscriptions | undefined {
  const bytesMax = limits.readAtOnceBytesMax;
  if (paramsStart === -1 || paramsEnd - paramsStart > bytesMax || asked.length > bytesMax) return undefined;
  const params: unknown = JSON.parse(bytes.toString('utf8', paramsStart, paramsEnd));
  const honoured = isObject(params) ? params['notifications'] : undefined;
  if (!isObject(honoured)) return undefined;
  const wanted = JSON.parse(asked) as Readonly<Record<string, unknown>>;
  const taken = new Set(urisOf(honoured));
  const members = Object.keys(wanted).filter((member) => wanted[member] === true && honoured[member] !== true);
  const uris = urisOf(wanted).filter((uri) => !taken.has(uri));
  return members.length === 0 && uris.length === 0 ? undefined : { members: new Set(members), uris: new Set(uris) };
}

function urisOf({ resourceSubscriptions: uris }: Readonly<Record<string, unknown>>): string[] {
  return Array.isArray(uris) ? uris.filter((uri): uri is string => typeof uri === 'string') : [];
}

export interface ModernListeningPlan {
  readonly deadlines: DeadlineWheel;
  readonly memory: SessionShare;
  /** What is wanted now, as the JSON of `notifications`; `''` for nothing. */
  filter(): string;
  /** Sends a `subscriptions/listen`. */
  ask(filter: string, handler: UpstreamHandler): UpstreamCall;
  /** It was redirected. @returns whether to ask once more, where the redirect leads. */
  tryFollow(status: number, location: string): boolean;
  /** A `subscriptions/listen` is about to be sent. */
  onAsking(): void;
  /** The backend has acknowledged what is wanted, refuses it or cannot be reached now, or nothing is wanted. */
  onAnswered(): void;
  /** A backend that has acknowledged a `subscriptions/listen` before no longer knows the method. */
  onLost(): void;
  /** A notification, still with the id of the subscription; `bytes` is valid until the callback returns. */
  onMessage(bytes: Buffer, message: BackendMessage): void;
}

/** A `subscriptions/listen`. */
interface Listen {
  filter: string;
  /** What of the filter the backend does not honour, once it has acknowledged. */
  unhonoured?: RefusedSubscriptions | undefined;
  stream: BackendStream | undefined;
}

export class ModernListening {
  readonly #plan: ModernListeningPlan;
  #current: Listen | undefined;
  #next: Listen | undefined;
  #acknowledgementDeadline: Deadline | undefined;
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

  /** Whether the backend has ever acknowledged a `subscriptions/listen`. */
  get isOffered(): boolean {
    return this.#isOffered;
  }

  /** What is wanted but, by the backend's acknowledgement, will not be sent; `undefined` for nothing. */
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

  close(): void {
    this.#isOver = true;
    this.#closeBoth();
  }

  #closeBoth(): void {
    this.#acknowledgementDeadline?.cancel();
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
    // Only one at a time awaits acknowledgement: after that, `#open` checks again what is wanted.
    if (this.#next !== undefined) return;
    this.#plan.onAsking();
    const listen: Listen = { filter, stream: undefined };
    this.#next = listen;
    const { deadlines } = this.#plan;
    this.#acknowledgementDeadline = deadlines.after(limits.remoteAnswerMsMax, () => {
      if (listen.stream?.isOffered === true) this.#onAcknowledged(listen);
    });
    listen.stream = this.#streamOf(listen);
  }

  #streamOf(listen: Listen): BackendStream {
    const { deadlines, memory } = this.#plan;
    return new BackendStream({
      ...{ deadlines, memory },
      // A stream that has ended is not resumed: a new one is opened with what is wanted then.
      ask: (_lastEventId, handler) => {
        listen.filter = this.#plan.filter();
        return this.#plan.ask(listen.filter, handler);
      },
      tryFollow: (status, location) => this.#plan.tryFollow(status, location),
      onAnswered: (isStream) => {
        if (!isStream) this.#plan.onAnswered();
      },
      onMessage: (bytes, message) => this.#onMessage(listen, bytes, message),
      onRefused: () => this.#onRefused(listen),
      onSessionDoubtful: () => {
        if (this.#isOffered) this.#plan.onLost();
      },
    });
  }

  #onMessage(listen: Listen, bytes: Buffer, message: BackendMessage): void {
    if (message.method === 'notifications/subscriptions/acknowledged') {
      listen.unhonoured = readUnhonoured(listen.filter, bytes, message);
      this.#onAcknowledged(listen);
    } else if (message.kind === 'notification') this.#plan.onMessage(bytes, message);
  }

  #onAcknowledged(listen: Listen): void {
    this.#isOffered = true;
    if (this.#next !== listen) return;
    this.#acknowledgementDeadline?.cancel();
    this.#current?.stream?.close();
    this.#current = listen;
    this.#next = undefined;
    this.#open();
  }

  #onRefused(listen: Listen): void {
    if (this.#current === listen) this.#current = undefined;
    if (this.#next === listen) {
      this.#acknowledgementDeadline?.cancel();
      this.#next = undefined;
    }
    if (this.#current === undefined && this.#next === undefined) this.#isOver = true;
    this.#plan.onAnswered();
  }
}
