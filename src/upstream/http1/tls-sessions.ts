// The last TLS session with each origin, with which the next connection needs no full handshake. A session is kept only for as long as
// certificates may go unchecked, and dropped when a handshake with it fails. Cold path.
import { limits } from '../../shared/limits.js';

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
    if (this.#nowMs() - kept.keptAtMs < limits.tlsSessionMsMax) return kept.session;
    this.#kept.delete(origin);
    return undefined;
  }

  keep(origin: string, session: Buffer): void {
    if (session.length > limits.tlsSessionBytesMax) return;
    // Moved to the end, so that the first entry is the oldest.
    this.#kept.delete(origin);
    this.#kept.set(origin, { session, keptAtMs: this.#nowMs() });
    if (this.#kept.size <= limits.tlsSessionsMax) return;
    for (const oldest of this.#kept.keys()) {
      this.#kept.delete(oldest);
      return;
    }
  }

  drop(origin: string): void {
    this.#kept.delete(origin);
  }
}
