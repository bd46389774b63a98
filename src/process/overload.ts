// What a process that has too much to do refuses, a worker or a control plane, so that what it has begun comes to its end:
// new sessions first, then new requests. Decides from readings of its memory and its event loop; overload-watch.ts takes
// them, and overload-door.ts says of whom. Hot: one comparison a request.
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
  /** How late the event loop has been lately, again and again, by what the process itself does. */
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
const MEMORY_GAUGES = ['residentPercent', 'heapPercent'] as const;

const WORDS: Readonly<Record<OverloadState, string>> = {
  serving: 'overload is over: everything is accepted again',
  'refusing-sessions': 'overloaded: new sessions are refused',
  'refusing-requests': 'overloaded: new requests are refused',
};

export class Overload {
  readonly #logger: Logger;
  #state: OverloadState = 'serving';
  #isShortOfMemory = false;
  #leisure = 1;
  /** Readings in a row that would not have led to this state, though not far enough below its marks to lead out of it. */
  #readingsBelow = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  get state(): OverloadState {
    return this.#state;
  }

  /** Of a process that refuses requests, whether it may be for want of memory: then every further one makes it worse. */
  get isShortOfMemory(): boolean {
    return this.#isShortOfMemory;
  }

  /** How much of the way from the first mark to the second is still ahead: 1 at the first, 0 from the second on. */
  get leisure(): number {
    return this.#leisure;
  }

  /** Why no request is taken now, if so, whatever it asks for. A DELETE always is, because it makes room. */
  requestRefusalOf(method: string): Refusal | undefined {
    return this.#state === 'refusing-requests' && method !== 'DELETE' ? refusals.overloaded : undefined;
  }

  /** Whether the health check should send callers elsewhere: not while sessions that are open are served. */
  get healthRefusal(): Refusal | undefined {
    return this.#state === 'refusing-requests' ? refusals.overloaded : undefined;
  }

  observe(reading: OverloadReading): void {
    const next = AFTER[this.#state][this.#pressureOf(reading)];
    this.#isShortOfMemory = MEMORY_GAUGES.some((name) => reading[name] >= MARKS[name].hard.until);
    this.#leisure =
      next === 'refusing-requests' ? 0 : Math.min(...GAUGES.map((name) => leisureOf(name, reading[name])));
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

function leisureOf(name: keyof OverloadReading, value: number): number {
  const { pressed, hard } = MARKS[name];
  return Math.max(0, Math.min(1, (hard.at - value) / (hard.at - pressed.at)));
}
