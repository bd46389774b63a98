// Which eras of MCP a backend has shown that it does not speak: remembered for a limited time, since backends get upgraded. Cold path:
// asked once per opening.
import type { Era } from '../../mcp/index.js';

/**
 * Time that a backend's era and the capabilities of one without sessions are remembered; the backend may be replaced. After that, it is
 * asked again.
 */
export const ERA_KNOWN_MS = 600_000;

export class EraMemory {
  /** Whether the backend kept no session for the client of the modern era for which it was opened last. Hot path. */
  isSessionless = false;
  readonly #refusedAtMs: Record<Era, number> = { legacy: -Infinity, modern: -Infinity };

  /** The era to try first. @param preferred the client's era, in which nothing has to be bridged. */
  firstOf(preferred: Era, nowMs: number): Era {
    const other = otherEra(preferred);
    return this.isRefused(preferred, nowMs) && !this.isRefused(other, nowMs) ? other : preferred;
  }

  /** The backend has shown that it does not speak the era. */
  onRefused(era: Era, nowMs: number): void {
    this.#refusedAtMs[era] = nowMs;
    if (era === 'modern') this.isSessionless = false;
  }

  /** The backend has refused a request of the era in which it was opened: the other one is tried first, though it may be refused, too. */
  onRefusedOnly(era: Era, nowMs: number): void {
    this.forget();
    this.onRefused(era, nowMs);
  }

  /** The backend has answered in the era. */
  onSpoken(era: Era): void {
    this.#refusedAtMs[era] = -Infinity;
  }

  /** The backend may no longer speak the era it spoke: everything known about it is discarded. */
  forget(): void {
    this.onSpoken('legacy');
    this.onSpoken('modern');
  }

  isRefused(era: Era, nowMs: number): boolean {
    return nowMs - this.#refusedAtMs[era] < ERA_KNOWN_MS;
  }
}

export function otherEra(era: Era): Era {
  return era === 'legacy' ? 'modern' : 'legacy';
}
