// Requests whose session's owner has no process at the moment: the owner is being restarted and will continue its sessions, so the
// requests are retried a little later. Nothing of them was sent anywhere. Cold path: only after a worker has died.
import { BoundedCounts } from '../../shared/bounded-counts.js';
import { limits } from '../../shared/limits.js';

export class OwnerWaits {
  readonly #counts = new BoundedCounts({ totalMax: limits.ownerWaitsMax, perKeyMax: limits.ownerWaitsPerSubjectMax });

  /**
   * @param sinceMs when the request was first passed on, on the clock of `performance.now()`.
   * @param again called later to retry.
   * @returns false when it has waited long enough, or when too many requests wait, of its subject or in total.
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
