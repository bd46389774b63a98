// Requests whose session's owner has no process at the moment: it is being started again and goes on with its sessions, so they
// are passed on a little later. Nothing of them has been sent anywhere. Cold: only after a worker has died.
import { BoundedCounts } from '../../shared/bounded-counts.js';
import { limits } from '../../shared/limits.js';

export class OwnerWaits {
  readonly #counts = new BoundedCounts({ totalMax: limits.ownerWaitsMax, perKeyMax: limits.ownerWaitsPerSubjectMax });

  /**
   * @param sinceMs when it was first passed on, on the clock of `performance.now()`.
   * @param again called later.
   * @returns false when it has waited for long enough, or too many wait, of its subject or of all.
   */
  tryWait(subject: string, sinceMs: number, again: () => void): boolean {
    if (performance.now() - sinceMs >= limits.ownerWaitMsMax || !this.#counts.tryAdd(subject)) return false;
    setTimeout(() => {
      this.#counts.remove(subject);
      again();
    }, limits.ownerRetryMs);
    return true;
  }
}
