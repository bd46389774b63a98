// Connects this worker to the owners of other workers' sessions: one link per owner, opened when first needed and reopened after
// it is lost. Requests whose owner is being restarted wait here.
import { join } from 'node:path';
import { type Exchange, type ExchangeRequest, CallerlessExchange } from '../../exchange/index.js';
import { type Logger, limits } from '../../shared/index.js';
import { isPrivateFolder } from '../../process/index.js';
import type { HopFailure } from './call.js';
import type { ForwardedIdentity } from './heads.js';
import { HopLink } from './link.js';
import { Quota } from '../../fair/index.js';
import { hopBounds } from './frames.js';

/**
 * Requests whose session's owner has no process at the moment: the owner is being restarted and will continue its sessions, so the
 * requests are retried a little later. Nothing of them was sent anywhere. Cold path: only after a worker has died.
 */
export class RequestsAwaitingOwner {
  readonly #waiting: Quota;

  constructor(waiting = new Quota()) {
    this.#waiting = waiting;
  }

  /**
   * @param sinceMs when the request was first passed on, on the clock of `performance.now()`.
   * @param retry called later.
   * @returns false when it has waited long enough, or when too many requests wait, of its subject or in total.
   */
  tryWait(subject: string, sinceMs: number, retry: () => void): boolean {
    if (performance.now() - sinceMs >= limits.ownerWaitMsMax || !this.#waiting.tryTake(subject)) return false;
    setTimeout(() => {
      this.#waiting.give(subject);
      retry();
    }, hopBounds.ownerRetryMs);
    return true;
  }
}

/** The socket path of a slot's hop listener. */
export function hopSocketPath(directory: string, slot: number): string {
  return join(directory, `slot-${slot}.sock`);
}

export class Hops {
  readonly #directory: string;
  readonly #secret: Uint8Array;
  readonly #logger: Logger;
  /** Links by owner slot; at most one per slot. */
  readonly #links = new Map<number, HopLink>();
  /** Links to owners that have successors, until they close. */
  #leftLinks: HopLink[] = [];
  #isClosed = false;

  constructor(directory: string, secret: Uint8Array, logger: Logger) {
    this.#directory = directory;
    this.#secret = secret;
    this.#logger = logger;
  }

  /**
   * Forwards a request to its owner, and the owner's answer to the exchange. From here on the hop sets the exchange's `onDrain`
   * and `onAbort`; it clears both before it reports a failure.
   * @param onFailure called when no answer has begun and none will come: the exchange still needs one. An answer that breaks later is cut.
   */
  forward(
    owner: number,
    identity: ForwardedIdentity,
    exchange: Exchange,
    onFailure: (failure: HopFailure) => void,
  ): void {
    if (this.#isClosed) onFailure('owner-absent');
    else {
      const link = this.#linkTo(owner);
      // The owner may be alive: it makes its socket again when the directory is back.
      if (link === undefined) onFailure('owner-lost');
      else link.forward(identity, exchange, onFailure);
    }
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Ends every link; their hops fail. */
  close(): void {
    this.#isClosed = true;
    for (const link of this.#leftLinks) link.close();
    for (const link of this.#links.values()) link.close();
  }

  /** `undefined` while the private directory is missing. A replacement made by someone else must not receive the secret. */
  #linkTo(owner: number): HopLink | undefined {
    const known = this.#links.get(owner);
    if (known !== undefined && !known.isLeft) return known;
    if (!isPrivateFolder(this.#directory)) return undefined;
    const link = new HopLink(hopSocketPath(this.#directory, owner), this.#secret, this.#logger);
    this.#links.set(owner, link);
    this.#leftLinks = this.#leftLinks.filter(({ isClosed }) => !isClosed);
    if (known?.isClosed === false) this.#leftLinks.push(known);
    return link;
  }
}

// Connects a worker to its predecessor in the slot, which is finishing its work after a reload: cancellations of requests that are
// in flight there reach the successor first. Cold path.

/**
 * Time that a new worker keeps cancellations for its predecessor, until that worker knows that it was replaced. After that, they are
 * dropped.
 */
const PREDECESSOR_WAIT_MS_MAX = 5_000;

/** Where a replaced worker listens for what its successor passes on. The path is no longer than the slot's own. */
export function predecessorSocketPath(directory: string, slot: number): string {
  return join(directory, `past-${slot}.sock`);
}

export class Predecessor {
  readonly #path: string;
  readonly #secret: Uint8Array;
  readonly #logger: Logger;
  readonly #startedAtMs = performance.now();
  #link: HopLink | undefined;
  /** There was no predecessor, or it has ended; no other will come. */
  #isGone = false;
  readonly #waits = new RequestsAwaitingOwner(
    new Quota(hopBounds.predecessorNoticesWaitingMax, hopBounds.predecessorNoticesWaitingMax),
  );

  constructor(path: string, secret: Uint8Array, logger: Logger) {
    this.#path = path;
    this.#secret = secret;
    this.#logger = logger;
  }

  /** Passes a notification on if there is a predecessor; the response is ignored. */
  pass(identity: ForwardedIdentity, request: ExchangeRequest): void {
    if (this.#isGone) return;
    if (this.#link === undefined || this.#link.isLeft) this.#link = new HopLink(this.#path, this.#secret, this.#logger);
    this.#link.forward(identity, new CallerlessExchange(request), (failure) => {
      if (failure === 'owner-absent') this.#onAbsent(identity, request);
    });
  }

  /** The predecessor may not know yet that it has a successor. */
  #onAbsent(identity: ForwardedIdentity, request: ExchangeRequest): void {
    if (performance.now() - this.#startedAtMs >= PREDECESSOR_WAIT_MS_MAX) this.#isGone = true;
    if (!this.#isGone) this.#waits.tryWait(identity.subject, this.#startedAtMs, () => this.pass(identity, request));
  }

  close(): void {
    this.#isGone = true;
    this.#link?.close();
  }
}
