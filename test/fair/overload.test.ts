// When a process stops taking work: walks the table in the header of overload.ts, each gauge by itself, and what everybody is refused.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { refusals } from '../../src/shared/refusals.js';
import {
  Overload,
  type OverloadSample,
  type OverloadState,
  type Pressure,
  OVERLOAD_CALM_SAMPLES,
  CALM_BELOW_RESIDENT_PERCENT,
  CALM_BELOW_HEAP_PERCENT,
  CALM_BELOW_LOOP_DELAY_MS,
  overloadBounds,
} from '../../src/fair/overload.js';
import {
  OverloadWatch,
  ProcessGauges,
  type OverloadGauges,
  OVERLOAD_SAMPLE_MS,
  OVERLOAD_COLLECTION_MS,
} from '../../src/fair/overload-watch.js';
import { logInto } from '../support/log-lines.js';
import { until } from '../support/until.js';

const CALM: OverloadSample = { residentPercent: 10, heapPercent: 10, loopDelayMs: 0 };
const MIB = 1024 * 1024;
/** Readings that mean the same in every state. */
const READINGS: Readonly<Record<Pressure, OverloadSample>> = {
  calm: CALM,
  pressed: { ...CALM, residentPercent: overloadBounds.residentPercentPressed },
  'hard pressed': { ...CALM, heapPercent: overloadBounds.heapPercentHardPressed },
};
const WAYS: Readonly<Record<OverloadState, readonly Pressure[]>> = {
  serving: [],
  'refusing-sessions': ['pressed'],
  'refusing-requests': ['hard pressed'],
};

function overloadIn(state: OverloadState): Overload {
  const overload = new Overload(logInto([]));
  for (const pressure of WAYS[state]) overload.observe(READINGS[pressure]);
  return overload;
}

t.test('the states are those of the table in the header', async (t) => {
  const source = readFileSync(new URL('../../../src/fair/overload.ts', import.meta.url), 'utf8');
  const rows = [...source.matchAll(/^\/\/ {3}((?:serving|refusing)\S*) +(\S+) +(\S+) +(\S+)$/gm)];
  t.equal(rows.length, 3, 'the table was read');
  for (const [, from = '', ...cells] of rows) {
    for (const [index, pressure] of (['calm', 'pressed', 'hard pressed'] as const).entries()) {
      const overload = overloadIn(from as OverloadState);
      t.equal(overload.state, from);
      // The second mark is cleared only below the first one, so a reading at the first mark would hold it.
      const reading =
        pressure === 'pressed' ? { ...CALM, loopDelayMs: overloadBounds.loopDelayPressedMs } : READINGS[pressure];
      const isHeld = from === 'refusing-requests' && pressure === 'pressed';
      overload.observe(isHeld ? { ...CALM, residentPercent: overloadBounds.residentPercentPressed - 1 } : reading);
      t.equal(overload.state, cells[index] === '-' ? from : cells[index], `${from}, ${pressure}`);
    }
  }
});

const marks = [
  [
    'residentPercent',
    CALM_BELOW_RESIDENT_PERCENT,
    overloadBounds.residentPercentPressed,
    overloadBounds.residentPercentHardPressed,
  ],
  ['heapPercent', CALM_BELOW_HEAP_PERCENT, overloadBounds.heapPercentPressed, overloadBounds.heapPercentHardPressed],
  ['loopDelayMs', CALM_BELOW_LOOP_DELAY_MS, overloadBounds.loopDelayPressedMs, overloadBounds.loopDelayHardPressedMs],
] as const;

for (const [gauge, calm, pressed, hard] of marks) {
  t.test(`${gauge} alone is enough, and does not waver at its marks`, async (t) => {
    const overload = new Overload(logInto([]));
    const after = (value: number): OverloadState => {
      overload.observe({ ...CALM, [gauge]: value });
      return overload.state;
    };
    t.equal(after(pressed - 1), 'serving');
    t.equal(after(pressed), 'refusing-sessions');
    t.equal(after(calm), 'refusing-sessions', 'not far enough below');
    t.equal(after(hard), 'refusing-requests');
    t.equal(after(pressed), 'refusing-requests', 'not far enough below');
    t.equal(after(pressed - 1), 'refusing-sessions');
    t.equal(after(calm - 1), 'serving');
    t.equal(after(hard), 'refusing-requests', 'at once, when it comes at once');
    t.equal(after(0), 'refusing-sessions', 'and back a step a reading');
    t.equal(after(0), 'serving');
  });
}

for (const [gauge, calm, pressed, hard] of marks) {
  t.test(`${gauge} that stays a little below a mark leaves it behind in the end`, async (t) => {
    const overload = new Overload(logInto([]));
    const afterMany = (value: number, count: number): OverloadState => {
      for (let n = 0; n < count; n++) overload.observe({ ...CALM, [gauge]: value });
      return overload.state;
    };
    t.equal(afterMany(hard, 1), 'refusing-requests');
    t.equal(afterMany(hard - 1, OVERLOAD_CALM_SAMPLES - 1), 'refusing-requests');
    t.equal(afterMany(hard, 1), 'refusing-requests', 'it begins anew');
    t.equal(afterMany(hard - 1, OVERLOAD_CALM_SAMPLES - 1), 'refusing-requests');
    t.equal(afterMany(hard - 1, 1), 'refusing-sessions');
    t.equal(afterMany(pressed, 2 * OVERLOAD_CALM_SAMPLES), 'refusing-sessions', 'not below the mark');
    t.equal(afterMany(calm, OVERLOAD_CALM_SAMPLES - 1), 'refusing-sessions');
    t.equal(afterMany(calm, 1), 'serving');
    t.equal(afterMany(pressed - 1, OVERLOAD_CALM_SAMPLES), 'serving');
  });
}

t.test('what is refused', async (t) => {
  const refused = (state: OverloadState): (string | undefined)[] => {
    const overload = overloadIn(state);
    return ['POST', 'DELETE'].map((method) => overload.requestRefusalOf(method)?.code);
  };
  t.same(refused('serving'), [undefined, undefined]);
  t.same(refused('refusing-sessions'), [undefined, undefined]);
  t.same(refused('refusing-requests'), ['overloaded', undefined]);
  t.equal(overloadIn('refusing-sessions').healthRefusal, undefined);
  t.equal(overloadIn('refusing-requests').healthRefusal, refusals.overloaded);
});

t.test('the distance to the second mark is known, and whether memory is short', async (t) => {
  const overload = new Overload(logInto([]));
  const after = (reading: Partial<OverloadSample>): [number, boolean] => {
    overload.observe({ ...CALM, ...reading });
    return [overload.headroom, overload.isShortOfMemory];
  };
  const first = overloadBounds.residentPercentPressed;
  const second = overloadBounds.residentPercentHardPressed;
  const loopDelayHardPressedMs = overloadBounds.loopDelayHardPressedMs;
  t.equal(overload.headroom, 1);
  t.equal(after({ residentPercent: first - 1 })[0], 1);
  t.equal(after({ residentPercent: first })[0], 1);
  t.equal(after({ residentPercent: (first + second) / 2 })[0], 0.5);
  t.ok(
    after({ residentPercent: (first + second) / 2, heapPercent: overloadBounds.heapPercentHardPressed - 1 })[0] < 0.2,
  );
  t.same(after({ residentPercent: second }), [0, true]);
  t.same(after({ residentPercent: first }), [0, true], 'as long as that keeps it in this state');
  t.same(after({ residentPercent: first - 1 }), [1, false]);
  t.same(after({ loopDelayMs: loopDelayHardPressedMs }), [0, false]);
  t.same(after({ loopDelayMs: loopDelayHardPressedMs, residentPercent: second }), [0, true]);
});

t.test('each change of state is logged in one line', async (t) => {
  const lines: string[] = [];
  const overload = new Overload(logInto(lines));
  for (const pressure of [
    'calm',
    'pressed',
    'pressed',
    'hard pressed',
    'hard pressed',
    'calm',
    'calm',
    'calm',
  ] as const)
    overload.observe(READINGS[pressure]);
  t.same(
    lines.map((line) => (JSON.parse(line) as { msg: string }).msg),
    [
      'overloaded: new sessions are refused',
      'overloaded: new requests are refused',
      'overloaded: new sessions are refused',
      'overload is over: everything is accepted again',
    ],
  );
});

/** Gauges that the test sets. */
class TurnedGauges implements OverloadGauges {
  ms = 0;
  waitedMs = 0;
  resident = 0;
  live = 0;
  garbage = 0;
  collectionMs = 0;
  collections = 0;

  nowMs(): number {
    return this.ms;
  }
  runQueueWaitMs(): number {
    return this.waitedMs;
  }
  residentBytes(): number {
    return this.resident + this.garbage;
  }
  liveHeapBytes(): number {
    return this.live;
  }
  heapBytesMax(): number {
    return 100;
  }
  collectGarbage(): void {
    this.collections += 1;
    this.garbage = 0;
    this.ms += this.collectionMs;
  }
}

interface Watched {
  readonly gauges: TurnedGauges;
  readonly overload: Overload;
  /** Of the late milliseconds, `waitedMs` is the time that the process waited for a processor. */
  readonly read: (lateMs?: number, waitedMs?: number) => OverloadState;
  /** The published delays. */
  readonly delaysMs: readonly number[];
}

function watched(): Watched {
  const gauges = new TurnedGauges();
  const overload = new Overload(logInto([]));
  const delaysMs: number[] = [];
  const watch = new OverloadWatch(overload, 1_000, gauges, (delayMs) => delaysMs.push(delayMs));
  const read = (lateMs = 0, waitedMs = 0): OverloadState => {
    gauges.waitedMs += waitedMs;
    gauges.ms += OVERLOAD_SAMPLE_MS + lateMs;
    watch.takeSample();
    return overload.state;
  };
  return { gauges, overload, read, delaysMs };
}

t.test('an event loop that is late once is not overloaded; one that is always late is', async (t) => {
  const { read } = watched();
  for (let each = 0; each < 4; each += 1) t.equal(read(5_000), 'serving', 'the first few');
  for (let each = 0; each < 10; each += 1) t.equal(read(), 'serving');
  t.equal(read(5_000), 'serving', 'one long task');
  for (let each = 0; each < 3; each += 1) t.equal(read(400), 'serving');
  t.equal(read(400), 'refusing-sessions');
  t.equal(read(0), 'serving', 'and one reading in time is enough');
});

t.test('an event loop that is late because others have the processor is not overloaded', async (t) => {
  const { read, delaysMs } = watched();
  for (let each = 0; each < 10; each += 1) t.equal(read(900, 800), 'serving', 'a tenth of a second was its own');
  t.equal(read(400, 600), 'serving', 'it waited before it was late, too');
  t.same([...new Set(delaysMs)], [900, 400], 'how late it was is published all the same');
  for (let each = 0; each < 4; each += 1) t.equal(read(900, 500), 'serving');
  t.equal(read(900, 500), 'refusing-sessions', 'nearly half a second was its own, again and again');
  t.equal(read(400, 400), 'serving');
});

t.test('garbage is no overload: it is collected first, but not again and again', async (t) => {
  const { gauges, read } = watched();
  gauges.resident = 500;
  gauges.garbage = 450;
  t.equal(read(), 'serving');
  t.equal(gauges.collections, 1);
  gauges.garbage = 450;
  t.equal(read(), 'refusing-requests', 'too soon to look again');
  t.equal(gauges.collections, 1);
  gauges.ms += OVERLOAD_COLLECTION_MS;
  read();
  t.equal(gauges.collections, 2, 'a worker that takes nothing makes no garbage: somebody has to ask');
  t.equal(read(), 'serving');
});

t.test('a collection is due at the first mark, and its pause is not published as a delay', async (t) => {
  const { gauges, read, delaysMs } = watched();
  gauges.collectionMs = 2_000;
  gauges.resident = 10 * overloadBounds.residentPercentPressed;
  t.equal(read(), 'refusing-sessions');
  t.equal(gauges.collections, 1);
  read();
  t.same(delaysMs, [0, 0]);
});

t.test('readings are taken until they are stopped', async (t) => {
  const counts = [0, 0];
  const [first, second] = counts.map((_, index) => {
    const onDelay = (): void => void (counts[index]! += 1);
    return new OverloadWatch(new Overload(logInto([])), 1_000, new TurnedGauges(), onDelay);
  });
  const timer = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(timer));
  first!.start();
  await until(() => counts[0]! >= 2, 'readings of the first');
  first!.stop();
  const taken = counts[0];
  second!.start();
  await until(() => counts[1]! >= 2, 'readings of the second');
  second!.stop();
  t.equal(counts[0], taken, 'none of the first meanwhile');
});

t.test('memory is collected where it is short, not where it is enough', async (t) => {
  const { gauges, read } = watched();
  gauges.live = overloadBounds.heapPercentPressed - 1;
  gauges.resident = 10 * overloadBounds.residentPercentPressed - 1;
  read();
  t.equal(gauges.collections, 0);
  gauges.live = overloadBounds.heapPercentPressed;
  read();
  t.equal(gauges.collections, 1, 'the heap alone is enough');
});

t.test('the heap is measured against V8’s limit, the process against the option', async (t) => {
  const { gauges, read } = watched();
  gauges.live = 69;
  gauges.resident = 799;
  t.equal(read(), 'serving');
  gauges.live = 70;
  t.equal(read(), 'refusing-sessions');
  gauges.live = 0;
  t.equal(read(), 'refusing-sessions', 'for there is the other gauge');
  gauges.resident = 0;
  t.equal(read(), 'serving');
});

t.test(
  'freed memory that the C library keeps counts where nothing else is known, and not where V8 knows better',
  async (t) => {
    const managed = new ProcessGauges('managed');
    const before = managed.residentBytes();
    const taken = Array.from({ length: 64 }, () => Buffer.alloc(MIB, 1));
    t.ok(managed.residentBytes() - before > 32 * MIB, `${taken.length} MiB in use are seen`);
    t.ok(managed.residentBytes() <= process.memoryUsage.rss(), 'and never more than is resident');
    t.ok(new ProcessGauges().residentBytes() >= managed.residentBytes());
    const { rss, heapTotal, external } = process.memoryUsage();
    t.intercept(process.memoryUsage, 'rss', { value: () => rss + 1_000 * MIB });
    t.ok(new ProcessGauges().residentBytes() >= rss + 1_000 * MIB, 'what is resident');
    t.ok(managed.residentBytes() < rss + 500 * MIB, 'and what V8 has, with the code');
    t.ok(managed.residentBytes() > heapTotal + external - 64 * MIB);
  },
);
