// Decides how overloaded a process is, and what it then refuses, so that it can finish what it has accepted: first new sessions, then new
// requests. overload-watch.ts measures, and load-shedder.ts decides whose requests are refused. Hot path: one comparison per request.
//
// A process is pressed when one gauge reaches its first mark, and hard pressed at the second.
//
//   state              calm               pressed            hard pressed
//   serving            -                  refusing-sessions  refusing-requests
//   refusing-sessions  serving            -                  refusing-requests
//   refusing-requests  refusing-sessions  refusing-sessions  -
//
// So that the state does not flap, it ends only when its gauge has fallen well below the mark, or has been below the mark for many samples:
// malloc may keep freed memory, so that resident memory never falls that far. Recovery passes through every state.
import { type Logger, refusals, type Refusal } from '../shared/index.js';

// The first and second mark of each gauge, and what is still accepted above them. Refused requests are accepted again below the first
// marks.
export const overloadBounds = {
  /** Resident memory in percent of `--worker-memory`; requests in flight need the memory that is left. */
  residentPercentPressed: 80,
  residentPercentHardPressed: 90,
  /** Heap without garbage, in percent of V8's half of `--worker-memory`. A nearly full heap makes V8 abort. */
  heapPercentPressed: 70,
  heapPercentHardPressed: 80,
  /** Least of the last five delays of the event loop, on Linux without the time that other processes had the processor. */
  loopDelayPressedMs: 300,
  loopDelayHardPressedMs: 1_000,
  /** Sessions per second that are still opened at the first mark, for subjects that use little; fewer towards the second mark. */
  pressedSessionsPerSecond: 16,
  pressedSessionsPerSubjectPerSecond: 1,
  /** Requests per second that are still accepted at the second mark, for subjects that use little; none when memory is short. */
  pressedRequestsPerSecond: 128,
  pressedRequestsPerSubjectPerSecond: 8,
  /** A subject is refused if it uses more than this many times the average of all others, of sessions, session bytes or requests. */
  pressedTimesOthersMax: 2,
} as const;

/** How many samples in a row must be below a mark to end its state, although a gauge stays near the mark. */
export const OVERLOAD_CALM_SAMPLES = 150;
/** The marks below which new sessions are accepted again at once. */
export const CALM_BELOW_RESIDENT_PERCENT = 70;
export const CALM_BELOW_HEAP_PERCENT = 60;
export const CALM_BELOW_LOOP_DELAY_MS = 100;

export type OverloadState = 'serving' | 'refusing-sessions' | 'refusing-requests';

export type Pressure = 'calm' | 'pressed' | 'hard pressed';

function stateAfter(state: OverloadState, pressure: Pressure): OverloadState {
  if (pressure === 'hard pressed') return 'refusing-requests';
  return pressure === 'pressed' || state === 'refusing-requests' ? 'refusing-sessions' : 'serving';
}

export interface OverloadSample {
  readonly residentPercent: number;
  readonly heapPercent: number;
  readonly loopDelayMs: number;
}

interface Mark {
  readonly at: number;
  readonly clearedBelow: number;
}

const MARKS: Readonly<Record<keyof OverloadSample, { readonly pressed: Mark; readonly hard: Mark }>> = {
  residentPercent: {
    pressed: { at: overloadBounds.residentPercentPressed, clearedBelow: CALM_BELOW_RESIDENT_PERCENT },
    hard: { at: overloadBounds.residentPercentHardPressed, clearedBelow: overloadBounds.residentPercentPressed },
  },
  heapPercent: {
    pressed: { at: overloadBounds.heapPercentPressed, clearedBelow: CALM_BELOW_HEAP_PERCENT },
    hard: { at: overloadBounds.heapPercentHardPressed, clearedBelow: overloadBounds.heapPercentPressed },
  },
  loopDelayMs: {
    pressed: { at: overloadBounds.loopDelayPressedMs, clearedBelow: CALM_BELOW_LOOP_DELAY_MS },
    hard: { at: overloadBounds.loopDelayHardPressedMs, clearedBelow: overloadBounds.loopDelayPressedMs },
  },
};

const GAUGES = ['residentPercent', 'heapPercent', 'loopDelayMs'] as const;
const MEMORY_GAUGES = ['residentPercent', 'heapPercent'] as const;

const LOG_TEXTS: Readonly<Record<OverloadState, string>> = {
  serving: 'overload is over: everything is accepted again',
  'refusing-sessions': 'overloaded: new sessions are refused',
  'refusing-requests': 'overloaded: new requests are refused',
};

export class Overload {
  readonly #logger: Logger;
  /** How overloaded the process is. Changed only here, like `isShortOfMemory` and `headroom`. */
  state: OverloadState = 'serving';
  isShortOfMemory = false;
  /** How far the nearest gauge is from its second mark: 1 up to the first mark, 0 from the second on. */
  headroom = 1;
  #calmSamples = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Why a request is refused; `undefined` if it is not. A DELETE is never refused, because it frees memory. */
  requestRefusalOf(method: string): Refusal | undefined {
    return method === 'DELETE' ? undefined : this.healthRefusal;
  }

  /** The refusal of health checks, with which load balancers send callers elsewhere; `undefined` while requests are accepted. */
  get healthRefusal(): Refusal | undefined {
    return this.state === 'refusing-requests' ? refusals.overloaded : undefined;
  }

  observe(sample: OverloadSample): void {
    const next = stateAfter(this.state, this.#pressureOf(sample));
    this.isShortOfMemory = MEMORY_GAUGES.some((name) => sample[name] >= MARKS[name].hard.clearedBelow);
    this.headroom =
      next === 'refusing-requests' ? 0 : Math.min(...GAUGES.map((name) => headroomOf(name, sample[name])));
    if (next !== this.state) {
      this.#calmSamples = 0;
      this.#enter(next, sample);
    }
  }

  #enter(state: OverloadState, sample: OverloadSample): void {
    this.state = state;
    const gauges = Object.fromEntries(GAUGES.map((name) => [name, Math.round(sample[name])]));
    this.#logger[state === 'serving' ? 'info' : 'warn'](gauges, LOG_TEXTS[state]);
  }

  #pressureOf(sample: OverloadSample): Pressure {
    const isBelow = !GAUGES.some((name) => sample[name] >= MARKS[name][this.#isRefusing ? 'hard' : 'pressed'].at);
    this.#calmSamples = isBelow ? this.#calmSamples + 1 : 0;
    const isTooSoon = this.#calmSamples < OVERLOAD_CALM_SAMPLES;
    const wasHard = this.#isRefusing && isTooSoon;
    const wasPressed = this.state !== 'serving' && (this.#isRefusing || isTooSoon);
    if (GAUGES.some((name) => isPast(sample[name], MARKS[name].hard, wasHard))) return 'hard pressed';
    return GAUGES.some((name) => isPast(sample[name], MARKS[name].pressed, wasPressed)) ? 'pressed' : 'calm';
  }

  get #isRefusing(): boolean {
    return this.state === 'refusing-requests';
  }
}

function isPast(value: number, { at, clearedBelow }: Mark, wasPast: boolean): boolean {
  return value >= (wasPast ? clearedBelow : at);
}

function headroomOf(name: keyof OverloadSample, value: number): number {
  const { pressed, hard } = MARKS[name];
  return Math.max(0, Math.min(1, (hard.at - value) / (hard.at - pressed.at)));
}
