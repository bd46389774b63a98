// The large messages of a session that are being read, slice by slice. Others overtake them meanwhile, and may be about
// them: nobody knows yet what they are, so a notice that finds no request waits for those that were there before it.
import { limits } from '../../shared/limits.js';

interface WaitingNotice {
  /** The last message that came before it, and how many of those are still being read. */
  readonly lastBefore: number;
  readingsLeft: number;
  readonly tryIt: () => boolean;
}

/** No notice came before it. */
const PART_NUMBER = 0;

export class ReadingsUnderWay {
  #count = 0;
  #lastNumber = 0;
  #notices: WaitingNotice[] = [];

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /**
   * @param isPart of a batch that is under way: what waits for that waits for it too.
   * @returns the message's number.
   */
  begin(isPart = false): number {
    this.#count += 1;
    if (!isPart) return ++this.#lastNumber;
    for (const notice of this.#notices) notice.readingsLeft += 1;
    return PART_NUMBER;
  }

  /** The message has been read, and what it asks for is under way. */
  end(number: number): void {
    this.#count -= 1;
    if (this.#notices.length === 0) return;
    this.#notices = this.#notices.filter((notice) => {
      if (number > notice.lastBefore) return true;
      notice.readingsLeft -= 1;
      return !notice.tryIt() && notice.readingsLeft > 0;
    });
  }

  /** @param tryIt called as messages turn out what they are, until it answers true or none is left. */
  wait(tryIt: () => boolean): void {
    // No more of them than requests that they could be about.
    if (this.#count === 0 || this.#notices.length >= limits.sessionRequestsInFlightMax) return;
    this.#notices.push({ lastBefore: this.#lastNumber, readingsLeft: this.#count, tryIt });
  }
}
