// Who reads when, on clocks that the test moves: real timers that are due run in the same turn of the event loop when the machine was busy.
import {
  detachedReadRules,
  DETACHED_READ_PAUSE_FACTOR,
  DETACHED_READ_PAUSE_MS_MAX,
} from '../../src/calls/detached-call.js';
import { mock } from 'node:test';
import t from 'tap';
import { FairQueueEntry } from '../../src/fair/fair-queue.js';
import { TurnScheduler } from '../../src/fair/turn-scheduler.js';

t.before(() => mock.timers.enable({ apis: ['setTimeout'] }));
t.teardown(() => mock.timers.reset());

t.test('subjects take turns, one slice at a time, and a call that has ended leaves the queue', (t) => {
  let nowMs = 0;
  const turns = new TurnScheduler(detachedReadRules, () => nowMs);
  const read: string[] = [];
  const wait = (subject: string, number: number): ReturnType<TurnScheduler['wait']> =>
    turns.wait(subject, () => {
      read.push(`${subject}${number}`);
      nowMs += 1;
    });
  for (let number = 0; number < 5; number += 1) wait('a', number);
  const over = wait('b', 0);
  wait('b', 1);
  if (over instanceof FairQueueEntry) over.leave();
  t.same(read, [], 'nothing from within');
  const order = ['a0', 'b1', 'a1', 'a2', 'a3', 'a4'];
  mock.timers.tick(1);
  for (let count = 1; count <= order.length; count += 1) {
    t.same(read, order.slice(0, count), 'one more after each rest');
    mock.timers.tick(DETACHED_READ_PAUSE_FACTOR);
  }
  t.same(read, order);
  t.end();
});

t.test('a slow slice is followed by a longer rest, up to a bound', (t) => {
  let nowMs = 0;
  const turns = new TurnScheduler(detachedReadRules, () => nowMs);
  let readCount = 0;
  const sliceMs = [1, 4, 1_000_000, 0];
  for (const ms of sliceMs) {
    turns.wait('a', () => {
      readCount += 1;
      nowMs += ms;
    });
  }
  mock.timers.tick(1);
  t.equal(readCount, 1);
  const restsMs = [DETACHED_READ_PAUSE_FACTOR, 4 * DETACHED_READ_PAUSE_FACTOR, DETACHED_READ_PAUSE_MS_MAX];
  for (const [index, restMs] of restsMs.entries()) {
    mock.timers.tick(restMs - 1);
    t.equal(readCount, index + 1, `no other before ${restMs} ms`);
    mock.timers.tick(1);
    t.equal(readCount, index + 2, `the next after ${restMs} ms`);
  }
  t.end();
});

t.test('time that is spent beyond the turn counts as well', (t) => {
  const turns = new TurnScheduler(detachedReadRules, () => 0);
  let readCount = 0;
  turns.wait('a', () => {
    readCount += 1;
    turns.noteSpent(5);
  });
  turns.wait('a', () => (readCount += 1));
  mock.timers.tick(1);
  mock.timers.tick(5 * DETACHED_READ_PAUSE_FACTOR - 1);
  t.equal(readCount, 1);
  mock.timers.tick(1);
  t.equal(readCount, 2);
  t.end();
});
