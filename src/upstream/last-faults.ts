// The last failure at each origin, of any caller's request or opening, shown to operators. Bounded. Cold path: written only when something
// fails.
import type { CompiledBackend } from '../user-config/compiled-config.js';
import { faultReason, type UpstreamFault } from './http/upstream-fault.js';

/** Backend origins whose last failure a worker remembers. Beyond it, the oldest is forgotten. */
const LAST_FAULTS_KEPT = 1_024;

export interface LastFault {
  /** The backend's name in the config of the caller whose request failed. */
  readonly backend: string;
  readonly kind: string;
  /** Contains no address. */
  readonly reason: string;
  readonly during: 'request' | 'opening';
  /** ISO 8601. */
  readonly at: string;
}

export class LastFaults {
  /** By origin, oldest first. */
  readonly #faults = new Map<string, LastFault>();

  note(backend: CompiledBackend, fault: UpstreamFault, during: LastFault['during']): void {
    const { origin } = backend.target;
    this.#faults.delete(origin);
    if (this.#faults.size >= LAST_FAULTS_KEPT) {
      for (const oldest of this.#faults.keys()) {
        this.#faults.delete(oldest);
        break;
      }
    }
    const { kind } = fault;
    this.#faults.set(origin, {
      ...{ backend: backend.name, kind, reason: faultReason(fault), during },
      at: new Date().toISOString(),
    });
  }

  of(origin: string): LastFault | undefined {
    return this.#faults.get(origin);
  }
}
