// Batches in detail: each member counts in the shares, and a caller that goes away, or an answer that breaks, is handled
// member by member.
import t from 'tap';
import { readEvents } from '../../support/event-stream.js';
import type { RpcMessage } from '../../support/mcp-caller.js';
import type { ShareOptions } from '../../../src/config/dataplane-options.js';
import type { ExchangeRequest } from '../../../src/exchange/exchange.js';
import { limits } from '../../../src/shared/limits.js';
import { until } from '../../support/until.js';
import { RecordedExchange } from '../../support/recorded-exchange.js';
import { RelayScene } from '../../relay/relay-scene.js';
import { REQUEST_ID, type ScriptedCall as SentCall } from '../../upstream/scripted-upstream.js';
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

t.test('one member after the other is a request; one without room is refused under its own id', async (t) => {
  const scene = start(t, { subjectRequestsInFlightMax: 1 });
  const before = scene.http.calls.length;
  const sent = (): readonly SentCall[] => scene.http.calls.slice(before);
  const exchange = post(scene, [call(1), call('two'), { jsonrpc: '2.0', id: 4, method: 'ping' }]);
  t.equal(sent().length, 1, 'the others wait for the first');
  t.equal(scene.accounts.held('requests'), 1);
  sent()[0]?.json(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`);
  t.equal(sent().length, 2);
  const refused = post(scene, [call(3), { jsonrpc: '2.0', id: 5, method: 'ping' }]);
  t.same(messagesOf(refused), [
    {
      jsonrpc: '2.0',
      id: 3,
      error: { code: -32000, message: 'Too many requests of this subject in flight: wait for responses' },
    },
    { jsonrpc: '2.0', id: 5, result: {} },
  ]);
  t.equal(exchange.outcome, 'none', 'until all have their answers');
  sent()[1]?.json(`{"jsonrpc":"2.0","id":"two","result":{"content":[]}}`);
  t.same(messagesOf(exchange), [
    { jsonrpc: '2.0', id: 1, result: { content: [] } },
    { jsonrpc: '2.0', id: 'two', result: { content: [] } },
    { jsonrpc: '2.0', id: 4, result: {} },
  ]);
  t.equal(scene.accounts.held('requests'), 0);
});

t.test('a caller that goes away cancels nothing; later answers are dropped and do not count', async (t) => {
  const scene = start(t);
  const before = scene.http.calls.length;
  const exchange = new Leaving(
    scene.exchange({ body: Buffer.from(JSON.stringify([call(1), call(2), call(3)])) }).request,
  );
  scene.relay.handle({ subject: 'alice', virtualHost: scene.virtualHost }, exchange);
  const large = JSON.stringify('x'.repeat(2 * limits.countedFromBytes));
  scene.http.calls[before]?.json(`{"jsonrpc":"2.0","id":1,"result":${large}}`);
  t.ok(scene.accounts.held('answerBytes') > 2 * limits.countedFromBytes, 'an answer that waits is counted');
  exchange.abort();
  t.equal(scene.accounts.held('answerBytes'), 0);
  for (const id of [2, 3]) {
    const sent = scene.http.calls[before + id - 1];
    t.equal(sent?.isAborted, false, 'going away is no cancellation');
    sent?.json(`{"jsonrpc":"2.0","id":${id},"result":${large}}`);
    t.equal(scene.accounts.held('answerBytes'), 0);
  }
  t.equal(scene.accounts.held('requests'), 0);
});

t.test('the end of the session answers every member, begun or not', async (t) => {
  const scene = start(t);
  const exchange = post(scene, [call(1), call(2)]);
  scene.request({ method: 'DELETE', body: Buffer.alloc(0) });
  t.match(messagesOf(exchange), [
    { id: 1, error: { code: -32603 } },
    { id: 2, error: { code: -32000, message: 'Session not found: initialize again' } },
  ]);
});

t.test('on a stream, earlier answers come first, and a slow reader holds back backend and next member', async (t) => {
  const scene = start(t);
  const before = scene.http.calls.length;
  const exchange = post(scene, [
    { jsonrpc: '2.0', id: 0, method: 'ping' },
    call(1, { _meta: { progressToken: 1 } }),
    call(2, { _meta: { progressToken: 2 } }),
  ]);
  const [one] = scene.http.calls.slice(before);
  const progress = (token: number, message: string): string =>
    `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: token, progress: 1, message } })}\n\n`;
  one?.head(200, 'text/event-stream').data(progress(1, 'a'));
  exchange.isSlow = true;
  one?.data(progress(1, 'b'));
  t.ok(one?.isPaused, 'held back');
  exchange.isSlow = false;
  exchange.drain();
  t.notOk(one?.isPaused);
  exchange.isSlow = true;
  one?.data('data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n').end();
  t.equal(scene.http.calls.length, before + 1, 'the next one waits until the caller reads on');
  exchange.isSlow = false;
  exchange.drain();
  const two = scene.http.calls[before + 1];
  two?.head(200, 'text/event-stream').data(progress(2, 'c'));
  two?.data('data: {"jsonrpc":"2.0","id":2,"result":{}}\n\n').end();
  t.equal(exchange.outcome, 'ended');
  const events = readEvents(exchange.written).map((text) => JSON.parse(text) as RpcMessage);
  t.same(
    events.map(({ id, params }) => id ?? (params as { message: string }).message),
    [0, 'a', 'b', 1, 'c', 2],
  );
});

t.test('large members do not hold the event loop, and one that has yet to begin can be cancelled', async (t) => {
  const scene = start(t);
  const before = scene.http.calls.length;
  const ids = [1, 2, 3, 4, 5, 6];
  const bulk = 'x'.repeat(limits.readAtOnceBytesMax - 1_000);
  const pings = post(
    scene,
    ids.map((id) => ({ jsonrpc: '2.0', id, method: 'ping', params: { bulk } })),
  );
  await turn();
  t.equal(pings.outcome, 'none', 'not all of them in one turn');
  await until(() => pings.outcome === 'responded', 'the answers');
  post(
    scene,
    ids.map((id) => call(id, { arguments: { id, bulk } })),
  );
  scene.post('notifications/cancelled', { requestId: 6 });
  for (const id of ids) {
    await until(() => scene.http.calls.length >= before + id, 'the next call');
    const sent = scene.http.calls[before + id - 1];
    t.match(sent?.text, `"id":${id},"bulk"`, 'in their order');
    if (id < 6) sent?.json(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
  }
  await until(() => scene.http.calls.length > before + ids.length, 'the cancellation');
  t.match(scene.http.calls.at(-1)?.text, /"method":"notifications\/cancelled"/);
});

t.test('a large member that is refused keeps its id, as does one with too large an answer', async (t) => {
  const scene = start(t, { subjectRequestsInFlightMax: 1 });
  const before = scene.http.calls.length;
  const first = post(scene, [call(1)]);
  const bulk = 'x'.repeat(2 * limits.readAtOnceBytesMax);
  const exchange = post(scene, [call('large', { arguments: { bulk } })]);
  await until(() => exchange.outcome === 'responded', 'the refusal');
  t.match(messagesOf(exchange), [{ id: 'large', error: { code: -32000, message: /^Too many requests/ } }]);
  const answer = 'x'.repeat(limits.batchAnswerBytesMax);
  scene.http.calls[before]?.json(`{"jsonrpc":"2.0","id":1,"result":${JSON.stringify(answer)}}`);
  await until(() => first.outcome === 'responded', 'the answer');
  t.match(messagesOf(first), [{ id: 1, error: { code: -32000, message: /does not fit into the batch/ } }]);
});

for (const [form, open, outcome] of [
  ['as a whole, it is refused, and given up', () => undefined, { error: { code: -32000 } }],
  [
    'as an event, it passes',
    (scene: RelayScene) => {
      const { slowAnswerMs } = scene.context.answers;
      for (let spentMs = 0; spentMs < 2 * slowAnswerMs; spentMs += 100) scene.context.advance(100);
    },
    { result: { tools: [{ name: 'b-x' }] } },
  ],
] as const) {
  t.test(`a list that is larger than a batch keeps: ${form}`, async (t) => {
    const scene = start(t);
    t.teardown(async () => {
      const stopped = scene.relay.stop();
      scene.context.advance(limits.noticeMsMax + 100);
      await stopped;
    });
    const before = scene.http.calls.length;
    const exchange = post(scene, [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }, call(2)]);
    const list = scene.http.calls[before];
    open(scene);
    const tools = [{ name: 'x', description: 'x'.repeat(limits.batchAnswerBytesMax) }];
    const text = JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result: { tools } });
    list?.head(200, 'application/json');
    for (let at = 0; at < text.length; at += 100_000) list?.data(text.slice(at, at + 100_000));
    list?.end();
    await until(() => scene.accounts.held('listBytes') > 0, 'the list');
    await until(() => scene.accounts.held('listBytes') === 0, 'its bytes given back');
    await until(() => scene.http.calls.length > before + 1, 'the call');
    const called = scene.http.calls[before + 1];
    called?.json(`{"jsonrpc":"2.0","id":${called.idText},"result":{}}`);
    const messages =
      exchange.outcome === 'ended'
        ? readEvents(exchange.written).map((event) => JSON.parse(event) as RpcMessage)
        : messagesOf(exchange);
    t.match(messages, [
      { id: 1, ...outcome },
      { id: 2, result: {} },
    ]);
  });
}
