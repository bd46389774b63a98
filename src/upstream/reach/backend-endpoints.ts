// All endpoints that a relay knows, and the circuits of their origins, both bounded. One look-up per upstream session.
//
// A circuit says whether one origin (scheme, host and port) can be reached at all. What one session finds out serves all others: while the circuit is open
// no request waits for the origin, and the gateway's own probe finds out when it is back.
//
// No caller can abuse it. It is opened only by a failure to connect, which no header, path or body of a caller can cause, and not while the
// origin responds to anyone. It is closed by a probe, which contains nothing from callers, or by any response to anyone.
//
//   closed ── fault, and no response recently ──> open ── delay ──> half-open ── the probe fails ──> open
//   open, half-open ── answered, or no longer needed ──> closed
//
// Requests are sent to the origin only in `closed`; in `half-open`, the gateway's own probe is on its way.
import type { Deadline, DeadlineWheel } from '../../fair/index.js';
import type { Era } from '../../mcp/index.js';
import { Backoff, limits } from '../../shared/index.js';
import type { UpstreamTarget } from '../../user-config/index.js';
import {
  plainRequest,
  type HttpUpstream,
  type UpstreamCall,
  isReachFault,
  type UpstreamFault,
} from '../../http-client/index.js';
import type { Forgiven } from './forgiven.js';
import {
  dropOldest,
  type OpeningAdmission,
  ORIGIN_FORGOTTEN_MS,
  PROBE_DELAY_MS_MAX,
  PROBE_DELAY_MS_MIN,
  SilenceLedger,
} from './silence-ledger.js';

type State = 'closed' | 'open' | 'half-open';
export type CircuitState = State;

/**
 * Time after a response during which the origin counts as reachable, whatever fails; longer than connections are kept. After that, a failure
 * to connect opens the origin's circuit.
 */
export const ORIGIN_ANSWERED_MS = 5_000;
/** Time for a probe to be answered after it connected; the silence may be that of one path. After that, the origin counts as reached. */
export const PROBE_ANSWER_MS_MAX = 1_000;

export interface CircuitContext {
  readonly http: HttpUpstream;
  readonly deadlines: DeadlineWheel;
  readonly connectTimeoutMs: number;
  /** Milliseconds of a monotonic clock. */
  nowMs(): number;
  /** From 0 up to 1: spreads the probes of many origins and many workers over time. */
  random(): number;
  /** The probes in progress of all origins. */
  readonly probes: { count: number };
}

/** Probes in progress at once, per worker. Beyond that, further origins wait for their next turn. */
export const ORIGIN_PROBES_MAX = 64;

/** Any path will do, since a refusal counts as a response. The response is not read. */
const PROBE_PATH = '/';
const PROBE_HEADERS = ['accept', 'application/json'];

export class OriginCircuit {
  /** How often each deviation of its backends' answers was forgiven; `undefined` for none. */
  forgiven: Partial<Record<Forgiven, number>> | undefined;
  readonly #context: CircuitContext;
  readonly #origin: string;
  #state: State = 'closed';
  /** Why nothing can be sent to the origin now; `undefined` while the circuit is closed. Changed only here. */
  fault: UpstreamFault | undefined = undefined;
  #answeredAtMs = -Infinity;
  #openedAtMs = -Infinity;
  #neededAtMs = -Infinity;
  readonly #backoff = new Backoff(PROBE_DELAY_MS_MIN, PROBE_DELAY_MS_MAX);
  /** In `open`: the delay before the next probe; in `half-open`: the probe's timeout. */
  #deadline: Deadline | undefined;
  #probe: UpstreamCall | undefined;

  constructor(context: CircuitContext, origin: string) {
    this.#context = context;
    this.#origin = origin;
  }

  get state(): CircuitState {
    return this.#state;
  }

  /** A request was refused because of `fault`, so the origin is worth probing. */
  onNeeded(): void {
    this.#neededAtMs = this.#context.nowMs();
  }

  /** The origin has responded to some request, with whatever content. Hot path. */
  onAnswer(nowMs: number): void {
    this.#answeredAtMs = nowMs;
    if (this.#state !== 'closed') this.#close();
  }

  /** A request to the origin has failed. Only failures that would affect every caller count. */
  onFault(fault: UpstreamFault): void {
    if (!isReachFault(fault)) return;
    const nowMs = this.#context.nowMs();
    // The origin may refuse one connection and serve others, perhaps because one caller has too many.
    if (nowMs - this.#answeredAtMs < ORIGIN_ANSWERED_MS) return;
    if (!this.#transition('closed', 'open')) return;
    this.fault = { ...fault, isUnsent: true };
    // The delay grows as long as the circuit reopens without any response in between.
    if (this.#answeredAtMs > this.#openedAtMs) this.#backoff.reset();
    this.#openedAtMs = nowMs;
    this.#neededAtMs = nowMs;
    this.#probeLater();
  }

  /** Discards what is known, and cancels what is in progress. */
  forget(): void {
    this.#close();
  }

  #probeLater(): void {
    const delayMs = this.#backoff.nextSpread(this.#context.random());
    this.#deadline = this.#context.deadlines.after(delayMs, () => this.#onProbeDue());
  }

  #onProbeDue(): void {
    const { http, deadlines, connectTimeoutMs, probes } = this.#context;
    if (this.#context.nowMs() - this.#neededAtMs > ORIGIN_FORGOTTEN_MS) {
      this.#close();
    } else if (probes.count >= ORIGIN_PROBES_MAX) {
      this.#probeLater();
    } else if (this.#transition('open', 'half-open')) {
      probes.count += 1;
      const target = { origin: this.#origin, path: PROBE_PATH };
      this.#probe = http.dispatch(plainRequest('', target, 'GET', PROBE_HEADERS), {
        onHead: () => this.#close(),
        onData: () => {},
        onEnd: () => this.#close(),
        onFault: (fault) => this.#onProbeFault(fault),
      });
      // After this time the probe must have connected. Silence afterwards may be specific to the path, so the circuit ignores it.
      this.#deadline = deadlines.after(connectTimeoutMs + PROBE_ANSWER_MS_MAX, () => this.#close());
    }
  }

  #close(): void {
    if (!this.#transition('open', 'closed')) this.#transition('half-open', 'closed');
  }

  #onProbeFault(fault: UpstreamFault): void {
    const isReach = isReachFault(fault);
    if (!isReach && !fault.isUnsent) {
      this.#close();
    } else if (this.#transition('half-open', 'open')) {
      // A probe for which there was no free connection says nothing about the origin.
      if (isReach) this.fault = { ...fault, isUnsent: true };
      this.#probeLater();
    }
  }

  /** The only writer of the state. Timers and probes of the state that is left are cancelled. */
  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#deadline?.cancel();
    this.#deadline = undefined;
    if (from === 'half-open') {
      this.#probe?.abort();
      this.#probe = undefined;
      this.#context.probes.count -= 1;
    }
    this.#state = to;
    if (to === 'closed') this.fault = undefined;
    return true;
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
