// The exchange of a batch, and those of its members, without a relay around them.
import t, { type Test } from 'tap';
import { Batch } from '../../src/calls/dispatch/batch.js';
import type { Exchange } from '../../src/exchange/exchange.js';
import { ScansInProgress } from '../../src/streams/in-flight/requests-in-flight.js';
import { OWN_INTRODUCTION } from '../../src/upstream/session/client-introduction.js';
import type { ShareOptions } from '../../src/config/dataplane-options.js';
import type { Accounts } from '../../src/fair/share.js';
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
function run(t: Test, count: number, shares: Partial<ShareOptions> = {}): Run {
  const accounts = createAccounts(shares);
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
    scansInProgress: new ScansInProgress(),
  };
  const parts: Exchange[] = [];
  const { answers } = createMessageMemories(accounts, deadlines);
  new Batch(answers, session, exchange).run({ kind: 'batch', members }, (part) => parts.push(part));
  return { accounts, exchange, parts };
}

t.test('each member has memory of its own, and that of the batch is released', (t) => {
  const { exchange, parts } = run(t, 2);
  t.ok(
    exchange.request.body.every((byte) => byte === 0),
    'it is let go before any member is over',
  );
  t.same(
    parts.map(({ request }) => request.body.toString()),
    ['{"jsonrpc":"2.0","id":0,"method":"ping"}', '{"jsonrpc":"2.0","id":1,"method":"ping"}'],
  );
  t.end();
});

t.test('an answer that breaks cuts the batch: other members are aborted, and their answers are not kept', (t) => {
  const { accounts, exchange, parts } = run(t, 3);
  const [broken, streaming, other] = parts;
  const told: string[] = [];
  for (const [name, part] of Object.entries({ broken, streaming, other })) part!.onAbort = () => told.push(name);
  other?.respond(200, 'application/json', Buffer.alloc(MIB));
  t.equal(accounts.used('answerBytes'), MIB);
  broken?.openBody('application/json', 100);
  broken?.reset();
  t.equal(exchange.outcome, 'cut');
  t.same(told, ['streaming'], 'neither who cut, nor who was over');
  t.ok(streaming?.isAborted);
  t.equal(accounts.used('answerBytes'), 0);
  streaming?.openStream();
  streaming?.write(Buffer.from('data: {}\n\n'));
  streaming?.end();
  t.equal(exchange.outcome, 'cut');
  t.end();
});

t.test('a member that answers after the cut holds no room', (t) => {
  const { accounts, exchange, parts } = run(t, 2);
  parts[0]?.openBody('application/json', 100);
  parts[0]?.reset();
  parts[1]?.respond(200, 'application/json', Buffer.alloc(MIB));
  t.equal(accounts.used('answerBytes'), 0);
  t.equal(exchange.outcome, 'cut');
  t.end();
});

for (const [what, shares, isKept] of [
  ['its subject’s share has room', {}, true],
  ['its subject’s share is full', { subjectBytesInFlightMax: 5 * MIB }, false],
] as const) {
  t.test(`answers behind a stream that its caller reads slowly, when ${what}`, (t) => {
    const { accounts, exchange, parts } = run(t, 3, shares);
    exchange.isSlow = true;
    parts[0]?.openStream();
    parts[0]?.write(Buffer.from('data: {}\n\n'));
    const large = Buffer.from(JSON.stringify({ large: 'x'.repeat(3 * MIB) }));
    parts[1]?.respond(200, 'application/json', large);
    parts[2]?.respond(200, 'application/json', large);
    parts[0]?.end();
    t.equal(accounts.used('answerBytes') > 6 * MIB, isKept);
    exchange.isSlow = false;
    exchange.drain();
    t.equal(exchange.outcome, 'ended');
    t.equal(accounts.used('answerBytes'), 0);
    const [, first = '', second = ''] = readEvents(exchange.written);
    t.equal(first.length, large.length);
    if (isKept) t.equal(second.length, large.length);
    else t.match(JSON.parse(second), { id: 2, error: { code: -32000 } });
    t.end();
  });
}

t.test('a caller that reads slowly again and again gets every event before the end of the stream', (t) => {
  const { accounts, exchange, parts } = run(t, 2);
  exchange.isSlow = true;
  parts[0]?.openStream();
  for (const name of ['a', 'b', 'c']) parts[0]?.write(Buffer.from(`data: "${name}"\n\n`));
  parts[1]?.respond(200, 'application/json', Buffer.from('{"id":1}'));
  parts[0]?.end();
  for (const count of [1, 2, 3, 4]) {
    t.equal(readEvents(exchange.written).length, count);
    t.equal(exchange.outcome, 'streaming', 'it has not read all');
    exchange.drain();
  }
  t.same(readEvents(exchange.written), ['"a"', '"b"', '"c"', '{"id":1}']);
  t.equal(exchange.outcome, 'ended');
  t.equal(accounts.used('answerBytes'), 0);
  t.end();
});
