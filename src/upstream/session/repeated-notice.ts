// A notification without varying content: while one is being sent, any number of further ones are combined into one more.

/** @param onDone called once, when the notice was sent or cannot be. */
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
