// Large texts that are read in slices give the same result as texts read at once, and no text blocks the others.
import t from 'tap';
import { JsonScanner } from '../../src/bytes/json-scanner.js';
import { ScanQueue, type Scan, SCAN_SLICE_BYTES, SCANS_STARTED_MAX } from '../../src/bytes/scan-queue.js';
import { Random } from '../support/random.js';
import { randomJson } from '../support/random-json.js';
import { until } from '../support/until.js';

interface Outcome {
  readonly isSound: boolean;
  /** Of every recorded value: its start, its end, and the next value's index. */
  readonly places: readonly number[];
}

function outcomeOf(tape: JsonScanner | undefined): Outcome {
  if (tape === undefined) return { isSound: false, places: [] };
  const places = Array.from({ length: tape.count }, (_, node) => [tape.start(node), tape.end(node), tape.next(node)]);
  return { isSound: true, places: places.flat() };
}

function readInSlices(queue: ScanQueue, bytes: Buffer, depth: number): Promise<Outcome> {
  return new Promise((resolve) => queue.scan('alice', bytes, depth, (tape) => resolve(outcomeOf(tape))));
}

/** Reads the whole text at once, as the reference. */
function readAtOnce(bytes: Buffer, depth: number): Outcome {
  const scanner = new JsonScanner();
  return outcomeOf(scanner.scan(bytes, depth) ? scanner : undefined);
}

const SLICE = SCAN_SLICE_BYTES;

t.test('any text, wherever it is cut, gives the same result in slices as when read at once', async (t) => {
  const random = new Random(3);
  const queue = new ScanQueue();
  const texts: Buffer[] = [];
  for (let each = 0; each < 60; each += 1) {
    const parts: string[] = [];
    for (let bytes = 0; bytes < SLICE * 2.2; bytes += Buffer.byteLength(parts.at(-1) ?? ''))
      parts.push(randomJson(random, 4));
    const text = Buffer.from(`{"pad":"${'ü'.repeat(random.below(200))}","x":[${parts.join(',')}]}`);
    // About half of the texts get one random byte.
    if (random.below(2) === 0) text[random.below(text.length)] = random.below(256);
    texts.push(text);
  }
  const outcomes = await Promise.all(texts.map((text) => readInSlices(queue, text, 3)));
  for (const [index, text] of texts.entries()) t.same(outcomes[index], readAtOnce(text, 3), `text ${index}`);
});

t.test('characters of every length may cross the end of a slice', async (t) => {
  const queue = new ScanQueue();
  for (const character of ['ü', '€', '😀']) {
    for (let shift = 0; shift < 5; shift += 1) {
      const text = Buffer.from(`"${'x'.repeat(SLICE - 4 + shift)}${character}${'y'.repeat(SLICE)}"`);
      t.ok((await readInSlices(queue, text, 1)).isSound, `${character} at ${shift}`);
      const cut = Buffer.from(text);
      cut[cut.indexOf(Buffer.from(character).at(-1)!)] = 0x78;
      t.notOk((await readInSlices(queue, cut, 1)).isSound, `half of ${character} at ${shift}`);
    }
  }
  const endless = Buffer.concat([
    Buffer.from(`"${'x'.repeat(SLICE - 5)}`),
    Buffer.alloc(SLICE, 0x80),
    Buffer.from('"'),
  ]);
  t.notOk((await readInSlices(queue, endless, 1)).isSound, 'bytes that begin no character');
});

t.test('a cancelled reading is not called back, and the others are', async (t) => {
  const queue = new ScanQueue();
  const text = Buffer.from(`[${'1,'.repeat(SLICE)}1]`);
  const told: string[] = [];
  const first = queue.scan('alice', text, 0, () => told.push('first'));
  const second = queue.scan('alice', text, 0, () => {
    told.push('second');
    third.cancel();
  });
  const third = queue.scan('alice', text, 0, () => told.push('third'));
  queue.scan('alice', text, 0, () => told.push('fourth'));
  first.cancel();
  first.cancel();
  await until(() => told.includes('fourth'), 'the last');
  second.cancel();
  await readInSlices(queue, text, 0);
  t.same(told, ['second', 'fourth']);
});

t.test('a small text overtakes a giant one, which is still read while small ones keep coming', async (t) => {
  const queue = new ScanQueue();
  const giant = Buffer.from(`[${'{},'.repeat(SLICE * 20)}1]`);
  const small = Buffer.from(`[${'{},'.repeat(SLICE)}1]`);
  let isGiantRead = false;
  const done = readInSlices(queue, giant, 0).then((outcome) => {
    isGiantRead = true;
    return outcome;
  });
  await readInSlices(queue, small, 0);
  t.notOk(isGiantRead, 'the small one came first');
  let smallCount = 0;
  while (!isGiantRead) {
    await Promise.all([readInSlices(queue, small, 0), readInSlices(queue, small, 0)]);
    smallCount += 2;
  }
  t.ok((await done).isSound);
  t.ok(smallCount > 0);
});

t.test('more texts than may be begun at once are all read', async (t) => {
  const queue = new ScanQueue();
  const count = SCANS_STARTED_MAX * 4;
  const texts = Array.from({ length: count }, (_, index) => Buffer.from(`[${'[],'.repeat(SLICE)}${index}]`));
  const outcomes = await Promise.all(texts.map((text) => readInSlices(queue, text, 0)));
  t.equal(outcomes.filter(({ isSound }) => isSound).length, count);
});

t.test('the event loop runs other work between slices', async (t) => {
  const queue = new ScanQueue();
  let isRead = false;
  void readInSlices(queue, Buffer.from(`[${'{},'.repeat(SLICE * 40)}1]`), 0).then(() => (isRead = true));
  let turns = 0;
  while (!isRead) {
    await new Promise(setImmediate);
    turns += 1;
  }
  // 7.5 MiB in which every byte is a token: more than a tenth of a second of reading.
  t.ok(turns > 5, `${turns} turns`);
});

t.test('readNow calls back synchronously while the turn has time left, and later otherwise', async (t) => {
  const queue = new ScanQueue();
  const small = Buffer.from(`[${'{},'.repeat(SLICE / 64)}1]`);
  let toldCount = 0;
  let askedCount = 0;
  do {
    queue.scanNow('alice', small, 0, () => (toldCount += 1));
    askedCount += 1;
  } while (toldCount === askedCount && askedCount < 100_000);
  t.ok(askedCount > 1, 'the first was read at once');
  t.ok(askedCount < 100_000, 'not all of them in one turn');
  await until(() => toldCount === askedCount, 'the last');

  let isTold = false;
  queue.scanNow('alice', Buffer.from('[]'), 0, () => (isTold = true));
  t.ok(isTold, 'the next turn has its own time');
});

t.test('readNow waits while another text is being read', async (t) => {
  const queue = new ScanQueue();
  const told: string[] = [];
  queue.scanNow('alice', Buffer.from(`[${'{},'.repeat(SLICE * 20)}1]`), 0, () => told.push('giant'));
  queue.scanNow('alice', Buffer.from('[]'), 0, () => told.push('small'));
  t.same(told, []);
  await until(() => told.length === 2, 'both');
  t.same(told, ['small', 'giant']);
});

t.test('a readNow inside a callback is called back after it', async (t) => {
  const queue = new ScanQueue();
  const told: string[] = [];
  queue.scanNow('alice', Buffer.from('[1]'), 0, (outer) => {
    queue.scanNow('alice', Buffer.from('[2,2]'), 1, () => told.push('inner'));
    told.push(`outer of ${outer?.count}`);
  });
  await until(() => told.length === 2, 'the inner one');
  t.same(told, ['outer of 1', 'inner'], 'the tape is its own until it is told');
});

t.test('a subject with one text does not wait for all texts of another subject', async (t) => {
  const queue = new ScanQueue();
  const text = (slices: number): Buffer => Buffer.from(`[${'"xxxxx",'.repeat((slices * SLICE) / 8)}1]`);
  let toldCount = 0;
  for (let each = 0; each < 20; each += 1) queue.scan('attacker', text(10), 0, () => (toldCount += 1));
  let toldBefore = -1;
  // Larger than the others, so that it is not preferred for having the least left to read.
  queue.scan('victim', text(11), 0, () => (toldBefore = toldCount));
  await until(() => toldBefore !== -1, 'the one');
  t.ok(toldBefore <= 3, `${toldBefore} others were read before it`);
  await until(() => toldCount === 20, 'all others');
});

t.test('a subject that has begun its maximum of texts does not keep another subject from beginning one', async (t) => {
  const queue = new ScanQueue();
  const text = (slices: number): Buffer => Buffer.from(`[${'{},'.repeat((slices * SLICE) / 3)}1]`);
  let toldCount = 0;
  const begun: Scan[] = [];
  t.teardown(() => begun.forEach((reading) => reading.cancel()));
  let sliceCount = 0;
  const extras = { onSlice: () => void (sliceCount += 1) };
  // Each text is by far the smallest at that moment, so that it is begun within a few slices.
  for (let number = SCANS_STARTED_MAX; number > 0; number -= 1) {
    begun.push(queue.scan('attacker', text(20 + 20 * number), 0, () => (toldCount += 1), extras));
    for (const before = sliceCount; sliceCount < before + 4;) await new Promise(setImmediate);
  }
  let toldBefore = -1;
  queue.scan('victim', text(2), 0, () => (toldBefore = toldCount));
  await until(() => toldBefore !== -1, 'the one');
  t.equal(toldBefore, 0);
});
