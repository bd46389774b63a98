// Connects a worker to its predecessor in the slot, which is finishing its work after a reload: cancellations of requests that are
// in flight there reach the successor first. Cold path.
import { join } from 'node:path';
import { type ExchangeRequest, CallerlessExchange } from '../../exchange/index.js';
import { Quota } from '../../fair/index.js';
import type { Logger } from '../../shared/index.js';
import type { ForwardedIdentity } from './heads.js';
import { RequestsAwaitingOwner } from './hops.js';
import { HopLink } from './link.js';
import { hopBounds } from './frames.js';

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
  pass(hop: ForwardedIdentity, request: ExchangeRequest): void {
    if (this.#isGone) return;
    if (this.#link === undefined || this.#link.isLeft) this.#link = new HopLink(this.#path, this.#secret, this.#logger);
    this.#link.forward(hop, new CallerlessExchange(request), (failure) => {
      if (failure === 'owner-absent') this.#onAbsent(hop, request);
    });
  }

  /** The predecessor may not know yet that it has a successor. */
  #onAbsent(hop: ForwardedIdentity, request: ExchangeRequest): void {
    if (performance.now() - this.#startedAtMs >= PREDECESSOR_WAIT_MS_MAX) this.#isGone = true;
    if (!this.#isGone) this.#waits.tryWait(hop.subject, this.#startedAtMs, () => this.pass(hop, request));
  }

  close(): void {
    this.#isGone = true;
    this.#link?.close();
  }
}
