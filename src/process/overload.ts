// What a process that has too much to do refuses, a worker or a control plane, so that what it has begun comes to its end:
// new sessions first, then new requests. Decides from readings of its memory and its event loop; overload-watch.ts takes
// them. Hot: one comparison a request.
//
//   state              calm               pressed            hard pressed
//   serving            -                  refusing-sessions  refusing-requests
//   refusing-sessions  serving            -                  refusing-requests
//   refusing-requests  refusing-sessions  refusing-sessions  -
//
// Pressed is a process with one gauge at its first mark, hard pressed at its second. A gauge leaves a mark behind only when
// it has fallen well below it, or below it for a while: memory that the C library keeps never falls further. The way back
// leads over every state, a reading each. So the process does not waver.
import { limits } from '../shared/limits.js';
import type { Logger } from '../shared/logger.js';
import { refusals, type Refusal } from '../shared/refusals.js';

export type OverloadState = 'serving' | 'refusing-sessions' | 'refusing-requests';

export type Pressure = 'calm' | 'pressed' | 'hard pressed';

const AFTER: Readonly<Record<OverloadState, Readonly<Record<Pressure, OverloadState>>>> = {
  serving: { calm: 'serving', pressed: 'refusing-sessions', 'hard pressed': 'refusing-requests' },
  'refusing-sessions': { calm: 'serving', pressed: 'refusing-sessions', 'hard pressed': 'refusing-requests' },
  'refusing-requests': {
    calm: 'refusing-sessions',
    pressed: 'refusing-sessions',
    'hard pressed': 'refusing-requests',
  },
};

export interface OverloadReading {
  /** Of the process, in percent of what it may have. */
  readonly residentPercent: number;
  /** What of the heap is in use, not counting garbage, in percent of what the heap may have. */
  readonly heapPercent: number;
  /** How late the event loop has been lately, again and again. */
  readonly loopDelayMs: number;
}

interface Mark {
  /** From here on it counts. */
  readonly at: number;
  /** Until it has fallen below this. */
  readonly until: number;
}

const MARKS: Readonly<Record<keyof OverloadReading, { readonly pressed: Mark; readonly hard: Mark }>> = {
  residentPercent: {
    pressed: { at: limits.residentPercentPressed, until: limits.residentPercentCalm },
    hard: { at: limits.residentPercentHardPressed, until: limits.residentPercentPressed },
  },
  heapPercent: {
    pressed: { at: limits.heapPercentPressed, until: limits.heapPercentCalm },
    hard: { at: limits.heapPercentHardPressed, until: limits.heapPercentPressed },
  },
  loopDelayMs: {
    pressed: { at: limits.loopDelayPressedMs, until: limits.loopDelayCalmMs },
    hard: { at: limits.loopDelayHardPressedMs, until: limits.loopDelayPressedMs },
  },
};

const GAUGES = ['residentPercent', 'heapPercent', 'loopDelayMs'] as const;

const WORDS: Readonly<Record<OverloadState, string>> = {
  serving: 'overload is over: everything is taken again',
  'refusing-sessions': 'overloaded: new sessions are refused',
  'refusing-requests': 'overloaded: new requests are refused',
};

export class Overload {
  readonly #logger: Logger;
  #state: OverloadState = 'serving';
  /** Readings in a row that would not have led to this state, though not far enough below its marks to lead out of it. */
  #readingsBelow = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  get state(): OverloadState {
    return this.#state;
  }

  /**
   * Why this request is not taken now, if so. A DELETE always is, because it makes room.
   * @param sessionId `''` for a request that can only be an `initialize`.
   */
  refusalOf(method: string, sessionId: string): Refusal | undefined {
    if (this.#state === 'serving') return undefined;
    return this.requestRefusalOf(method) ?? (sessionId === '' ? this.sessionRefusal : undefined);
  }

  /** Why no request is taken now, if so, whatever it asks for. */
  requestRefusalOf(method: string): Refusal | undefined {
    return this.#state === 'refusing-requests' && method !== 'DELETE' ? refusals.overloaded : undefined;
  }

  /** Why no session is opened now, if so. */
  get sessionRefusal(): Refusal | undefined {
    return this.#state === 'serving' ? undefined : refusals.sessionsPaused;
  }

  /** Whether the health check should send callers elsewhere: not while sessions that are open are served. */
  get healthRefusal(): Refusal | undefined {
    return this.#state === 'refusing-requests' ? refusals.overloaded : undefined;
  }

  observe(reading: OverloadReading): void {
    const next = AFTER[this.#state][this.#pressureOf(reading)];
    if (next !== this.#state) {
      this.#readingsBelow = 0;
      this.#become(next, reading);
    }
  }

  #become(state: OverloadState, reading: OverloadReading): void {
    this.#state = state;
    const gauges = Object.fromEntries(GAUGES.map((name) => [name, Math.round(reading[name])]));
    this.#logger[state === 'serving' ? 'info' : 'warn'](gauges, WORDS[state]);
  }

  #pressureOf(reading: OverloadReading): Pressure {
    const isBelow = !GAUGES.some((name) => reading[name] >= MARKS[name][this.#isHard ? 'hard' : 'pressed'].at);
    this.#readingsBelow = isBelow ? this.#readingsBelow + 1 : 0;
    const isWavering = this.#readingsBelow < limits.overloadReadingsBelow;
    const wasHard = this.#isHard && isWavering;
    const wasPressed = this.#state !== 'serving' && (this.#isHard || isWavering);
    if (GAUGES.some((name) => isPast(reading[name], MARKS[name].hard, wasHard))) return 'hard pressed';
    return GAUGES.some((name) => isPast(reading[name], MARKS[name].pressed, wasPressed)) ? 'pressed' : 'calm';
  }

  get #isHard(): boolean {
    return this.#state === 'refusing-requests';
  }
}

function isPast(value: number, { at, until }: Mark, wasPast: boolean): boolean {
  return value >= (wasPast ? until : at);
}
