// What an overloaded process, worker or control plane, refuses so that it can finish what it has begun: new sessions first, then new
// requests. Judges readings from overload-watch.ts; load-shedder.ts decides whose requests are refused. Hot path: one comparison
// per request.
//
//   state              calm               pressed            hard pressed
//   serving            -                  refusing-sessions  refusing-requests
//   refusing-sessions  serving            -                  refusing-requests
//   refusing-requests  refusing-sessions  refusing-sessions  -
//
// A process is pressed when one gauge is at its first mark, hard pressed at its second. A gauge clears a mark
// only when it has fallen well below it, or has stayed below it for a while, because memory that the C library
// keeps never falls further. Recovery passes through every state, one reading each. So the state does not flap.
import { type Logger, refusals, type Refusal } from '../shared/index.js';

// When a process counts as pressed, and what it still accepts then (overload.ts, load-shedder.ts).
export const overloadBounds = {
  /**
   * resident memory in percent of `--worker-memory`; what is in flight needs the rest → new sessions are refused; below this, new requests
   * are accepted again
   */
  residentPercentPressed: 80,
  /** resident memory in percent of `--worker-memory` → new requests are refused */
  residentPercentHardPressed: 90,
  /**
   * heap without garbage, in percent of V8's half of `--worker-memory`; a nearly full heap makes V8 do little but collect, then abort → new
   * sessions are refused; below this, new requests are accepted again
   */
  heapPercentPressed: 70,
  /** heap without garbage, in percent of V8's half of `--worker-memory` → new requests are refused */
  heapPercentHardPressed: 80,
  /**
   * event loop delay, each of the last five readings, less (on Linux) the time that other processes had the processor → new sessions are
   * refused; below this, new requests are accepted again
   */
  loopDelayPressedMs: 300,
  /** event loop delay, measured as for `loopDelayPressedMs` → new requests are refused */
  loopDelayHardPressedMs: 1_000,
  /**
   * sessions per second that a worker still opens while it refuses new sessions, for subjects that hold little; fewer towards the second
   * mark, where it is none → one more is refused
   */
  pressedSessionsPerSecond: 16,
  /** sessions per second of one subject that a worker still opens while it refuses new sessions → one more is refused */
  pressedSessionsPerSubjectPerSecond: 1,
  /**
   * requests per second that a worker still accepts while it refuses new requests, for subjects that hold little; none when memory is short
   * → one more is refused
   */
  pressedRequestsPerSecond: 128,
  /** requests per second of one subject that a worker still accepts while it refuses new requests → one more is refused */
  pressedRequestsPerSubjectPerSecond: 8,
  /**
   * how many times the average of the other subjects one subject may hold of sessions, session bytes or requests in flight → under overload
   * all its new sessions, or requests, are refused
   */
  pressedTimesOthersMax: 2,
} as const;

/** Readings in a row below a mark that end the overload state of that mark; memory that the C library keeps may never fall far below it. */
export const OVERLOAD_CALM_SAMPLES = 150;
/** Resident memory, in percent of `--worker-memory`, below which new sessions are accepted again. */
export const CALM_BELOW_RESIDENT_PERCENT = 70;
/** Heap without garbage, in percent of V8's half of `--worker-memory`, below which new sessions are accepted again. */
export const CALM_BELOW_HEAP_PERCENT = 60;
/**
 * Event loop delay at each of the last five readings, less (on Linux) the time that other processes had the processor, below which new
 * sessions are accepted again.
 */
export const CALM_BELOW_LOOP_DELAY_MS = 100;

export type OverloadState = 'serving' | 'refusing-sessions' | 'refusing-requests';

export type Pressure = 'calm' | 'pressed' | 'hard pressed';

const NEXT_STATE: Readonly<Record<OverloadState, Readonly<Record<Pressure, OverloadState>>>> = {
  serving: { calm: 'serving', pressed: 'refusing-sessions', 'hard pressed': 'refusing-requests' },
  'refusing-sessions': { calm: 'serving', pressed: 'refusing-sessions', 'hard pressed': 'refusing-requests' },
  'refusing-requests': {
    calm: 'refusing-sessions',
    pressed: 'refusing-sessions',
    'hard pressed': 'refusing-requests',
  },
};

export interface OverloadSample {
  /** Resident memory in percent of what the process may use. */
  readonly residentPercent: number;
  /** Heap in use without garbage, in percent of the heap's maximum. */
  readonly heapPercent: number;
  /** The least of the last five delays of the event loop, as far as the process itself caused them. */
  readonly loopDelayMs: number;
}

interface Mark {
  /** The value at which the mark is reached. */
  readonly at: number;
  /** The value below which the mark is cleared. */
  readonly until: number;
}

const MARKS: Readonly<Record<keyof OverloadSample, { readonly pressed: Mark; readonly hard: Mark }>> = {
  residentPercent: {
    pressed: { at: overloadBounds.residentPercentPressed, until: CALM_BELOW_RESIDENT_PERCENT },
    hard: { at: overloadBounds.residentPercentHardPressed, until: overloadBounds.residentPercentPressed },
  },
  heapPercent: {
    pressed: { at: overloadBounds.heapPercentPressed, until: CALM_BELOW_HEAP_PERCENT },
    hard: { at: overloadBounds.heapPercentHardPressed, until: overloadBounds.heapPercentPressed },
  },
  loopDelayMs: {
    pressed: { at: overloadBounds.loopDelayPressedMs, until: CALM_BELOW_LOOP_DELAY_MS },
    hard: { at: overloadBounds.loopDelayHardPressedMs, until: overloadBounds.loopDelayPressedMs },
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
  /** Changed only here, like the next two. */
  state: OverloadState = 'serving';
  /** Whether memory is near its second mark: then every further request makes it worse. */
  isShortOfMemory = false;
  /** The distance to the second mark of the gauge that is nearest to it: 1 up to the first mark, 0 from the second on. */
  headroom = 1;
  /** The number of readings in a row that are below the marks of this state. */
  #calmSamples = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** The refusal of a request now; `undefined` for none. A DELETE is never refused, because it makes room. */
  requestRefusalOf(method: string): Refusal | undefined {
    return method === 'DELETE' ? undefined : this.healthRefusal;
  }

  /** The answer of the health check, which makes load balancers send callers elsewhere; `undefined` while requests are accepted. */
  get healthRefusal(): Refusal | undefined {
    return this.state === 'refusing-requests' ? refusals.overloaded : undefined;
  }

  observe(reading: OverloadSample): void {
    const next = NEXT_STATE[this.state][this.#pressureOf(reading)];
    this.isShortOfMemory = MEMORY_GAUGES.some((name) => reading[name] >= MARKS[name].hard.until);
    this.headroom =
      next === 'refusing-requests' ? 0 : Math.min(...GAUGES.map((name) => headroomOf(name, reading[name])));
    if (next !== this.state) {
      this.#calmSamples = 0;
      this.#become(next, reading);
    }
  }

  #become(state: OverloadState, reading: OverloadSample): void {
    this.state = state;
    const gauges = Object.fromEntries(GAUGES.map((name) => [name, Math.round(reading[name])]));
    this.#logger[state === 'serving' ? 'info' : 'warn'](gauges, LOG_TEXTS[state]);
  }

  #pressureOf(reading: OverloadSample): Pressure {
    const isBelow = !GAUGES.some((name) => reading[name] >= MARKS[name][this.#isHard ? 'hard' : 'pressed'].at);
    this.#calmSamples = isBelow ? this.#calmSamples + 1 : 0;
    const isTooSoon = this.#calmSamples < OVERLOAD_CALM_SAMPLES;
    const wasHard = this.#isHard && isTooSoon;
    const wasPressed = this.state !== 'serving' && (this.#isHard || isTooSoon);
    if (GAUGES.some((name) => isPast(reading[name], MARKS[name].hard, wasHard))) return 'hard pressed';
    return GAUGES.some((name) => isPast(reading[name], MARKS[name].pressed, wasPressed)) ? 'pressed' : 'calm';
  }

  get #isHard(): boolean {
    return this.state === 'refusing-requests';
  }
}

function isPast(value: number, { at, until }: Mark, wasPast: boolean): boolean {
  return value >= (wasPast ? until : at);
}

function headroomOf(name: keyof OverloadSample, value: number): number {
  const { pressed, hard } = MARKS[name];
  return Math.max(0, Math.min(1, (hard.at - value) / (hard.at - pressed.at)));
}
