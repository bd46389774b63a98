// What one session weighs in its subject's share of session bytes: an estimate that grows with what caller and backends
// say of themselves, which is kept for as long as the session is.
import type { Account } from '../../shared/accounts.js';
import { limits } from '../../shared/limits.js';
import type { CompiledVirtualHost } from '../../user-config/compiled-config.js';
import { introductionBytes, type ClientIntroduction } from '../../upstream/session/client-introduction.js';
import type { SessionShare } from '../../upstream/session/session-share.js';

/** V8 takes two bytes for each character as soon as one of them is outside Latin-1. */
const CHAR_BYTES = 2;

/** What a session with these backends weighs at first, all of which may be opened. */
export function sessionBytesOf(virtualHost: CompiledVirtualHost, introduction: ClientIntroduction): number {
  const upstreamBytes = virtualHost.backends.size * limits.upstreamSessionBytesEach;
  return limits.sessionBytesEach + introductionBytes(introduction) + upstreamBytes;
}

export class SessionMemory implements SessionShare {
  readonly #account: Account;
  #keptBytes = 0;
  #isOver = false;

  constructor(account: Account, introduction: ClientIntroduction) {
    this.#account = account;
    this.keep(limits.sessionBytesEach + introductionBytes(introduction));
  }

  /** For what has to be kept. */
  keep(bytes: number): void {
    if (this.#isOver) return;
    this.#keptBytes += bytes;
    this.#account.sessionBytes.take(bytes);
  }

  /**
   * For words that the session can do without.
   * @returns their weight, which is to be dropped with them; `undefined` when there is no room for them.
   */
  tryKeepText(text: string): number | undefined {
    const bytes = text.length * CHAR_BYTES;
    if (this.#account.sessionBytes.boundAgainst(bytes) !== undefined) return undefined;
    this.keep(bytes);
    return bytes;
  }

  hasRoomFor(bytes: number): boolean {
    return this.#account.sessionBytes.boundAgainst(bytes) === undefined;
  }

  drop(bytes: number): void {
    if (this.#isOver) return;
    this.#keptBytes -= bytes;
    this.#account.sessionBytes.give(bytes);
  }

  /** The session is over, and with it all that it keeps: what comes late weighs nothing. */
  dropAll(): void {
    this.drop(this.#keptBytes);
    this.#isOver = true;
  }
}
