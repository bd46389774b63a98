// Connects this worker to the owners of other workers' sessions: one link per owner, opened when first needed and reopened after
// it is lost. Requests whose owner is being restarted wait here.
import { join } from 'node:path';
import type { Exchange } from '../../exchange/index.js';
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
   * @param again called later to retry.
   * @returns false when it has waited long enough, or when too many requests wait, of its subject or in total.
   */
  tryWait(subject: string, sinceMs: number, again: () => void): boolean {
    if (performance.now() - sinceMs >= limits.ownerWaitMsMax || !this.#waiting.tryTake(subject)) return false;
    setTimeout(() => {
      this.#waiting.give(subject);
      again();
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
   * @param onFailure is called when no answer has begun and none will come: the exchange still
   * needs an answer. An answer that breaks after it began is cut off.
   */
  forward(owner: number, hop: ForwardedIdentity, exchange: Exchange, onFailure: (failure: HopFailure) => void): void {
    if (this.#isClosed) onFailure('owner-absent');
    else {
      const link = this.#linkTo(owner);
      // The owner may be alive: it makes its socket again when the directory is back.
      if (link === undefined) onFailure('owner-lost');
      else link.forward(hop, exchange, onFailure);
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
    const present = this.#links.get(owner);
    if (present !== undefined && !present.isLeft) return present;
    if (!isPrivateFolder(this.#directory)) return undefined;
    const link = new HopLink(hopSocketPath(this.#directory, owner), this.#secret, this.#logger);
    this.#links.set(owner, link);
    this.#leftLinks = this.#leftLinks.filter(({ isClosed }) => !isClosed);
    if (present?.isClosed === false) this.#leftLinks.push(present);
    return link;
  }
}
