import t from 'tap';
import { CoalescedRuns } from '../../src/fair/coalesced-runs.js';

/** Runs that end when the test says so. */
class HeldRuns {
  readonly begun: string[] = [];
  readonly #ends: { resolve: () => void; reject: (error: Error) => void }[] = [];
  readonly runs = new CoalescedRuns((key) => {
    this.begun.push(key);
    return new Promise<void>((resolve, reject) => this.#ends.push({ resolve, reject }));
  });

  end(index: number, error?: Error): void {
    if (error === undefined) this.#ends[index]?.resolve();
    else this.#ends[index]?.reject(error);
  }
}

t.test('callers that ask during a run share the run after it', async (t) => {
  const held = new HeldRuns();
  const first = held.runs.run('a');
  const second = held.runs.run('a');
  const third = held.runs.run('a');
  t.same(held.begun, ['a'], 'one at a time');
  held.end(0);
  await first;
  await Promise.resolve();
  t.same(held.begun, ['a', 'a'], 'one run for both who asked');
  let isSecondOver = false;
  void second.then(() => (isSecondOver = true));
  const fourth = held.runs.run('a');
  t.not(fourth, third, 'the run under way has begun before this call');
  t.equal(isSecondOver, false);
  held.end(1);
  await Promise.all([second, third]);
  await Promise.resolve();
  held.end(2);
  await fourth;
  t.equal(held.begun.length, 3);
  await held.runs.settled();
});

t.test('runs of different keys do not wait for each other', async (t) => {
  const held = new HeldRuns();
  const both = [held.runs.run('a'), held.runs.run('b')];
  t.same(held.begun, ['a', 'b']);
  held.end(0);
  held.end(1);
  await Promise.all(both);
});

t.test('a failure affects that run alone', async (t) => {
  const held = new HeldRuns();
  const first = held.runs.run('a');
  const second = held.runs.run('a');
  held.end(0, new Error('broken'));
  await t.rejects(first, new Error('broken'));
  await Promise.resolve();
  held.end(1);
  await second;
  const later = held.runs.run('a');
  t.equal(held.begun.length, 3, 'and the next starts at once');
  held.end(2);
  await later;
});

t.test('settled waits for current runs and those that follow them', async (t) => {
  const held = new HeldRuns();
  const first = held.runs.run('a');
  const second = held.runs.run('a');
  let isSettled = false;
  const settled = held.runs.settled().then(() => (isSettled = true));
  held.end(0);
  await first;
  await new Promise(setImmediate);
  t.equal(isSettled, false);
  held.end(1);
  await second;
  await settled;
  t.equal(isSettled, true);
});
