import t from 'tap';
import type { ToWorker } from '../../src/process/messages.js';
import { ForgetRounds, FORGET_ROUNDS_MAX } from '../../src/primary/forget-rounds.js';
import { createLogger } from '../../src/shared/logger.js';

type Sent = readonly [worker: string, message: ToWorker];

function createRounds(roundMsMax = 60_000): { rounds: ForgetRounds<string>; sent: Sent[] } {
  const sent: Sent[] = [];
  const rounds = new ForgetRounds<string>(
    (worker, message) => sent.push([worker, message]),
    roundMsMax,
    createLogger('silent', {}),
  );
  return { rounds, sent };
}

function ticketOf(sent: readonly Sent[], index: number): number {
  const message = sent[index]?.[1];
  return message?.kind === 'forget' ? message.ticket : NaN;
}

t.test('the announcer is answered, with its own ticket, after the last worker has forgotten', (t) => {
  const { rounds, sent } = createRounds();
  rounds.begin('a', 42, 'alice', ['a', 'b']);
  const ticket = ticketOf(sent, 0);
  t.same(sent.splice(0), [
    ['a', { kind: 'forget', subject: 'alice', ticket }],
    ['b', { kind: 'forget', subject: 'alice', ticket }],
  ]);
  rounds.forgotten('a', ticket);
  rounds.forgotten('a', ticket);
  t.same(sent, [], 'one worker does not count twice');
  rounds.forgotten('b', ticket);
  rounds.forgotten('b', ticket);
  t.same(sent, [['a', { kind: 'all-forgotten', ticket: 42 }]], 'answered once');
  t.end();
});

t.test('equal tickets of two announcers belong to two rounds', (t) => {
  const { rounds, sent } = createRounds();
  rounds.begin('a', 1, 'alice', ['a', 'b']);
  rounds.begin('b', 1, 'bob', ['a', 'b']);
  const bobs = ticketOf(sent, 2);
  sent.length = 0;
  rounds.forgotten('a', bobs);
  rounds.forgotten('b', bobs);
  t.same(sent, [['b', { kind: 'all-forgotten', ticket: 1 }]]);
  rounds.gone('a');
  rounds.gone('b');
  t.end();
});

t.test('a worker that dies meanwhile counts as having forgotten', (t) => {
  const { rounds, sent } = createRounds();
  rounds.begin('a', 1, 'alice', ['a', 'b']);
  rounds.forgotten('a', ticketOf(sent, 0));
  sent.length = 0;
  rounds.gone('c');
  t.same(sent, []);
  rounds.gone('b');
  t.same(sent, [['a', { kind: 'all-forgotten', ticket: 1 }]]);
  t.end();
});

t.test('a silent worker delays the answer for a bounded time', async (t) => {
  const roundMsMax = 50;
  const { rounds, sent } = createRounds(roundMsMax);
  const begunAtMs = performance.now();
  rounds.begin('a', 1, 'alice', ['a', 'b']);
  rounds.forgotten('a', ticketOf(sent, 0));
  sent.length = 0;
  await t.resolveMatch(new Promise((resolve) => (sent.push = (...items) => (resolve(items), 0))), [
    ['a', { kind: 'all-forgotten', ticket: 1 }],
  ]);
  t.ok(performance.now() - begunAtMs >= roundMsMax - 5);
});

t.test('one round beyond the limit ends the oldest', (t) => {
  const { rounds, sent } = createRounds();
  for (let ticket = 1; ticket <= FORGET_ROUNDS_MAX; ticket++) rounds.begin('a', ticket, 'alice', ['a']);
  sent.length = 0;
  rounds.begin('a', 9_999, 'alice', ['a']);
  t.same(sent[0], ['a', { kind: 'all-forgotten', ticket: 1 }]);
  t.equal(sent.length, 2, 'and only the oldest');
  rounds.gone('a');
  t.end();
});

t.test('a round without a worker to ask is over at once', (t) => {
  const { rounds, sent } = createRounds();
  rounds.begin('a', 7, 'alice', []);
  t.same(sent, [['a', { kind: 'all-forgotten', ticket: 7 }]]);
  t.end();
});

t.test('each round is answered once, however many follow it', (t) => {
  const { rounds, sent } = createRounds();
  const count = FORGET_ROUNDS_MAX + 5;
  for (let number = 1; number <= count; number++) {
    rounds.begin('a', number, 'alice', ['a']);
    rounds.forgotten('a', ticketOf(sent, sent.length - 1));
  }
  const answered = sent.flatMap(([, message]) => (message.kind === 'all-forgotten' ? message.ticket : []));
  t.same(
    answered,
    Array.from({ length: count }, (_, index) => index + 1),
  );
  t.end();
});
