import t from 'tap';
import { Fifo } from '../../src/streams/replay-buffer.js';
import { Random } from '../support/random.js';

t.test('the queue behaves like an array', async (t) => {
  const random = new Random(5);
  const fifo = new Fifo<number>();
  const model: number[] = [];
  let faults = 0;
  for (let step = 0; step < 20_000; step += 1) {
    if (random.chance(0.001)) {
      fifo.clear();
      model.length = 0;
    } else if (random.chance(step % 4_000 < 2_000 ? 0.7 : 0.3)) {
      fifo.push(step);
      model.push(step);
    } else if (fifo.shift() !== model.shift()) {
      faults += 1;
    }
    const index = random.below(model.length + 4) - 2;
    if (fifo.length !== model.length || fifo.at(index) !== model[index]) faults += 1;
    fifo.replace(index, -step);
    if (model[index] !== undefined) model[index] = -step;
  }
  t.equal(faults, 0);
});

t.test('removing the first of very many items costs as much as the first of a few', async (t) => {
  const tries = [fewUs, manyUs].map((measure) => Math.min(measure(), measure(), measure()));
  const [few = 0, many = 0] = tries;
  t.ok(many < 50 * few, `${many} µs of many, ${few} µs of a few`);
});

const fewUs = (): number => turnOverUs(10);
const manyUs = (): number => turnOverUs(100_000);

/** The CPU time that it takes to add and remove 20,000 items in a queue of that length: others may have the core meanwhile. */
function turnOverUs(length: number): number {
  const fifo = new Fifo<object>();
  for (let index = 0; index < length; index += 1) fifo.push({});
  const before = process.cpuUsage();
  for (let index = 0; index < 20_000; index += 1) {
    fifo.push({});
    fifo.shift();
  }
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
