// The processes are stand-ins, because only their identity matters.
import { EventEmitter } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import t from 'tap';
import { WorkerPolls } from '../../src/primary/worker-polls.js';

const LONG_MS = 60_000;

function workers(): [ChildProcess, ChildProcess] {
  return [new EventEmitter() as ChildProcess, new EventEmitter() as ChildProcess];
}

t.test('a round ends when the last worker has answered with its ticket, or has ended', async (t) => {
  const [one, other] = workers();
  const rounds = new WorkerPolls<string>();
  const tickets: number[] = [];
  const [first, second] = [1, 2].map(() => rounds.ask([one, other], LONG_MS, (_, ticket) => tickets.push(ticket)));
  t.equal(rounds.openCount, 2);
  const [, , ofSecond = 0] = tickets;
  rounds.onAnswer(one, ofSecond, 'a');
  rounds.onAnswer(one, ofSecond, 'again');
  rounds.onAnswer(other, ofSecond, 'b');
  t.same(
    [...((await second)?.answers.values() ?? [])],
    ['a', 'b'],
    'each round has its own ticket, each worker answers once',
  );
  t.equal(rounds.openCount, 1, 'the other round goes on');
  rounds.onWorkerGone(one);
  rounds.onWorkerGone(other);
  const { answers, silent } = (await first) ?? {};
  t.same([answers?.size, silent?.size], [0, 0], 'who has ended is not silent');
  t.equal(rounds.openCount, 0);
});

t.test('a silent worker delays a round for its time, and nobody to ask not at all', async (t) => {
  const [one, mute] = workers();
  const rounds = new WorkerPolls<string>();
  const begunAtMs = performance.now();
  const { answers, silent } = await rounds.ask([one, mute], 50, (worker, ticket) => {
    if (worker === one) setImmediate(() => rounds.onAnswer(one, ticket, 'a'));
  });
  t.ok(performance.now() - begunAtMs >= 45);
  t.equal(answers.get(one), 'a');
  t.ok(silent.has(mute) && silent.size === 1);
  t.equal((await rounds.ask([], LONG_MS, () => t.fail('there is nobody'))).silent.size, 0);
});
