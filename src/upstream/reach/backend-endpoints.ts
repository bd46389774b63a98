// All endpoints that a relay knows, and the circuits of their origins, both bounded. One look-up per upstream session.
import type { DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import type { UpstreamTarget } from '../../user-config/upstream-target.js';
import type { HttpUpstream } from '../http/http-upstream.js';
import type { UpstreamFault } from '../http/upstream-fault.js';
import type { CircuitState } from './circuit-state.js';
import { BackendEndpoint } from './backend-endpoint.js';
import type { Forgiven } from './forgiven.js';
import { OriginCircuit, type CircuitContext } from './origin-circuit.js';

/** Backend URLs whose reachability is remembered, per worker. Beyond it, the oldest is forgotten, and learned again. */
export const ENDPOINTS_MAX = 16_384;
/** Probes in progress at once, per worker. Beyond it, further origins wait for their next turn. */
export const ORIGIN_PROBES_MAX = 64;

export interface BackendEndpointsOptions {
  readonly http: HttpUpstream;
  readonly deadlines: DeadlineWheel;
  readonly connectTimeoutMs: number;
  readonly nowMs: () => number;
  readonly random?: () => number;
}

/** Whether an origin can be reached, and the fault if not. */
export interface OriginView {
  readonly origin: string;
  readonly state: CircuitState;
  readonly fault: UpstreamFault | undefined;
  /** How often each thing was forgiven of its answers (forgiven.ts); `undefined` for nothing. */
  readonly forgiven: Readonly<Partial<Record<Forgiven, number>>> | undefined;
}

export class BackendEndpoints {
  readonly #context: CircuitContext;
  /** Both maps: oldest first. */
  readonly #circuits = new Map<string, OriginCircuit>();
  readonly #endpoints = new Map<string, BackendEndpoint>();
  #probeCount = 0;

  constructor({ http, deadlines, connectTimeoutMs, nowMs, random = Math.random }: BackendEndpointsOptions) {
    this.#context = {
      http,
      deadlines,
      connectTimeoutMs,
      nowMs,
      random,
      tryBeginProbe: () => {
        if (this.#probeCount >= ORIGIN_PROBES_MAX) return false;
        this.#probeCount += 1;
        return true;
      },
      endProbe: () => {
        this.#probeCount -= 1;
      },
    };
  }

  of({ origin, path }: UpstreamTarget): BackendEndpoint {
    const key = origin + path;
    let endpoint = this.#endpoints.get(key);
    if (endpoint === undefined) {
      // Sessions that hold the dropped endpoint continue to use it; others start without its knowledge.
      dropOldest(this.#endpoints, ENDPOINTS_MAX);
      endpoint = new BackendEndpoint(this.#circuitOf(origin));
      this.#endpoints.set(key, endpoint);
    }
    return endpoint;
  }

  /** For operators. */
  get origins(): readonly OriginView[] {
    return Array.from(this.#circuits, ([origin, { state, fault, forgiven }]) => ({ origin, state, fault, forgiven }));
  }

  /** Ends every probe. */
  stop(): void {
    for (const circuit of this.#circuits.values()) circuit.forget();
  }

  #circuitOf(origin: string): OriginCircuit {
    let circuit = this.#circuits.get(origin);
    if (circuit === undefined) {
      dropOldest(this.#circuits, limits.upstreamOriginsMax)?.forget();
      circuit = new OriginCircuit(this.#context, origin);
      this.#circuits.set(origin, circuit);
    }
    return circuit;
  }
}

/** Makes room for one more entry. @returns the dropped value, if any. */
function dropOldest<Value>(map: Map<string, Value>, sizeMax: number): Value | undefined {
  if (map.size < sizeMax) return undefined;
  for (const [key, value] of map) {
    map.delete(key);
    return value;
  }
  return undefined;
}
