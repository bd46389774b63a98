// Which era of MCP a backend has shown that it does not speak: remembered for a limited time, since backends get upgraded. Cold path:
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
  /** The era that the backend was last found not to speak. */
  #refused: Era | undefined;
  #refusedAtMs = 0;

  /** The era to try first. @param preferred the client's era, in which nothing has to be bridged. */
  firstOf(preferred: Era, nowMs: number): Era {
    const isRefused = this.#refused === preferred && nowMs - this.#refusedAtMs < ERA_KNOWN_MS;
    return isRefused ? otherEra(preferred) : preferred;
  }

  /** The backend has shown that it does not speak the era, whatever it was found to speak before. */
  onRefused(era: Era, nowMs: number): void {
    this.#refused = era;
    this.#refusedAtMs = nowMs;
    if (era === 'modern') this.isSessionless = false;
  }

  /** The backend has answered in the era. */
  onSpoken(era: Era): void {
    if (this.#refused === era) this.#refused = undefined;
  }

  /** The backend may no longer speak the era it spoke: everything known about it is discarded. */
  forget(): void {
    this.#refused = undefined;
  }
}

export function otherEra(era: Era): Era {
  return era === 'legacy' ? 'modern' : 'legacy';
}
