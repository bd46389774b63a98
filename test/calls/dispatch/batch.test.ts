// Batches in detail: each member counts in the shares, and a caller that goes away, or an answer that breaks, is handled
// member by member.
import t from 'tap';
import { readEvents } from '../../support/event-stream.js';
import type { RpcMessage } from '../../support/mcp-caller.js';
import type { ShareOptions } from '../../../src/config/dataplane-options.js';
import type { ExchangeRequest, ExchangeWatcher } from '../../../src/exchange/exchange.js';
import { limits } from '../../../src/shared/limits.js';
import { until } from '../../support/until.js';
import { RecordedExchange } from '../../support/recorded-exchange.js';
import { RelayScene } from '../../relay/relay-scene.js';
import { REQUEST_ID } from '../../upstream/scripted-upstream.js';
import { virtualHostOf } from '../../relay/virtual-host.js';

/** Ignores responses after the caller is gone. */
class Leaving extends RecordedExchange {
  override respond(...answer: Parameters<RecordedExchange['respond']>): void {
    if (!this.isAborted) super.respond(...answer);
  }
}

function call(id: unknown, more: object = {}): unknown {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'b-x', ...more } };
}

function start(t: { teardown(end: () => void): unknown }, shares: Partial<ShareOptions> = {}): RelayScene {
  return new RelayScene(t, virtualHostOf({ b: {} }), shares).open({}, undefined, '2025-03-26');
}

function post(
  scene: RelayScene,
  messages: readonly unknown[],
  request: Partial<ExchangeRequest> = {},
): RecordedExchange {
  return scene.request({ body: Buffer.from(JSON.stringify(messages)), ...request });
}

function messagesOf(exchange: RecordedExchange): RpcMessage[] {
  return JSON.parse((exchange.answer?.body ?? Buffer.from('[]')).toString()) as RpcMessage[];
}

/** One turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

t.test('a batch is known as one, and each member by its method and its backend', async (t) => {
  const scene = start(t);
  const exchange = scene.exchange({
    body: Buffer.from(JSON.stringify([call(1), { jsonrpc: '2.0', id: 2, method: 'ping' }])),
  });
  const identified: (readonly string[])[] = [];
  const none = (): undefined => undefined;
  const watcher: ExchangeWatcher = {
    ...{ isTraced: false, wantsToolErrors: false, onSending: none, onOutcome: none, onDone: none },
    onIdentified: (method, backend) => void identified.push([method, backend]),
    onBatchPart: (part) => void (part.watcher = watcher),
  };
  exchange.watcher = watcher;
  scene.relay.handle({ subject: 'alice', virtualHost: scene.virtualHost }, exchange);
  t.same(identified, [
    ['batch', ''],
    ['tools/call', 'b'],
    ['ping', ''],
  ]);
});

t.test('each member counts as a request; one without room is refused under its own id', async (t) => {
  const scene = start(t, { subjectRequestsInFlightMax: 2 });
  const before = scene.http.calls.length;
  const exchange = post(scene, [call(1), call('two'), call(3), { jsonrpc: '2.0', id: 4, method: 'ping' }]);
  const calls = scene.http.calls.slice(before);
  t.equal(calls.length, 2, 'as many as there is room for');
  t.equal(scene.accounts.used('requests'), 2);
  t.equal(exchange.outcome, 'none', 'the others wait for these');
  for (const sent of calls) sent.json(`{"jsonrpc":"2.0","id":${sent.idText},"result":{"content":[]}}`);
  t.same(messagesOf(exchange), [
    { jsonrpc: '2.0', id: 1, result: { content: [] } },
    { jsonrpc: '2.0', id: 'two', result: { content: [] } },
    {
      jsonrpc: '2.0',
      id: 3,
      error: { code: -32000, message: 'Too many requests of this subject in flight: wait for responses' },
    },
    { jsonrpc: '2.0', id: 4, result: {} },
  ]);
  t.equal(scene.accounts.used('requests'), 0);
});

t.test('a caller that goes away cancels nothing; later answers are dropped and no longer count', async (t) => {
  const scene = start(t);
  const before = scene.http.calls.length;
  const exchange = new Leaving(scene.exchange({ body: Buffer.from(JSON.stringify([call(1), call(2)])) }).request);
  scene.relay.handle({ subject: 'alice', virtualHost: scene.virtualHost }, exchange);
  const [one, two] = scene.http.calls.slice(before);
  const large = JSON.stringify('x'.repeat(2 * limits.countedFromBytes));
  one?.json(`{"jsonrpc":"2.0","id":1,"result":${large}}`);
  t.ok(scene.accounts.used('answerBytes') > 2 * limits.countedFromBytes, 'an answer that waits is counted');
  exchange.abort();
  t.equal(scene.accounts.used('answerBytes'), 0);
  t.notOk(two?.isAborted, 'going away is no cancellation');
  two?.json(`{"jsonrpc":"2.0","id":2,"result":${large}}`);
  t.equal(scene.accounts.used('answerBytes'), 0);
  t.equal(scene.accounts.used('requests'), 0);
});

t.test('the end of the session answers every member', async (t) => {
  const scene = start(t);
  const exchange = post(scene, [call(1), call(2)]);
  scene.request({ method: 'DELETE', body: Buffer.alloc(0) });
  t.match(messagesOf(exchange), [
    { id: 1, error: { code: -32603 } },
    { id: 2, error: { code: -32603 } },
  ]);
});

t.test(
  'on a stream, earlier answers come first, a slow reader pauses the backends that stream, and events stay whole',
  async (t) => {
    const scene = start(t);
    const before = scene.http.calls.length;
    const exchange = post(scene, [
      { jsonrpc: '2.0', id: 0, method: 'ping' },
      call(1, { _meta: { progressToken: 1 } }),
      call(2, { _meta: { progressToken: 2 } }),
    ]);
    const [one, two] = scene.http.calls.slice(before);
    const progress = (token: number, message: string): string =>
      `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: token, progress: 1, message } })}\n\n`;
    one?.head(200, 'text/event-stream').data(progress(1, 'a'));
    two?.head(200, 'text/event-stream');
    exchange.isSlow = true;
    one?.data(progress(1, 'b'));
    t.ok(one?.isPaused, 'held back');
    t.notOk(two?.isPaused);
    two?.data(progress(2, 'c'));
    t.ok(two?.isPaused, 'and so is the next who says something');
    exchange.isSlow = false;
    exchange.drain();
    t.notOk(one?.isPaused || two?.isPaused);
    two?.data('data: {"jsonrpc":"2.0","id":2,"result":{}}\n\n').end();
    one?.data('data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n').end();
    t.equal(exchange.outcome, 'ended');
    const events = readEvents(exchange.written).map((text) => JSON.parse(text) as RpcMessage);
    t.same(
      events.map(({ id, params }) => id ?? (params as { message: string }).message),
      [0, 'a', 'b', 'c', 2, 1],
    );
  },
);

t.test('a client that takes no events gets one array, without what its backends say meanwhile', async (t) => {
  const scene = start(t);
  const before = scene.http.calls.length;
  const exchange = post(scene, [call(1, { _meta: { progressToken: 1 } }), call(2)], { acceptedTypes: 'json' });
  const [one, two] = scene.http.calls.slice(before);
  one
    ?.head(200, 'text/event-stream')
    .data('data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}\n\n')
    .data('data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n')
    .end();
  two?.json('{"jsonrpc":"2.0","id":2,"result":{}}');
  t.equal(exchange.outcome, 'responded');
  t.equal(exchange.answer?.contentType, 'application/json');
  t.match(messagesOf(exchange), [{ id: 1 }, { id: 2 }]);
});

t.test(
  'members that take long to read are read in order over several turns; a cancellation is handled after them',
  async (t) => {
    const scene = start(t);
    const before = scene.http.calls.length;
    const ids = [1, 2, 3, 4, 5, 6];
    const bulk = 'x'.repeat(limits.readAtOnceBytesMax - 1_000);
    post(
      scene,
      ids.map((id) => call(id, { arguments: { id, bulk } })),
    );
    const countOfCalls = (): number => scene.http.calls.length - before;
    while (countOfCalls() === 0) await turn();
    t.ok(countOfCalls() < ids.length, 'not all of them in one turn');
    scene.post('notifications/cancelled', { requestId: 6 });
    await until(() => countOfCalls() > ids.length, 'all of them, and the cancellation');
    const sent = scene.http.calls.slice(before);
    t.same(
      sent.slice(0, ids.length).map(({ text }) => Number(/"id":(\d+),"bulk"/.exec(text)?.[1])),
      ids,
    );
    t.match(sent.at(-1)?.text, /"method":"notifications\/cancelled"/);
  },
);

t.test('a large member that is refused keeps its id', async (t) => {
  const scene = start(t, { subjectRequestsInFlightMax: 1 });
  const before = scene.http.calls.length;
  const bulk = 'x'.repeat(2 * limits.readAtOnceBytesMax);
  const exchange = post(scene, [call(1), call('large', { arguments: { bulk } })]);
  await until(() => scene.http.calls.length > before, 'the first');
  // Time for the other member to be read, and to find the first one in flight.
  for (let turns = 0; turns < 50; turns += 1) await turn();
  const [one] = scene.http.calls.slice(before);
  one?.json(`{"jsonrpc":"2.0","id":1,"result":${JSON.stringify('x'.repeat(limits.batchAnswerBytesMax))}}`);
  await until(() => exchange.outcome === 'responded', 'the answers');
  t.match(messagesOf(exchange), [
    { id: 1, error: { code: -32000 } },
    { id: 'large', error: { code: -32000, message: /^Too many requests/ } },
  ]);
});

t.test('a session that ends before all members of a batch have begun answers the rest with an error', async (t) => {
  const scene = start(t);
  const before = scene.http.calls.length;
  const bulk = 'x'.repeat(limits.readAtOnceBytesMax - 1_000);
  const exchange = post(
    scene,
    [1, 2, 3, 4, 5, 6].map((id) => call(id, { arguments: { bulk } })),
  );
  while (scene.http.calls.length === before) await turn();
  scene.request({ method: 'DELETE', body: Buffer.alloc(0) });
  await until(() => exchange.outcome === 'responded', 'the answers');
  const messages = messagesOf(exchange);
  t.match(messages[0], { id: 1, error: { code: -32603 } });
  t.match(messages[5], { id: 6, error: { code: -32000, message: 'Session not found: initialize again' } });
});

for (const [form, open] of [
  ['as a whole', () => undefined],
  ['as an event', (scene: RelayScene) => scene.context.advance(scene.context.answers.slowAnswerMs + 100)],
] as const) {
  t.test(`a list that is too large for its batch is refused, and given up: ${form}`, async (t) => {
    const scene = start(t);
    t.teardown(async () => {
      const stopped = scene.relay.stop();
      scene.context.advance(limits.oneWayRequestMsMax + 100);
      await stopped;
    });
    const before = scene.http.calls.length;
    const exchange = post(scene, [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }, call(2)]);
    const [list, called] = scene.http.calls.slice(before);
    open(scene);
    const tools = [{ name: 'x', description: 'x'.repeat(limits.batchAnswerBytesMax) }];
    const text = JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result: { tools } });
    list?.head(200, 'application/json');
    for (let at = 0; at < text.length; at += 100_000) list?.data(text.slice(at, at + 100_000));
    list?.end();
    await until(() => scene.accounts.used('listBytes') > 0, 'the list');
    await until(() => scene.accounts.used('listBytes') === 0, 'its bytes given back');
    called?.json(`{"jsonrpc":"2.0","id":${called.idText},"result":{}}`);
    const messages =
      exchange.outcome === 'ended'
        ? readEvents(exchange.written).map((event) => JSON.parse(event) as RpcMessage)
        : messagesOf(exchange);
    t.match(messages, [
      { id: 1, error: { code: -32000 } },
      { id: 2, result: {} },
    ]);
  });
}
