// Connects this worker to the workers that own other sessions: one link per owner, opened when first needed and again after a loss.
import { join } from 'node:path';
import { type Exchange, type ExchangeRequest, CallerlessExchange } from '../../exchange/index.js';
import { type Logger, limits } from '../../shared/index.js';
import { isPrivateFolder } from '../../process/index.js';
import type { HopFailure } from './call.js';
import type { ForwardedIdentity } from './heads.js';
import { HopLink } from './link.js';
import { Quota } from '../../fair/index.js';
import { hopBounds } from './frames.js';

/** Requests whose owner is being restarted: they are unsent, and will be retried. Cold path. */
export class RequestsAwaitingOwner {
  readonly #waiting: Quota;

  constructor(waiting = new Quota()) {
    this.#waiting = waiting;
  }

  /**
   * Retries a request a little later. @param firstAtMs when the request was first forwarded, by `performance.now()`.
   * @returns false when it has waited long enough, or too many requests wait, of its subject or in total.
   */
  tryWait(subject: string, firstAtMs: number, retry: () => void): boolean {
    if (performance.now() - firstAtMs >= limits.ownerWaitMsMax || !this.#waiting.tryTake(subject)) return false;
    setTimeout(() => {
      this.#waiting.give(subject);
      retry();
    }, hopBounds.ownerRetryMs);
    return true;
  }
}

export function hopSocketPath(directory: string, slot: number): string {
  return join(directory, `slot-${slot}.sock`);
}

export class Hops {
  readonly #directory: string;
  readonly #secret: Uint8Array;
  readonly #logger: Logger;
  /** Links to other workers, by the paths of their sockets. */
  readonly #links = new Map<string, HopLink>();
  /** Links to owners that have been replaced, until these links close. */
  #replacedLinks: HopLink[] = [];
  /** Whether `close` was called. Changed only here. */
  isClosed = false;

  constructor(directory: string, secret: Uint8Array, logger: Logger) {
    this.#directory = directory;
    this.#secret = secret;
    this.#logger = logger;
  }

  /**
   * Forwards a request to its owner, and the answer to the exchange. The hop sets the exchange's `onDrain` and `onAbort`, and clears both
   * before it reports a failure.
   * @param onFailure called when no answer has begun and none will come. An answer that breaks later is cut.
   */
  forward(
    owner: number,
    identity: ForwardedIdentity,
    exchange: Exchange,
    onFailure: (failure: HopFailure) => void,
  ): void {
    this.forwardTo(hopSocketPath(this.#directory, owner), identity, exchange, onFailure);
  }

  /** Like `forward`. @param path where the worker listens. */
  forwardTo(
    path: string,
    identity: ForwardedIdentity,
    exchange: Exchange,
    onFailure: (failure: HopFailure) => void,
  ): void {
    const link = this.isClosed ? undefined : this.#linkTo(path);
    // Without the directory, the worker is not `owner-absent`: it may be alive, and will create its socket again.
    if (link === undefined) onFailure(this.isClosed ? 'owner-absent' : 'owner-lost');
    else link.forward(identity, exchange, onFailure);
  }

  close(): void {
    this.isClosed = true;
    for (const link of this.#replacedLinks) link.close();
    for (const link of this.#links.values()) link.close();
  }

  /** The link to a worker; `undefined` while the directory is missing, or another user could access it and get the secret. */
  #linkTo(path: string): HopLink | undefined {
    const knownLink = this.#links.get(path);
    if (knownLink !== undefined && !knownLink.isReplaced) return knownLink;
    if (!isPrivateFolder(this.#directory)) return undefined;
    const link = new HopLink(path, this.#secret, this.#logger);
    this.#links.set(path, link);
    this.#replacedLinks = this.#replacedLinks.filter(({ isClosed }) => !isClosed);
    if (knownLink?.isClosed === false) this.#replacedLinks.push(knownLink);
    return link;
  }
}

// Connects a worker to its predecessor in the slot, which finishes its requests after a reload: their cancellations, and some of their
// answers, arrive here, and are forwarded to it. Cold path.

/** Time from a worker's start in which messages wait until its predecessor listens. After that, the predecessor counts as gone. */
const PREDECESSOR_WAIT_MS_MAX = 5_000;

/** The path where a replaced worker listens. It is as long as `hopSocketPath`, whose length is checked at the start. */
export function predecessorSocketPath(directory: string, slot: number): string {
  return join(directory, `past-${slot}.sock`);
}

export class Predecessor {
  readonly #hops: Hops;
  readonly #path: string;
  readonly #createdAtMs = performance.now();
  /** Whether there was no predecessor, or it has ended: at the latest when this worker is replaced itself, and listens at that path. */
  isGone = false;
  readonly #waiting = new RequestsAwaitingOwner(new Quota(hopBounds.predecessorMessagesMax));

  constructor(hops: Hops, path: string) {
    this.#hops = hops;
    this.#path = path;
  }

  /** Forwards a message; the response is ignored. @param onDone called once, when the memory of the message is free. */
  send(identity: ForwardedIdentity, request: ExchangeRequest, onDone: () => void): void {
    if (this.isGone || this.#hops.isClosed) return onDone();
    const exchange = new CallerlessExchange(request);
    exchange.onDone = onDone;
    this.#hops.forwardTo(this.#path, identity, exchange, (failure) => {
      // If nobody listens at the path, the predecessor may not listen yet.
      const isAbsent = failure === 'owner-absent';
      this.isGone ||= isAbsent && performance.now() - this.#createdAtMs >= PREDECESSOR_WAIT_MS_MAX;
      const retry = (): void => this.send(identity, request, onDone);
      if (!isAbsent || this.isGone || !this.#waiting.tryWait(identity.subject, this.#createdAtMs, retry)) onDone();
    });
  }
}
