// The exchange of a batch, and those of its members, without a relay around them.
import t, { type Test } from 'tap';
import { Batch } from '../../src/calls/dispatch/batch.js';
import type { Exchange } from '../../src/exchange/exchange.js';
import { ReadingsUnderWay } from '../../src/streams/in-flight/requests-in-flight.js';
import { OWN_INTRODUCTION } from '../../src/upstream/session/client-introduction.js';
import type { Accounts } from '../../src/fair/accounts.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { createMessageMemories } from '../../src/fair/message-memory.js';
import { readEvents } from '../support/event-stream.js';
import { createAccounts } from '../support/shares.js';
import { RecordedExchange } from '../support/recorded-exchange.js';

const MIB = 1024 * 1024;
const identity = {
  id: 's',
  subject: 'alice',
  virtualHostId: 'v',
  protocolVersion: '2025-03-26',
  era: 'legacy' as const,
  introduction: OWN_INTRODUCTION,
};

/** Overwrites its body as soon as it is released. */
class Forgetful extends RecordedExchange {
  override releaseBody(): void {
    this.request.body.fill(0);
  }
}

interface Run {
  readonly accounts: Accounts;
  readonly exchange: RecordedExchange;
  readonly parts: readonly Exchange[];
}

/** Begins a batch of pings. */
function run(t: Test, count: number): Run {
  const accounts = createAccounts();
  const deadlines = new DeadlineWheel();
  t.teardown(() => deadlines.stop());
  const texts = Array.from({ length: count }, (_, id) => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
  const members = texts.map((text, index) => {
    const start = texts.slice(0, index).join(',').length + (index === 0 ? 1 : 2);
    return { start, end: start + text.length };
  });
  const exchange = new Forgetful({ body: Buffer.from(`[${texts.join(',')}]`) });
  const session = {
    identity,
    isEnded: false,
    virtualHost: undefined,
    readings: new ReadingsUnderWay(),
  };
  const parts: Exchange[] = [];
  const { answers } = createMessageMemories(accounts, deadlines);
  new Batch(answers, session, exchange, { kind: 'batch', members }, (part) => parts.push(part));
  return { accounts, exchange, parts };
}

t.test('each member has memory of its own, and that of the batch is released', (t) => {
  const { exchange, parts } = run(t, 2);
  t.ok(
    exchange.request.body.every((byte) => byte === 0),
    'it is let go before any member is over',
  );
  parts[0]?.respond(202, '', '');
  t.same(
    parts.map(({ request }) => request.body.toString()),
    ['{"jsonrpc":"2.0","id":0,"method":"ping"}', '{"jsonrpc":"2.0","id":1,"method":"ping"}'],
  );
  t.end();
});

t.test('an answer that breaks cuts the batch: the others go on unheard, and their answers are not kept', (t) => {
  const { accounts, exchange, parts } = run(t, 4);
  parts[0]?.respond(200, 'application/json', Buffer.alloc(MIB));
  t.equal(accounts.held('answerBytes'), MIB);
  const told: string[] = [];
  parts[1]!.onAbort = () => told.push('broken');
  parts[1]?.openBody('application/json', 100);
  parts[1]?.reset();
  t.equal(exchange.outcome, 'cut');
  t.same(told, [], 'not who cut');
  t.ok(parts[2]?.isAborted);
  t.equal(accounts.held('answerBytes'), 0);
  parts[2]?.openStream();
  parts[2]?.write(Buffer.from('data: {}\n\n'));
  parts[2]?.end();
  parts[3]?.respond(200, 'application/json', Buffer.alloc(MIB));
  t.equal(accounts.held('answerBytes'), 0);
  t.equal(exchange.outcome, 'cut');
  t.end();
});

t.test('behind a stream that its caller reads slowly, the next member waits, and nothing is kept', (t) => {
  const { accounts, exchange, parts } = run(t, 3);
  exchange.isSlow = true;
  parts[0]?.openStream();
  parts[0]?.write(Buffer.from('data: {}\n\n'));
  parts[0]?.end();
  t.equal(parts.length, 1);
  exchange.isSlow = false;
  exchange.drain();
  const large = Buffer.from(JSON.stringify({ large: 'x'.repeat(3 * MIB) }));
  parts[1]?.respond(200, 'application/json', large);
  t.equal(accounts.held('answerBytes'), 0);
  parts[2]?.respond(200, 'application/json', large);
  t.equal(exchange.outcome, 'ended');
  t.same(
    readEvents(exchange.written).map((event) => event.length),
    [2, large.length, large.length],
  );
  t.end();
});
