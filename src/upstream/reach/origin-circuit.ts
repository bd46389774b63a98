// Whether one origin (scheme, host and port) can be reached at all. What one session finds out serves all others: while the circuit is open
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
import { Backoff } from '../../shared/index.js';
import {
  plainRequest,
  type HttpUpstream,
  type UpstreamCall,
  isReachFault,
  type UpstreamFault,
} from '../../http-client/index.js';
import type { Forgiven } from './forgiven.js';

/** First wait before an unreachable origin is probed, shortened at random by up to half. After that, it is probed, and the wait doubles. */
export const PROBE_DELAY_MS_MIN = 200;
/** Longest wait before such a probe; short, so that a reachable origin is found soon. After that, the wait grows no further. */
export const PROBE_DELAY_MS_MAX = 4_000;
/**
 * Time without any request for an unreachable origin, or without another timeout of a silent URL. After that, probing stops, or the silence
 * is forgotten; the next request tries it.
 */
export const ORIGIN_FORGOTTEN_MS = 60_000;

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
