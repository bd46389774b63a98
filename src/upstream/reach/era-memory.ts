// Which eras of MCP a backend's answers have shown that it does not speak: for a while, since backends are replaced by newer ones.
// Cold: asked once per opening.
import type { Era } from '../../protocol/protocol-versions.js';
import { limits } from '../../shared/limits.js';

export class EraMemory {
  readonly #refusedAtMs: Record<Era, number> = { legacy: -Infinity, modern: -Infinity };
  #askedAtMs = -Infinity;

  /** The era to ask in first. @param preferred that of the client, in which nothing has to be bridged. */
  firstOf(preferred: Era, nowMs: number): Era {
    const other = otherEra(preferred);
    return this.#isRefused(preferred, nowMs) && !this.#isRefused(other, nowMs) ? other : preferred;
  }

  /**
   * Whether the backend is to be asked what it speaks, before it is spoken to as clients with sessions do: by one opening in a while, not by
   * each, and not where it is known. Whoever is told so asks.
   */
  tryAsk(nowMs: number): boolean {
    if (nowMs - this.#askedAtMs < limits.eraKnownMs || this.#isRefused('modern', nowMs)) return false;
    this.#askedAtMs = nowMs;
    return true;
  }

  /** Nothing came of it: the next opening asks. */
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

  /** It does not speak any more what it spoke: nothing is known. */
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
