import t from 'tap';
import { StreamNumbers, STREAMS_MAX, StreamTable } from '../../../src/worker/hop/socket.js';
import { Random } from '../../support/random.js';
import { hopBounds } from '../../../src/worker/hop/frames.js';

t.test('numbers are never 0, and none is in use twice', async (t) => {
  const numbers = new StreamNumbers();
  const random = new Random(3);
  const out = new Set<number>();
  for (let turn = 0; turn < 300_000; turn += 1) {
    if (out.size < 100 && random.chance(0.6)) {
      const stream = numbers.take();
      if (stream < 1 || stream > 0xffffffff || out.has(stream)) t.fail(`${stream} in turn ${turn}`);
      out.add(stream);
    } else {
      const [stream] = out;
      if (stream === undefined) continue;
      out.delete(stream);
      numbers.giveBack(stream);
    }
  }
  t.ok(Math.max(...[...out].map((stream) => stream & 0xffff)) < 100, 'places are used again');
});

t.test('the first place has no number 0 either, after all its uses', (t) => {
  const numbers = new StreamNumbers();
  let isZero = false;
  for (let use = 0; use <= 0x10000; use += 1) {
    const stream = numbers.take();
    isZero ||= stream === 0;
    numbers.giveBack(stream);
  }
  t.notOk(isZero);
  t.end();
});

t.test('a number is reused after 65,535 others at the earliest', async (t) => {
  const numbers = new StreamNumbers();
  const first = numbers.take();
  numbers.giveBack(first);
  let others = 0;
  for (let stream = numbers.take(); stream !== first; stream = numbers.take()) {
    numbers.giveBack(stream);
    others += 1;
  }
  t.ok(others >= 0xffff - 1, `${others} others`);
});

t.test('there is a place for as many hops as a link may have', async (t) => {
  const numbers = new StreamNumbers();
  const table = new StreamTable();
  for (let hop = 0; hop < hopBounds.hopsPerLinkMax; hop += 1) {
    if (!table.add({ stream: numbers.take() })) t.fail(`hop ${hop} has no place`);
  }
  t.equal(table.size, hopBounds.hopsPerLinkMax);
  t.ok(hopBounds.hopsPerLinkMax <= STREAMS_MAX);
});

t.test('the table finds the stream of a number, and no other in the same place', async (t) => {
  const table = new StreamTable<{ stream: number; name: string }>();
  const one = { stream: 0x00010005, name: 'one' };
  const samePlace = { stream: 0x00020005, name: 'same place' };
  t.ok(table.add(one));
  t.notOk(table.add(samePlace));
  t.equal(table.get(one.stream), one);
  t.equal(table.get(samePlace.stream), undefined);
  t.equal(table.get(0x00010004), undefined);
  t.equal(table.get(0xffffffff), undefined);
  table.delete(samePlace.stream);
  t.same(table.values(), [one]);
  table.delete(one.stream);
  table.delete(one.stream);
  t.equal(table.size, 0);
  t.ok(table.add(samePlace));
  t.equal(table.get(samePlace.stream), samePlace);
});
