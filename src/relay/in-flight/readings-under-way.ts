// The large messages of a session that are being parsed, slice by slice. Other messages overtake them meanwhile. A cancellation
// that finds no request may be for a message that is still being parsed, so it waits until those that arrived before it have been parsed.
import { limits } from '../../shared/limits.js';

interface WaitingNotice {
  /** Number of the last message before this notice, and how many of the messages before it are still being parsed. */
  readonly lastBefore: number;
  readingsLeft: number;
  readonly tryIt: () => boolean;
}

/** The number of every part of a batch: every waiting notice waits for it too. */
const PART_NUMBER = 0;

export class ReadingsUnderWay {
  #count = 0;
  #lastNumber = 0;
  #notices: WaitingNotice[] = [];

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /**
   * @param isPart whether it belongs to a batch that is being handled: notices that wait for the batch wait for this part too.
   * @returns the message's number.
   */
  begin(isPart = false): number {
    this.#count += 1;
    if (!isPart) return ++this.#lastNumber;
    for (const notice of this.#notices) notice.readingsLeft += 1;
    return PART_NUMBER;
  }

  /** The message has been parsed, and its request, if it is one, is in flight. */
  end(number: number): void {
    this.#count -= 1;
    if (this.#notices.length === 0) return;
    this.#notices = this.#notices.filter((notice) => {
      if (number > notice.lastBefore) return true;
      notice.readingsLeft -= 1;
      return !notice.tryIt() && notice.readingsLeft > 0;
    });
  }

  /** @param tryIt called each time one of the messages has been parsed, until it returns true or none is left. */
  wait(tryIt: () => boolean): void {
    // No more notices are kept than a session can have requests for them to cancel.
    if (this.#count === 0 || this.#notices.length >= limits.sessionRequestsInFlightMax) return;
    this.#notices.push({ lastBefore: this.#lastNumber, readingsLeft: this.#count, tryIt });
  }
}
