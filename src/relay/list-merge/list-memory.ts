// The bytes of large lists, as the subjects whose lists they are share them: answers on their way to the list thread, what
// it keeps, and merged lists that their callers have not read yet. Small lists are not counted: requests in flight are.
import type { Accounts } from '../../shared/accounts.js';
import type { ShareBound } from '../../shared/share.js';

export class ListMemory {
  readonly #accounts: Accounts;

  /** An account is looked up for each step: a list may be there still when its session and all else of its subject is gone. */
  constructor(accounts: Accounts) {
    this.#accounts = accounts;
  }

  /** @returns `undefined` when it was taken, else the bound that has no room. */
  tryTake(subject: string, bytes: number): ShareBound | undefined {
    return this.#accounts.of(subject).listBytes.tryTake(bytes);
  }

  /** For what takes the place of something else. */
  take(subject: string, bytes: number): void {
    this.#accounts.of(subject).listBytes.take(bytes);
  }

  give(subject: string, bytes: number): void {
    this.#accounts.of(subject).listBytes.give(bytes);
  }
}
