// The last TLS session with each origin, with which the next connection needs no full handshake. A session is kept only for as long as
// certificates may go unchecked, and dropped when a handshake with it fails. Cold path.
import { KIB } from '../shared/index.js';

/** TLS sessions that a worker keeps for resumption, one per origin. Beyond it, the oldest is dropped. */
export const TLS_SESSIONS_MAX = 4_096;
/** Bytes of one TLS session. A larger one is not kept. */
export const TLS_SESSION_BYTES_MAX = 16 * KIB;
/**
 * Time that a TLS session is resumed, during which the certificate is not checked again. After it, the next connection makes a full
 * handshake.
 */
export const TLS_SESSION_MS_MAX = 3_600_000;

interface KeptSession {
  readonly session: Buffer;
  readonly keptAtMs: number;
}

export class TlsSessions {
  readonly #kept = new Map<string, KeptSession>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  get count(): number {
    return this.#kept.size;
  }

  find(origin: string): Buffer | undefined {
    const kept = this.#kept.get(origin);
    if (kept === undefined) return undefined;
    if (this.#nowMs() - kept.keptAtMs < TLS_SESSION_MS_MAX) return kept.session;
    this.#kept.delete(origin);
    return undefined;
  }

  keep(origin: string, session: Buffer): void {
    if (session.length > TLS_SESSION_BYTES_MAX) return;
    // Moved to the end, so that the first entry is the oldest.
    this.#kept.delete(origin);
    this.#kept.set(origin, { session, keptAtMs: this.#nowMs() });
    if (this.#kept.size <= TLS_SESSIONS_MAX) return;
    for (const oldest of this.#kept.keys()) {
      this.#kept.delete(oldest);
      return;
    }
  }

  drop(origin: string): void {
    this.#kept.delete(origin);
  }
}
