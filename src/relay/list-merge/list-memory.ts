// The bytes of large lists, as the subjects whose lists they are share them: answers on their way to the list thread, what
// it keeps, and merged lists that their callers have not read yet. Small lists are not counted: requests in flight are.
//
// What is dropped comes back once the thread has let go of it. Whoever finds no room meanwhile waits for that, as long as what is on
// its way is enough for all who wait: else lists that are read side by side would be refused one after the other, each for want of
// what the one before has just given up, and nobody would have any.
import type { Accounts } from '../../shared/accounts.js';
import type { ShareBound } from '../../shared/share.js';

interface Waiting {
  readonly bytes: number;
  readonly done: (bound: ShareBound | undefined) => void;
}

/** Of one subject: what is on its way back, and who waits, the first first. */
interface Line {
  returningBytes: number;
  waitingBytes: number;
  readonly waiting: Waiting[];
}

export class ListMemory {
  readonly #accounts: Accounts;
  /** Of subjects of whom something is on its way back or waits, in the order of their turns. */
  readonly #lines = new Map<string, Line>();
  #returningBytes = 0;
  #waitingBytes = 0;
  #waitingCount = 0;

  /** An account is looked up for each step: a list may be there still when its session and all else of its subject is gone. */
  constructor(accounts: Accounts) {
    this.#accounts = accounts;
  }

  /**
   * Takes memory, at once or when what is on its way back is there.
   * @param done called once, unless the wait is left: with the bound that has no room, or `undefined` when it was taken. From within
   *   when that is known at once.
   * @returns leaves the wait; does nothing after `done`.
   */
  whenTaken(subject: string, bytes: number, done: (bound: ShareBound | undefined) => void): () => void {
    const bound = this.#accounts.of(subject).listBytes.tryTake(bytes);
    if (bound === undefined || !this.#isEnoughReturning(subject, bytes)) {
      done(bound);
      return () => {};
    }
    const line = this.#lineOf(subject);
    const waiting = { bytes, done };
    line.waiting.push(waiting);
    this.#count(line, bytes, 1);
    return () => this.#leave(subject, line, waiting);
  }

  /** For what takes the place of something else. */
  take(subject: string, bytes: number): void {
    this.#accounts.of(subject).listBytes.take(bytes);
  }

  give(subject: string, bytes: number): void {
    this.#accounts.of(subject).listBytes.give(bytes);
    this.#giveTurns();
  }

  /** It is on its way back. @returns gives it, to be called once. */
  returning(subject: string, bytes: number): () => void {
    const line = this.#lineOf(subject);
    line.returningBytes += bytes;
    this.#returningBytes += bytes;
    return () => {
      line.returningBytes -= bytes;
      this.#returningBytes -= bytes;
      this.#forgetIfIdle(subject, line);
      this.give(subject, bytes);
    };
  }

  /** Whether what is on its way back makes room for so much, beside those who wait already. */
  #isEnoughReturning(subject: string, bytes: number): boolean {
    const { returningBytes = 0, waitingBytes = 0 } = this.#lines.get(subject) ?? {};
    const own = returningBytes - waitingBytes;
    const all = this.#returningBytes - this.#waitingBytes;
    return this.#accounts.of(subject).listBytes.willHaveRoomFor(bytes, own, all);
  }

  /** Each subject's first, in turn, for as long as there is room; those for whom there will be none hear it. */
  #giveTurns(): void {
    if (this.#waitingCount === 0) return;
    // A line that has had its turn goes to the end, and is met again.
    for (const [subject, line] of this.#lines) {
      const first = line.waiting[0];
      if (first === undefined) continue;
      const { listBytes } = this.#accounts.of(subject);
      const bound = listBytes.boundAgainst(first.bytes);
      const isToWait = listBytes.willHaveRoomFor(first.bytes, line.returningBytes, this.#returningBytes);
      if (bound !== undefined && isToWait) continue;
      if (bound === undefined) listBytes.take(first.bytes);
      this.#lines.delete(subject);
      this.#lines.set(subject, line);
      this.#leave(subject, line, first);
      first.done(bound);
    }
  }

  #leave(subject: string, line: Line, waiting: Waiting): void {
    const at = line.waiting.indexOf(waiting);
    if (at === -1) return;
    line.waiting.splice(at, 1);
    this.#count(line, -waiting.bytes, -1);
    this.#forgetIfIdle(subject, line);
  }

  #count(line: Line, bytes: number, count: number): void {
    line.waitingBytes += bytes;
    this.#waitingBytes += bytes;
    this.#waitingCount += count;
  }

  #lineOf(subject: string): Line {
    const known = this.#lines.get(subject);
    if (known !== undefined) return known;
    const line = { returningBytes: 0, waitingBytes: 0, waiting: [] };
    this.#lines.set(subject, line);
    return line;
  }

  #forgetIfIdle(subject: string, line: Line): void {
    const isIdle = line.returningBytes === 0 && line.waiting.length === 0;
    if (isIdle && this.#lines.get(subject) === line) this.#lines.delete(subject);
  }
}
