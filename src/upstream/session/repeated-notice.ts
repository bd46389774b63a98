// A notification that says the same however often it comes: while it is being sent, any number of further ones are one more.

/** @param onDone called once, when it was sent or cannot be. */
export type SendNotice = (onDone: () => void) => void;

export class RepeatedNotice {
  #isUnderWay = false;
  #next: SendNotice | undefined;

  send(notice: SendNotice): void {
    if (this.#isUnderWay) {
      this.#next = notice;
      return;
    }
    this.#isUnderWay = true;
    notice(() => {
      this.#isUnderWay = false;
      const next = this.#next;
      this.#next = undefined;
      if (next !== undefined) this.send(next);
    });
  }
}
