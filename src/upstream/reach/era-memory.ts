// Which eras of MCP a backend has shown that it does not speak: remembered for a limited time, since backends get upgraded. Cold path:
// asked once per opening.
import type { Era } from '../../protocol/protocol-versions.js';
import { limits } from '../../shared/limits.js';

export class EraMemory {
  readonly #refusedAtMs: Record<Era, number> = { legacy: -Infinity, modern: -Infinity };
  #askedAtMs = -Infinity;

  /** The era to try first. @param preferred the client's era, in which nothing has to be bridged. */
  firstOf(preferred: Era, nowMs: number): Era {
    const other = otherEra(preferred);
    return this.#isRefused(preferred, nowMs) && !this.#isRefused(other, nowMs) ? other : preferred;
  }

  /**
   * Whether to ask the backend which eras it speaks, before it is spoken to as clients with sessions do: only one opening per interval
   * asks, and none while the answer is known. A caller that gets true must ask.
   */
  tryAsk(nowMs: number): boolean {
    if (nowMs - this.#askedAtMs < limits.eraKnownMs || this.#isRefused('modern', nowMs)) return false;
    this.#askedAtMs = nowMs;
    return true;
  }

  /** The question had no outcome: the next opening asks again. */
  onUnasked(): void {
    this.#askedAtMs = -Infinity;
  }

  /** The backend has shown that it does not speak the era. */
  onRefused(era: Era, nowMs: number): void {
    this.#refusedAtMs[era] = nowMs;
  }

  /** The backend has answered in the era. */
  onSpoken(era: Era): void {
    this.#refusedAtMs[era] = -Infinity;
  }

  /** The backend no longer speaks the era it spoke: everything known about it is discarded. */
  forget(): void {
    this.onSpoken('legacy');
    this.onSpoken('modern');
    this.onUnasked();
  }

  #isRefused(era: Era, nowMs: number): boolean {
    return nowMs - this.#refusedAtMs[era] < limits.eraKnownMs;
  }
}

export function otherEra(era: Era): Era {
  return era === 'legacy' ? 'modern' : 'legacy';
}
