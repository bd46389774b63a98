// Receives what a backend of MCP 2026-07-28 sends unasked for one session: on the response to a `subscriptions/listen`, whose filter names
// the notifications that are wanted. When the filter changes, a new request is sent. The old one is closed when the backend has
// acknowledged the new one, so that nothing is lost, or after a while: some backends acknowledge nothing, or serve one request at a time.
// Cold path.
//
//   next ── acknowledged, or its time is over ──> current ── replaced by the next ──> closed
//   next, current ── refused ──> closed
import type { BackendMessage } from '../../mcp/index.js';
import type { Deadline } from '../../fair/index.js';
import { isObject, limits } from '../../shared/index.js';
import { SUBSCRIPTION_ACKNOWLEDGED, BackendStream, type BackendStreamPlan } from './backend-stream.js';
import type { UpstreamCall, UpstreamHandler } from '../../http-client/index.js';

/** What a backend will not send, according to its acknowledgement (M25). */
export interface RefusedSubscriptions {
  readonly members: ReadonlySet<string>;
  readonly uris: ReadonlySet<string>;
}

/** @param filter as JSON. @param bytes the acknowledgement. @returns what it omits from the filter; `undefined` if nothing is missing. */
export function readRefusedSubscriptions(
  filter: string,
  bytes: Buffer,
  { paramsStart, paramsEnd }: BackendMessage,
): RefusedSubscriptions | undefined {
  const bytesMax = limits.readAtOnceBytesMax;
  if (paramsStart === -1 || paramsEnd - paramsStart > bytesMax || filter.length > bytesMax) return undefined;
  const params: unknown = JSON.parse(bytes.toString('utf8', paramsStart, paramsEnd));
  const honoured = isObject(params) ? params['notifications'] : undefined;
  if (!isObject(honoured)) return undefined;
  const wanted = JSON.parse(filter) as Readonly<Record<string, unknown>>;
  const honouredUris = new Set(urisOf(honoured));
  const members = Object.keys(wanted).filter((member) => wanted[member] === true && honoured[member] !== true);
  const uris = urisOf(wanted).filter((uri) => !honouredUris.has(uri));
  return members.length === 0 && uris.length === 0 ? undefined : { members: new Set(members), uris: new Set(uris) };
}

function urisOf({ resourceSubscriptions: uris }: Readonly<Record<string, unknown>>): string[] {
  return Array.isArray(uris) ? uris.filter((uri): uri is string => typeof uri === 'string') : [];
}

export interface ModernListeningPlan extends Pick<BackendStreamPlan, 'deadlines' | 'memory' | 'tryFollowRedirect'> {
  /** The filter as JSON: the notifications that are wanted now; `''` for none. */
  filter(): string;
  requestStream(filter: string, handler: UpstreamHandler): UpstreamCall;
  onRequesting(): void;
  /** Called when the backend has acknowledged or refused the request, or cannot be reached now; also if nothing is wanted. */
  onOutcome(): void;
  /** Called when a backend that once acknowledged no longer knows the method. */
  onLost(): void;
  /** Called with a notification, still with the subscription's id. @param bytes valid until this returns. */
  onMessage(bytes: Buffer, message: BackendMessage): void;
}

interface ListenRequest {
  filter: string;
  /** What the backend will not send, according to its acknowledgement. */
  refusedSubscriptions?: RefusedSubscriptions | undefined;
  stream: BackendStream | undefined;
}

export class ModernListening {
  readonly #plan: ModernListeningPlan;
  #current: ListenRequest | undefined;
  #next: ListenRequest | undefined;
  #acknowledgementDeadline: Deadline | undefined;
  #isRenewalScheduled = false;
  /** Whether the listening is closed, or refused for good. Changed only here, like `isOffered`. */
  isOver = false;
  /** Whether the backend has ever acknowledged. */
  isOffered = false;

  constructor(plan: ModernListeningPlan) {
    this.#plan = plan;
    this.#open();
  }

  /** What the filter names, but the backend will not send. */
  get refusedSubscriptions(): RefusedSubscriptions | undefined {
    return this.#current?.refusedSubscriptions;
  }

  /** Called when the filter may have changed. Several changes at once cause one renewal. */
  renew(): void {
    if (this.isOver || this.#isRenewalScheduled) return;
    this.#isRenewalScheduled = true;
    this.#plan.onRequesting();
    queueMicrotask(() => {
      this.#isRenewalScheduled = false;
      this.#open();
    });
  }

  close(): void {
    this.isOver = true;
    this.#closeBoth();
  }

  #closeBoth(): void {
    this.#acknowledgementDeadline?.cancel();
    this.#next?.stream?.close();
    this.#current?.stream?.close();
    this.#next = this.#current = undefined;
  }

  #open(): void {
    if (this.isOver) return;
    const filter = this.#plan.filter();
    if (filter === '') this.#closeBoth();
    if (filter === '' || (this.#next === undefined && this.#current?.filter === filter)) {
      this.#plan.onOutcome();
      return;
    }
    // A new request waits until the one before is acknowledged: `#replaceWith` then calls `#open` again.
    if (this.#next !== undefined) return;
    this.#plan.onRequesting();
    const listen: ListenRequest = { filter, stream: undefined };
    this.#next = listen;
    const { deadlines } = this.#plan;
    this.#acknowledgementDeadline = deadlines.after(limits.remoteAnswerMsMax, () => this.#replaceWith(listen));
    listen.stream = this.#streamOf(listen);
  }

  #streamOf(listen: ListenRequest): BackendStream {
    const { deadlines, memory } = this.#plan;
    return new BackendStream({
      ...{ deadlines, memory },
      // A request that replaces an ended stream has the filter as it is now.
      requestStream: (_lastEventId, handler) => {
        listen.filter = this.#plan.filter();
        return this.#plan.requestStream(listen.filter, handler);
      },
      tryFollowRedirect: (status, location) => this.#plan.tryFollowRedirect(status, location),
      onOutcome: (isStream) => {
        if (!isStream) this.#plan.onOutcome();
      },
      onMessage: (bytes, message) => {
        if (message.method === SUBSCRIPTION_ACKNOWLEDGED) {
          listen.refusedSubscriptions = readRefusedSubscriptions(listen.filter, bytes, message);
          this.#replaceWith(listen);
        } else if (message.kind === 'notification') this.#plan.onMessage(bytes, message);
      },
      onRefused: () => this.#onRefused(listen),
      onUnclearStatus: () => {
        if (this.isOffered) this.#plan.onLost();
      },
    });
  }

  #replaceWith(listen: ListenRequest): void {
    this.isOffered ||= listen.stream?.isOffered === true;
    if (this.#next !== listen) return;
    this.#acknowledgementDeadline?.cancel();
    this.#current?.stream?.close();
    this.#current = listen;
    this.#next = undefined;
    this.#open();
  }

  #onRefused(listen: ListenRequest): void {
    if (this.#current === listen) this.#current = undefined;
    if (this.#next === listen) {
      this.#acknowledgementDeadline?.cancel();
      this.#next = undefined;
    }
    if (this.#current === undefined && this.#next === undefined) this.isOver = true;
    this.#plan.onOutcome();
  }
}
