// Whether one origin (scheme, host and port) can be reached at all. What one session learns of that serves every other:
// while the circuit is open nobody waits for the origin, and a probe of the gateway's own finds out when it is back.
//
// No caller can abuse it. What opens it is a connection that could not be made, which no header, path or body of a caller's
// plays a part in; and not while the origin answers anybody. What closes it is the probe, which carries nothing of a
// caller's, or any answer to anybody.
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';
import { Backoff } from '../../shared/backoff.js';
import { limits } from '../../shared/limits.js';
import { plainRequest, type HttpUpstream, type UpstreamCall } from '../http/http-upstream.js';
import { isReachFault, upstreamFault, type UpstreamFault } from '../http/upstream-fault.js';
import { circuitStateAfter, type CircuitEvent, type CircuitState } from './circuit-state.js';

/** What the circuits of a relay share. */
export interface CircuitContext {
  readonly http: HttpUpstream;
  readonly deadlines: DeadlineWheel;
  readonly connectTimeoutMs: number;
  /** Milliseconds of a clock that never goes back. */
  nowMs(): number;
  /** From 0 up to 1: probes of many origins, and of many workers, do not go out together. */
  random(): number;
  /** Whether one more probe may be under way now. */
  tryBeginProbe(): boolean;
  endProbe(): void;
}

/** Any path will do: a refusal is an answer. The answer is not read. */
const PROBE_PATH = '/';
const PROBE_HEADERS = ['accept', 'application/json'];

export class OriginCircuit {
  readonly #context: CircuitContext;
  readonly #origin: string;
  #state: CircuitState = 'closed';
  #fault: UpstreamFault | undefined;
  #answeredAtMs = -Infinity;
  #openedAtMs = -Infinity;
  #neededAtMs = -Infinity;
  readonly #backoff = new Backoff(limits.probeDelayMsMin, limits.probeDelayMsMax);
  /** `open`: the wait for the next probe; `half-open`: the probe's own time. */
  #deadline: Deadline | undefined;
  #probe: UpstreamCall | undefined;

  constructor(context: CircuitContext, origin: string) {
    this.#context = context;
    this.#origin = origin;
  }

  get state(): CircuitState {
    return this.#state;
  }

  /** Why nothing can be sent to the origin now; `undefined` while the circuit is closed. Hot. */
  get fault(): UpstreamFault | undefined {
    return this.#fault;
  }

  /** Somebody was refused because of `fault`: it is worth finding out when the origin is back. */
  onNeeded(): void {
    this.#neededAtMs = this.#context.nowMs();
  }

  /** The origin has answered somebody, whatever it said. Hot. */
  onAnswer(nowMs: number): void {
    this.#answeredAtMs = nowMs;
    if (this.#state !== 'closed') this.#advance('answered');
  }

  /** A request to the origin has failed. Whoever it was for, only what keeps everybody from it counts. */
  onFault(fault: UpstreamFault): void {
    if (!isReachFault(fault)) return;
    const nowMs = this.#context.nowMs();
    // It may refuse one connection and serve others, perhaps because one caller has too many.
    if (nowMs - this.#answeredAtMs < limits.originAnsweredMs) return;
    if (!this.#advance('fault')) return;
    this.#fault = upstreamFault(fault.kind, true);
    // The delay grows over openings that follow each other without an answer to anybody between them.
    if (this.#answeredAtMs > this.#openedAtMs) this.#backoff.reset();
    this.#openedAtMs = nowMs;
    this.#neededAtMs = nowMs;
    this.#probeLater();
  }

  /** Nothing is known any more, and nothing is under way. */
  forget(): void {
    this.#advance('forgotten');
  }

  #probeLater(): void {
    const delayMs = this.#backoff.nextSpread(this.#context.random());
    this.#deadline = this.#context.deadlines.after(delayMs, () => this.#onProbeDue());
  }

  #onProbeDue(): void {
    const { http, deadlines, connectTimeoutMs } = this.#context;
    if (this.#context.nowMs() - this.#neededAtMs > limits.originForgottenMs) {
      this.#advance('forgotten');
    } else if (!this.#context.tryBeginProbe()) {
      this.#probeLater();
    } else if (this.#advance('probed')) {
      const target = { origin: this.#origin, path: PROBE_PATH };
      this.#probe = http.dispatch(plainRequest('', target, 'GET', PROBE_HEADERS), {
        onHead: () => this.#onReached(),
        onData: () => {},
        onEnd: () => this.#onReached(),
        onFault: (fault) => this.#onProbeFault(fault),
      });
      // By then it is connected. Silence is not for the circuit to judge: it may be the path's.
      this.#deadline = deadlines.after(connectTimeoutMs + limits.probeAnswerMsMax, () => this.#onReached());
    }
  }

  #onReached(): void {
    this.#advance('answered');
  }

  #onProbeFault(fault: UpstreamFault): void {
    const isReach = isReachFault(fault);
    if (!isReach && !fault.isUnsent) {
      this.#onReached();
    } else if (this.#advance('failed')) {
      // A probe that found no free connection says nothing of the origin.
      if (isReach) this.#fault = upstreamFault(fault.kind, true);
      this.#probeLater();
    }
  }

  /** The only writer of the state. What belonged to the state that is left ends with it. */
  #advance(event: CircuitEvent): boolean {
    const next = circuitStateAfter(this.#state, event);
    if (next === undefined) return false;
    this.#deadline?.cancel();
    this.#deadline = undefined;
    if (this.#state === 'half-open') {
      this.#probe?.abort();
      this.#probe = undefined;
      this.#context.endProbe();
    }
    this.#state = next;
    if (next === 'closed') this.#fault = undefined;
    return true;
  }
}
