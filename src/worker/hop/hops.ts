// The way from this worker to the owners of sessions that are not its own: one link for each of them, opened when first
// needed and opened anew after it was lost.
import assert from 'node:assert';
import { join } from 'node:path';
import type { Exchange } from '../../relay/exchange/exchange.js';
import type { Logger } from '../../shared/logger.js';
import { isPrivateFolder } from '../../shared/standing-socket.js';
import type { HopFailure } from './call.js';
import type { ForwardedIdentity } from './heads.js';
import { HopLink } from './link.js';

/** Where a slot's hop listener is found. */
export function hopSocketPath(directory: string, slot: number): string {
  return join(directory, `slot-${slot}.sock`);
}

export class Hops {
  readonly #directory: string;
  #ownSlot: number | undefined;
  readonly #secret: Uint8Array;
  readonly #logger: Logger;
  /** By owner; as many as there are slots at most. */
  readonly #links = new Map<number, HopLink>();
  /** To owners that have successors, until they are closed. */
  #leftLinks: HopLink[] = [];
  #isClosed = false;

  constructor(directory: string, ownSlot: number, secret: Uint8Array, logger: Logger) {
    this.#directory = directory;
    this.#ownSlot = ownSlot;
    this.#secret = secret;
    this.#logger = logger;
  }

  /**
   * Passes a request on to its owner, whose answer is given to the exchange. From here on the hop sets the exchange's
   * `onDrain` and `onAbort`; it lets go of both before it reports a failure.
   * @param onFailure is called when there will be no answer and none has begun: the exchange is still to be answered.
   *   An answer that breaks after it began is cut off.
   */
  forward(owner: number, hop: ForwardedIdentity, exchange: Exchange, onFailure: (failure: HopFailure) => void): void {
    assert(owner !== this.#ownSlot, 'a worker does not hop to itself');
    if (this.#isClosed) onFailure('owner-absent');
    else {
      const link = this.#linkTo(owner);
      // The owner may well live: it makes its socket again when the directory is back.
      if (link === undefined) onFailure('owner-lost');
      else link.forward(hop, exchange, onFailure);
    }
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** This worker has a successor, which owns the slot: from now on it is another's, like the others. */
  leaveOwnSlot(): void {
    this.#ownSlot = undefined;
  }

  /** Ends every link; the hops on them fail. */
  close(): void {
    this.#isClosed = true;
    for (const link of this.#leftLinks) link.close();
    for (const link of this.#links.values()) link.close();
  }

  /** `undefined` while the directory is gone. Whoever puts another in its place must not be told the secret. */
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
