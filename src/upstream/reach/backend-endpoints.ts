// All endpoints that a relay knows, and the circuits of their origins, both bounded. One look-up per upstream session.
import type { Era } from '../../mcp/index.js';
import { limits } from '../../shared/index.js';
import type { UpstreamTarget } from '../../user-config/index.js';
import type { UpstreamFault } from '../../http-client/index.js';
import {
  type CircuitState,
  OriginCircuit,
  type CircuitContext,
  PROBE_DELAY_MS_MIN,
  PROBE_DELAY_MS_MAX,
  ORIGIN_FORGOTTEN_MS,
} from './origin-circuit.js';
import type { Forgiven } from './forgiven.js';

// A backend that does not answer `initialize`. The cause may be one caller's own (its headers, its config's path), so a silent endpoint is
// not closed to other subjects: a subject is refused only after its own timeout, and gets one try whenever its delay is over. Once two
// subjects have met silence, a third gets the fault at once, while its own first try continues in the background. Cold path.

/** Subjects whose timeouts at one URL are remembered. Beyond that, the oldest is forgotten. */
export const SILENCE_SUBJECTS_MAX = 64;

interface SubjectSilence {
  /** 0 until one of the subject's own tries has timed out. */
  delayMs: number;
  retryAtMs: number;
  /** Whether the subject's one permitted try is in progress. */
  isTrying: boolean;
}

/** Subjects that must have met silence before others get its fault at once. */
const WITNESSES_MIN = 2;

/** `free`: nothing is known. `trial`: let through, but not worth waiting for. `refused`: another try is in progress or was just made. */
type OpeningAdmission = 'free' | 'trial' | 'refused';

/** The subjects that have recently waited in vain for one endpoint. */
class SilenceLedger {
  /** By subject, oldest first. */
  readonly #silences = new Map<string, SubjectSilence>();

  /** @param subject is about to open a session; after `trial`, its outcome must be reported. */
  admit(subject: string, nowMs: number): OpeningAdmission {
    this.#dropOld(nowMs);
    const own = this.#silences.get(subject);
    if (own === undefined) {
      // Subjects that have only a trial are counted too, but there are such only where enough others have met silence.
      if (this.#silences.size < WITNESSES_MIN) return 'free';
      this.#note(subject, { delayMs: 0, retryAtMs: nowMs, isTrying: true });
      return 'trial';
    }
    if (own.isTrying || nowMs < own.retryAtMs) return 'refused';
    own.isTrying = true;
    return 'trial';
  }

  /** The subject's opening got no answer in time, and nobody else got one meanwhile. */
  onSilence(subject: string, nowMs: number): void {
    const before = this.#silences.get(subject)?.delayMs ?? 0;
    const delayMs = Math.min(Math.max(before * 2, PROBE_DELAY_MS_MIN), PROBE_DELAY_MS_MAX);
    this.#silences.delete(subject);
    this.#note(subject, { delayMs, retryAtMs: nowMs + delayMs, isTrying: false });
  }

  /** The subject's trial ended with something other than silence. */
  onTrialOver(subject: string): void {
    const own = this.#silences.get(subject);
    if (own === undefined) return;
    own.isTrying = false;
    if (own.delayMs === 0) this.#silences.delete(subject);
  }

  #note(subject: string, silence: SubjectSilence): void {
    dropOldest(this.#silences, SILENCE_SUBJECTS_MAX);
    this.#silences.set(subject, silence);
  }

  #dropOld(nowMs: number): void {
    for (const [subject, { retryAtMs }] of this.#silences) {
      if (nowMs - retryAtMs > ORIGIN_FORGOTTEN_MS) this.#silences.delete(subject);
    }
  }
}

/** The headers of every request with a body: name, value, … */
export const CONTENT_HEADERS: readonly string[] = Object.freeze([
  ...['content-type', 'application/json'],
  ...['accept', 'application/json, text/event-stream'],
]);

/**
 * Time that a backend's era and the capabilities of one without sessions are remembered; the backend may be replaced. After that, it is
 * asked again.
 */
export const ERA_KNOWN_MS = 600_000;

/**
 * What a relay knows about reaching one URL of a backend, shared by all sessions that use it: its origin's circuit, whether `initialize` is
 * answered there, and which era of MCP it speaks. Nothing else of the backend's answers is kept: they concern only the caller who got them.
 */
export class BackendEndpoint {
  readonly circuit: OriginCircuit;
  /** The content headers, in this endpoint's own array: a request's head is remembered by its array (http-client/request-bytes.ts). */
  readonly contentHeaders = [...CONTENT_HEADERS];
  /** Whether the backend has kept a session for any client of the modern era; `undefined` while it was opened for none. */
  #keepsSessions: boolean | undefined;
  #answeredAtMs = -Infinity;
  /** The era that the backend was last found not to speak: remembered for a limited time, since backends get upgraded. */
  #refusedEra: Era | undefined;
  #eraRefusedAtMs = 0;
  /** `undefined` unless some subject has waited in vain since the last answer. */
  #silence: SilenceLedger | undefined;

  constructor(circuit: OriginCircuit) {
    this.circuit = circuit;
  }

  /** The backend has begun any response, to any caller. Hot path. */
  onAnswer(nowMs: number): void {
    this.#answeredAtMs = nowMs;
    this.#silence = undefined;
    this.circuit.onAnswer(nowMs);
  }

  /** Whether the backend keeps sessions for no client of the modern era. Hot path. */
  get isSessionless(): boolean {
    return this.#keepsSessions === false;
  }

  /** The backend was opened for a client of the modern era. Some keep sessions for some callers only: those decide for all. */
  onModernOpen(isSessionKept: boolean): void {
    this.#keepsSessions = isSessionKept || this.#keepsSessions === true;
  }

  onForgiven(what: Forgiven): void {
    const counts = (this.circuit.forgiven ??= {});
    counts[what] = (counts[what] ?? 0) + 1;
  }

  onFault(fault: UpstreamFault): void {
    this.circuit.onFault(fault);
  }

  /** The era to try first. @param preferred the client's era, in which nothing has to be bridged. */
  firstEra(preferred: Era, nowMs: number): Era {
    const isRefused = this.#refusedEra === preferred && nowMs - this.#eraRefusedAtMs < ERA_KNOWN_MS;
    return isRefused ? otherEra(preferred) : preferred;
  }

  /** The backend has shown that it does not speak the era, whatever it was found to speak before. */
  onEraRefused(era: Era, nowMs: number): void {
    this.#refusedEra = era;
    this.#eraRefusedAtMs = nowMs;
    if (era === 'modern') this.#keepsSessions = undefined;
  }

  onEraSpoken(era: Era): void {
    if (this.#refusedEra === era) this.forgetEras();
  }

  /** The backend may no longer speak the era it spoke: which one it refused is forgotten. */
  forgetEras(): void {
    this.#refusedEra = undefined;
  }

  /** Whether the subject may open a session at this URL. A trial ends with any answer, with `onOpenFault` or with `onTrialOver`. */
  admit(subject: string, nowMs: number): OpeningAdmission {
    return this.#silence?.admit(subject, nowMs) ?? 'free';
  }

  /** The subject's trial was given up before it had an outcome. */
  onTrialOver(subject: string): void {
    this.#silence?.onTrialOver(subject);
  }

  /**
   * The subject's opening has failed.
   * @returns whether this endpoint now determines when to try again.
   */
  onOpenFault(subject: string, fault: UpstreamFault, startedAtMs: number, nowMs: number): boolean {
    const isSilent = fault.kind === 'answer-timeout' && this.#answeredAtMs < startedAtMs;
    if (isSilent) {
      this.#silence ??= new SilenceLedger();
      this.#silence.onSilence(subject, nowMs);
    } else {
      this.#silence?.onTrialOver(subject);
    }
    return isSilent || this.circuit.fault !== undefined;
  }
}

export function otherEra(era: Era): Era {
  return era === 'legacy' ? 'modern' : 'legacy';
}

/** Backend URLs whose reachability is remembered, per worker. Beyond that, the oldest is forgotten, and learned again. */
export const ENDPOINTS_MAX = 16_384;

export interface OriginView {
  readonly origin: string;
  readonly state: CircuitState;
  readonly fault: UpstreamFault | undefined;
  /** How often each deviation of its backends' answers was forgiven (`FORGIVEN`); `undefined` for none. */
  readonly forgiven: Readonly<Partial<Record<Forgiven, number>>> | undefined;
}

export class BackendEndpoints {
  readonly #context: CircuitContext;
  /** By origin, oldest first; `#endpoints` by URL. */
  readonly #circuits = new Map<string, OriginCircuit>();
  readonly #endpoints = new Map<string, BackendEndpoint>();

  constructor(options: Omit<CircuitContext, 'random' | 'probes'> & Partial<Pick<CircuitContext, 'random'>>) {
    this.#context = { random: Math.random, probes: { count: 0 }, ...options };
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
export function dropOldest<Value>(map: Map<string, Value>, sizeMax: number): Value | undefined {
  if (map.size < sizeMax) return undefined;
  for (const [key, value] of map) {
    map.delete(key);
    return value;
  }
  return undefined;
}
