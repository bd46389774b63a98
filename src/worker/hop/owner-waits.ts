// Requests whose session's owner has no process at the moment: it is being started again and goes on with its sessions, so they
// are passed on a little later. Nothing of them has been sent anywhere. Cold: only after a worker has died.
import { limits } from '../../shared/limits.js';

export class OwnerWaits {
  readonly #counts = new Map<string, number>();
  #count = 0;

  /**
   * @param sinceMs when it was first passed on, on the clock of `performance.now()`.
   * @param again called later.
   * @returns false when it has waited for long enough, or too many wait, of its subject or of all.
   */
  tryWait(subject: string, sinceMs: number, again: () => void): boolean {
    const count = this.#counts.get(subject) ?? 0;
    if (this.#count >= limits.ownerWaitsMax || count >= limits.ownerWaitsPerSubjectMax) return false;
    if (performance.now() - sinceMs >= limits.ownerWaitMsMax) return false;
    this.#count += 1;
    this.#counts.set(subject, count + 1);
    setTimeout(() => {
      this.#leave(subject);
      again();
    }, limits.ownerRetryMs);
    return true;
  }

  #leave(subject: string): void {
    this.#count -= 1;
    const count = (this.#counts.get(subject) ?? 0) - 1;
    if (count > 0) this.#counts.set(subject, count);
    else this.#counts.delete(subject);
  }
}
