// What one session adds to its subject's share of session bytes: an estimate that grows with what the client and the backends declare,
// which is kept as long as the session.
import { type Account, SESSION_BYTES_EACH } from '../fair/index.js';
import type { CompiledVirtualHost } from '../user-config/index.js';
import { introductionBytes, type ClientIntroduction, type MessageBudget } from '../upstream/index.js';

/**
 * What an upstream session adds to the shares of session bytes, beside the backend's instructions and session id. Measured: a session with
 * five backends took 12.7 KiB.
 */
export const UPSTREAM_SESSION_BYTES_EACH = 1_664;

/** The bytes of a character: V8 takes two for each as soon as one of them is outside Latin-1. */
const CHAR_BYTES = 2;

export function estimatedSessionBytes(virtualHost: CompiledVirtualHost, introduction: ClientIntroduction): number {
  const upstreamBytes = virtualHost.backends.size * UPSTREAM_SESSION_BYTES_EACH;
  return SESSION_BYTES_EACH + introductionBytes(introduction) + upstreamBytes;
}

export class SessionMemory implements MessageBudget {
  readonly #account: Account;
  #keptBytes = 0;
  #isOver = false;

  constructor(account: Account, introduction: ClientIntroduction) {
    this.#account = account;
    this.keep(SESSION_BYTES_EACH + introductionBytes(introduction));
  }

  /** Counts bytes that must be kept, even if that exceeds the limits. */
  keep(bytes: number): void {
    if (this.#isOver) return;
    this.#keptBytes += bytes;
    this.#account.sessionBytes.take(bytes);
  }

  /** Counts a text that the session can do without. @returns its bytes, for `drop`; `undefined` when there is no room for it. */
  tryKeepText(text: string): number | undefined {
    const bytes = text.length * CHAR_BYTES;
    if (!this.hasRoomFor(bytes)) return undefined;
    this.keep(bytes);
    return bytes;
  }

  hasRoomFor(bytes: number): boolean {
    return this.#account.sessionBytes.boundExceededBy(bytes) === undefined;
  }

  drop(bytes: number): void {
    if (this.#isOver) return;
    this.#keptBytes -= bytes;
    this.#account.sessionBytes.give(bytes);
  }

  dropAll(): void {
    this.drop(this.#keptBytes);
    this.#isOver = true;
  }
}
