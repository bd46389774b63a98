// The last failure at each origin, for operators: of requests and of openings, whoever's they were. Bounded; cold, as it is written
// when something has failed.
import { limits } from '../shared/limits.js';
import type { CompiledBackend } from '../user-config/compiled-config.js';
import { faultReason, type UpstreamFault } from './http/upstream-fault.js';

export interface LastFault {
  /** As one config names the backend. */
  readonly backend: string;
  readonly kind: string;
  /** Names no address. */
  readonly reason: string;
  readonly during: 'request' | 'opening';
  /** ISO 8601. */
  readonly at: string;
}

export class LastFaults {
  /** By origin, the oldest first. */
  readonly #faults = new Map<string, LastFault>();

  note(backend: CompiledBackend, fault: UpstreamFault, during: LastFault['during']): void {
    const { origin } = backend.target;
    this.#faults.delete(origin);
    if (this.#faults.size >= limits.lastFaultsKept) {
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
