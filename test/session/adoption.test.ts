// A relay adopts the sessions of another: what it knows of them, and what becomes of what the other had begun.
import t, { type Test } from 'tap';
import { SessionDirectory } from '../../src/session/directory/session-directory.js';
import { refusals } from '../../src/shared/refusals.js';
import type { CompiledVirtualHost } from '../../src/user-config/compiled-config.js';
import { readEvents } from '../support/event-stream.js';
import { logInto } from '../support/log-lines.js';
import { MemorySessions } from '../support/memory-sessions.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import { until } from '../support/until.js';
import { REQUEST_ID } from '../upstream/scripted-upstream.js';
import { RelayScene, SESSION_ID } from '../relay/relay-scene.js';
import { backendOf, virtualHostOf } from '../relay/virtual-host.js';
import { SESSION_RENEWALS_PER_IDLE_TIMEOUT } from '../../src/session/sessions.js';
import { SESSION_WRITE_WAIT_MS_MAX } from '../../src/session/directory-entry.js';

const IDLE_TIMEOUT_MS = 60_000;
const CAPABILITIES = { tools: {}, logging: {}, resources: { subscribe: true }, experimental: { 'acme/x': { y: 1 } } };
const INITIALIZED = JSON.stringify({
  jsonrpc: '2.0',
  id: REQUEST_ID,
  result: { protocolVersion: '2025-11-25', capabilities: CAPABILITIES, instructions: 'Be kind.' },
});
const VIRTUAL_HOST = virtualHostOf({ b: {} });

class Place {
  readonly sessions = new MemorySessions();
  readonly logLines: string[] = [];

  directory(): SessionDirectory {
    return new SessionDirectory(this.sessions, {
      idleTimeoutMs: IDLE_TIMEOUT_MS,
      outlivesGateway: false,
      isPossibleId: (id) => id.startsWith(SESSION_ID),
      logger: logInto(this.logLines),
    });
  }

  relay(t: Test, virtualHost: CompiledVirtualHost = VIRTUAL_HOST): RelayScene {
    return new RelayScene(t, virtualHost, {}, this.directory());
  }

  /** A relay with one session, whose record is written. */
  async begun(t: Test, capabilities: object = {}, upstreamId?: string): Promise<RelayScene> {
    const scene = this.relay(t).open(capabilities, INITIALIZED, undefined, upstreamId);
    await until(() => this.sessions.records.size === 1, 'the record');
    return scene;
  }

  /** Removes the secret from the record, as in one of an earlier version. */
  async forgetSecret(): Promise<void> {
    const session = { id: SESSION_ID, subject: 'alice', virtualHostId: VIRTUAL_HOST.id };
    const found = await this.directory().find(session);
    if (typeof found !== 'object') throw new Error(`the record is ${found}`);
    const { askingSecret, ...record } = found.record;
    if (askingSecret === undefined) throw new Error('it has no secret');
    await this.directory().write(session, record, found.version);
  }
}

function messages(exchange: RecordedExchange): { id?: unknown; method?: string }[] {
  return readEvents(exchange.written).map((text) => JSON.parse(text) as object);
}

t.test('a call continues in the same upstream session, and the backend is sent nothing else', async (t) => {
  const place = new Place();
  const before = await place.begun(t);
  const version = before.http.last.header('mcp-protocol-version');
  const next = place.relay(t);
  const exchange = next.post('tools/call', { name: 'b-x' }, 7);
  t.same(next.http.summary, ['tools/call']);
  t.equal(next.http.last.header('mcp-session-id'), 'upstream-session');
  t.equal(next.http.last.header('mcp-protocol-version'), version);
  next.http.last.json('{"jsonrpc":"2.0","id":7,"result":{}}');
  t.equal(exchange.answer?.status, 200);
  next.post('tools/call', { name: 'b-x' }, 8);
  t.equal(place.sessions.readsCount, 1, 'looked for once');
});

t.test('a call continues at the node of the backend at which a cookie holds its session', async (t) => {
  const place = new Place();
  const before = place.relay(t);
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
  before.request({ sessionId: '', body: Buffer.from(body) });
  before.http.last.head(200, 'application/json', 'upstream-session', -1, 'node=1; Path=/').data(INITIALIZED).end();
  before.http.last.empty();
  await until(() => place.sessions.records.size === 1, 'the record');
  const next = place.relay(t);
  next.post('tools/call', { name: 'b-x' }, 7);
  t.equal(next.http.last.header('mcp-session-id'), 'upstream-session');
  t.equal(next.http.last.header('cookie'), 'node=1');
});

t.test('another subject learns nothing of a session, whether it is only recorded or held here', async (t) => {
  const place = new Place();
  const before = await place.begun(t);
  const next = place.relay(t);
  const body = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}');
  t.equal(next.requestAs('mallory', { body }).answer?.status, 404);
  t.equal(before.requestAs('mallory', { body }).answer?.status, 404);
  t.equal(place.sessions.readsCount, 1, 'the one that is here is not looked for');
  t.equal(next.request({ sessionId: 'no id of ours', body }).answer?.status, 404);
  t.equal(place.sessions.readsCount, 1, 'nor what cannot be one');
  t.equal(next.post('ping', {}, 1).answer?.status, 200, 'its owner goes on');
});

t.test('an upstream session that is opened again is sent the level and the subscriptions', async (t) => {
  const place = new Place();
  const before = await place.begun(t);
  before.post('logging/setLevel', { level: 'error' }, 2);
  before.http.last.json(`{"jsonrpc":"2.0","id":"${REQUEST_ID}","result":{}}`);
  before.post('resources/subscribe', { uri: 'b+file:///a' }, 3);
  before.http.last.json('{"jsonrpc":"2.0","id":3,"result":{}}');
  // A change during a write goes into the next write.
  await until(() => place.sessions.records.values().next().value?.version === 3, 'both to be written down');
  const next = place.relay(t);
  next.post('tools/call', { name: 'b-x' }, 4);
  next.http.last.empty(404);
  next.http.last.json(INITIALIZED, 'second');
  next.http.last.empty();
  t.same(next.http.summary.slice(0, 3), ['tools/call', 'initialize', 'notifications/initialized']);
  t.same(next.http.summary.slice(3).toSorted(), ['logging/setLevel', 'resources/subscribe', 'tools/call']);
});

t.test('a method that is not of MCP still finds its backend after adoption', async (t) => {
  const place = new Place();
  await place.begun(t);
  const next = place.relay(t);
  next.post('acme/x', { uri: 'file:///a' }, 7);
  t.same(next.http.summary, ['acme/x']);
  t.match(JSON.parse(next.http.last.text), { id: 7, params: { uri: 'file:///a' } });
  t.match(next.post('acme/y', {}, 8).answer?.body.toString(), '-32601');
});

t.test('a method that is not of MCP finds its backend even if that was lost before the adoption', async (t) => {
  const place = new Place();
  const before = await place.begun(t);
  before.post('acme/x', {}, 7);
  before.http.last.empty(404);
  before.http.last.fault('connection-lost');
  before.post('logging/setLevel', { level: 'error' }, 8);
  await until(() => place.sessions.records.values().next().value?.version === 3, 'the loss to be written down');
  const next = place.relay(t);
  const exchange = next.post('acme/x', { uri: 'file:///a' }, 8);
  t.same(next.http.summary, ['initialize']);
  next.http.last.json(INITIALIZED, 'second');
  next.http.last.empty();
  t.same(next.http.summary, ['initialize', 'notifications/initialized', 'logging/setLevel', 'acme/x']);
  next.http.last.json('{"jsonrpc":"2.0","id":8,"result":{"y":1}}');
  t.equal(exchange.answer?.body.toString(), '{"jsonrpc":"2.0","id":8,"result":{"y":1}}');
  t.equal(next.accounts.used('requests'), 0);
  next.post('acme/y', {}, 9);
  t.equal(next.http.calls.length, 4, 'what is known now is not asked for again');
});

t.test('an upstream session whose backend was moved or removed is ended where it was opened', async (t) => {
  for (const backends of [{ b: { url: 'https://elsewhere.example/mcp' } }, { c: {} }]) {
    const place = new Place();
    const before = await place.begun(t);
    const { origin } = before.http.last.request.target;
    const next = place.relay(t, virtualHostOf(backends));
    t.equal(next.post('ping', {}, 1).answer?.status, 200);
    t.equal(next.http.last.request.method, 'DELETE');
    t.equal(next.http.last.request.target.origin, origin);
    t.equal(next.http.last.header('mcp-session-id'), 'upstream-session');
  }
});

t.test('an upstream session that would now use plain text is ended if possible, and not continued', async (t) => {
  const place = new Place();
  await place.begun(t);
  const backends = new Map([['b', { ...backendOf(VIRTUAL_HOST, 'b'), obstacle: 'plain-text-refused' as const }]]);
  const next = place.relay(t, { ...VIRTUAL_HOST, backends });
  t.equal(next.post('ping', {}, 1).answer?.status, 200);
  t.same(next.http.summary, ['DELETE']);
});

t.test('adopting a session writes nothing', async (t) => {
  const place = new Place();
  const before = await place.begun(t);
  before.post('resources/subscribe', { uri: 'b+file:///a' }, 3);
  before.http.last.json('{"jsonrpc":"2.0","id":3,"result":{}}');
  await until(() => place.sessions.records.values().next().value?.version === 2, 'it to be written down');
  const { writesCount } = place.sessions;
  t.equal(place.relay(t).post('ping', {}, 1).answer?.status, 200);
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(place.sessions.writesCount, writesCount);
});

t.test('subscriptions that the allow-list no longer has are ended on adoption', async (t) => {
  for (const [resources, isKept] of [
    [['file:///a', 'file:///b'], true],
    [['file:///b'], false],
  ] as const) {
    const place = new Place();
    const before = place
      .relay(t, virtualHostOf({ b: { allowed_resource_names: ['file:///b', 'file:///a'] } }))
      .open({}, INITIALIZED);
    before.post('resources/subscribe', { uri: 'b+file:///a' }, 3);
    before.http.last.json('{"jsonrpc":"2.0","id":3,"result":{}}');
    await until(() => place.sessions.records.values().next().value?.version === 2, 'it to be written down');
    const next = place.relay(t, virtualHostOf({ b: { allowed_resource_names: [...resources] } }));
    t.equal(next.post('ping', {}, 1).answer?.status, 200);
    await new Promise((resolve) => setImmediate(resolve));
    t.same(next.http.summary, isKept ? [] : ['resources/unsubscribe'], JSON.stringify(resources));
  }
});

t.test('an ended session is not adopted while its record is still there', async (t) => {
  for (const isWriting of [false, true]) {
    const place = new Place();
    const scene = await place.begun(t);
    place.sessions.mood = 'silent';
    // The level is still being written.
    if (isWriting) scene.post('logging/setLevel', { level: 'error' }, 2);
    if (isWriting) scene.http.last.json(`{"jsonrpc":"2.0","id":"${REQUEST_ID}","result":{}}`);
    t.equal(scene.request({ method: 'DELETE' }).answer?.status, 200);
    place.sessions.mood = 'prompt';
    t.equal(place.sessions.records.size, 1);
    t.equal(scene.post('ping', {}, 3).answer?.status, 404, isWriting ? 'while it is being written' : 'at once');
  }
});

t.test('DELETE ends an adopted session, and removes its record', async (t) => {
  const place = new Place();
  await place.begun(t);
  const next = place.relay(t);
  t.equal(next.request({ method: 'DELETE' }).answer?.status, 200);
  t.same(next.http.summary, ['DELETE']);
  await until(() => place.sessions.records.size === 0, 'the record to be gone');
  t.equal(place.relay(t).post('ping', {}, 1).answer?.status, 404);
});

t.test('an answer to what another process asked reaches the backend, if its session is still the same', async (t) => {
  const place = new Place();
  const before = await place.begun(t, { roots: {} });
  const asking = before.post('tools/call', { name: 'b-x' }, 7);
  const ask = (id: string): string => `data: {"jsonrpc":"2.0","id":${id},"method":"roots/list"}\n\n`;
  before.http.last.head(200, 'text/event-stream').data(ask('"q:1"') + ask('2'));
  const [id, unanswered] = messages(asking).map((message) => message.id);
  const respond = (scene: RelayScene, answered: unknown): RecordedExchange =>
    scene.request({ body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: answered, result: { roots: [] } })) });

  const next = place.relay(t);
  t.equal(respond(next, id).answer?.status, 202);
  t.equal(next.http.last.text, '{"jsonrpc":"2.0","id":"q:1","result":{"roots":[]}}');
  t.equal(next.http.last.header('mcp-session-id'), 'upstream-session');

  const sentCount = next.http.calls.length;
  const [head] = String(id).split(':');
  for (const madeUp of ['x', 7, id]) t.equal(respond(next, madeUp).answer?.status, 202, String(madeUp));
  for (const madeUp of [`${head}:b:{"a":1}`, `${head}:c:1`, `${head}:b:1`, `${head}:b:"q:2"`]) {
    t.equal(respond(next, madeUp).answer?.body.toString(), refusals.askerLost.body, madeUp);
  }
  t.equal(next.http.calls.length, sentCount, 'what was never asked goes nowhere, and a second answer');

  next.post('tools/call', { name: 'b-x' }, 8);
  next.http.last.empty(404);
  next.http.last.json(INITIALIZED, 'second');
  next.http.last.empty();
  const afterLoss = next.http.calls.length;
  t.equal(respond(next, unanswered).answer?.body.toString(), refusals.askerLost.body, 'and the client hears of it');
  t.equal(next.http.calls.length, afterLoss, 'its successor hears nothing of it');
  t.equal(respond(before, id).answer?.status, 202);
  t.equal(respond(before, id).answer?.status, 202);
  t.equal(before.http.summary.filter((each) => each === 'response').length, 1, 'who has asked takes one answer');
});

t.test('an answer also reaches a backend without sessions, but not from a record without a secret', async (t) => {
  for (const hasSecret of [true, false]) {
    const place = new Place();
    const before = await place.begun(t, { roots: {} }, '');
    const asking = before.post('tools/call', { name: 'b-x' }, 7);
    const call = before.http.last.head(200, 'text/event-stream');
    call.data('data: {"jsonrpc":"2.0","id":5,"method":"roots/list"}\n\n');
    const [id] = messages(asking).map((message) => message.id);
    if (!hasSecret) await place.forgetSecret();
    const next = place.relay(t);
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result: { roots: [] } }));
    const answer = next.request({ body }).answer;
    if (hasSecret) {
      t.equal(answer?.status, 202);
      t.equal(next.http.last.text, '{"jsonrpc":"2.0","id":5,"result":{"roots":[]}}');
      t.equal(next.http.last.header('mcp-session-id'), undefined);
    } else {
      t.equal(answer?.body.toString(), refusals.askerLost.body);
      t.equal(next.http.calls.length, 0);
    }
    const others = place.relay(t).request({ body: Buffer.from('{"jsonrpc":"2.0","id":"1.x","result":{}}') });
    t.equal(others.answer?.status, 202);
  }
});

t.test(
  'a GET resumes the stream of an adopted session, and learns that a call is lost of which the event id is all that is left',
  async (t) => {
    const place = new Place();
    const before = await place.begun(t);
    const call = before.post('tools/call', { name: 'b-x' }, 7);
    before.http.last
      .head(200, 'text/event-stream')
      .data('data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":1}}\n\n');
    const stream = before.request({ method: 'GET' });
    const idOf = (exchange: RecordedExchange): string => /^id: (\S+)$/m.exec(exchange.written.toString())?.[1] ?? '';
    t.not(idOf(call), '');
    const next = place.relay(t);
    const again = next.request({ method: 'GET', lastEventId: idOf(stream) });
    t.equal(again.outcome, 'streaming');
    t.not(idOf(again), '');
    const lost = next.request({ method: 'GET', lastEventId: idOf(call) });
    t.equal(lost.outcome, 'ended');
    t.match(JSON.parse(readEvents(lost.written)[0] ?? ''), { id: 7, error: { message: /no longer retained/ } });
  },
);

t.test('requests of one session share a look-up and are served in their order', async (t) => {
  const place = new Place();
  await place.begun(t);
  place.sessions.mood = 'late';
  const next = place.relay(t);
  const exchanges = [1, 2, 3].map((id) => next.post('tools/call', { name: 'b-x' }, id));
  const ended = next.request({ method: 'DELETE' });
  const late = next.post('ping', {}, 9);
  t.equal(place.sessions.readsCount, 1);
  t.equal(next.accounts.used('requests'), 5, 'what waits counts');
  await until(() => late.outcome !== 'none', 'the answers');
  t.same(
    next.http.calls.slice(0, 3).map(({ text }) => (JSON.parse(text) as { id: number }).id),
    [1, 2, 3],
  );
  t.equal(ended.answer?.status, 200);
  t.equal(late.answer?.status, 404, 'behind its end');
  t.ok(exchanges.every(({ outcome }) => outcome !== 'none'));
  t.equal(next.accounts.used('requests'), 0);
});

t.test('a directory that fails is not mistaken for one that has no record', async (t) => {
  const place = new Place();
  await place.begun(t);
  place.sessions.mood = 'broken';
  const next = place.relay(t);
  t.equal(next.post('ping', {}, 1).answer?.status, 503);
  place.sessions.mood = 'prompt';
  t.equal(next.post('ping', {}, 1).answer?.status, 200);
});

t.test('a directory that accepts no writes costs durability alone', async (t) => {
  for (const mood of ['silent', 'broken'] as const) {
    const place = new Place();
    place.sessions.mood = mood;
    const scene = place.relay(t);
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }));
    const exchange = scene.request({ body, sessionId: '' });
    scene.http.last.json(INITIALIZED, 'upstream-session');
    scene.http.last.empty();
    t.equal(exchange.outcome, 'none', 'it is waited for');
    if (mood === 'silent') scene.context.advance(SESSION_WRITE_WAIT_MS_MAX + 100);
    await until(() => exchange.outcome !== 'none', 'the answer');
    t.equal(exchange.answer?.sessionId, SESSION_ID);
    t.equal(scene.post('ping', {}, 1).answer?.status, 200);
    if (mood === 'broken') t.match(place.logLines.join(''), /the session directory fails/);
  }
});

t.test(
  'a process with a successor leaves it the recorded sessions, idle or at its own end, and ends the others',
  async (t) => {
    for (const mood of ['prompt', 'broken'] as const) {
      for (const end of ['idle', 'stop'] as const) {
        const place = new Place();
        place.sessions.mood = mood;
        const scene = place.relay(t).open({}, INITIALIZED);
        await until(
          () => (mood === 'prompt' ? place.sessions.records.size === 1 : place.logLines.length > 0),
          'the write',
        );
        scene.relay.retire();
        if (end === 'idle') for (let turn = 0; turn < 3; turn += 1) scene.context.advance(IDLE_TIMEOUT_MS);
        else void scene.relay.stop();
        const isEnded = scene.http.summary.includes('DELETE');
        t.equal(isEnded, mood === 'broken', `${end}, ${mood}`);
        t.equal(place.sessions.records.size, mood === 'prompt' ? 1 : 0);
      }
    }
  },
);

t.test('the record of a session in use is renewed, and written again after it was lost', async (t) => {
  const place = new Place();
  const scene = await place.begun(t);
  const expiry = (): number => place.sessions.records.values().next().value?.expiresAtMs ?? 0;
  const first = expiry();
  const round = async (): Promise<void> => {
    for (let turn = 0; turn < 2; turn++) {
      scene.context.advance(IDLE_TIMEOUT_MS / SESSION_RENEWALS_PER_IDLE_TIMEOUT);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await until(async () => {
    scene.post('ping', {}, 1);
    await round();
    return expiry() > first;
  }, 'the renewal');
  place.sessions.records.clear();
  await until(async () => {
    scene.post('ping', {}, 1);
    await round();
    return expiry() > first;
  }, 'the record to be back');
  t.equal(place.relay(t).post('ping', {}, 1).answer?.status, 200);
});
