// Where a request goes first: to the session that it names, to a new one, or nowhere; and what becomes of sessions when the process ends.
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { shareTable } from '../../src/relay/relay-options.js';
import { ERAS } from '../support/eras.js';
import { logInto } from '../support/log-lines.js';
import { createAccounts, shareOptions } from '../support/shares.js';
import { RelayScene } from './relay-scene.js';
import { virtualHostOf } from './virtual-host.js';

const NOTHING = Buffer.alloc(0);

function open(t: { teardown(end: () => void): unknown }): RelayScene {
  return new RelayScene(t, virtualHostOf({ a: {} })).open();
}

t.test('without a session id GET, DELETE and requests other than initialize are refused', async (t) => {
  const scene = open(t);
  for (const method of ['GET', 'DELETE'] as const)
    t.equal(scene.request({ method, sessionId: '', body: NOTHING }).answer?.status, 400, method);
  const list = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
  t.equal(scene.request({ sessionId: '', body: list }).answer?.status, 400);
  for (const [body, says] of [
    ['{', /"code":-32700/],
    ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', /batch/i],
    ['{"jsonrpc":"2.0","method":"notifications/x"}', /session/i],
  ] as const) {
    const { answer } = scene.request({ sessionId: '', body: Buffer.from(body) });
    t.equal(answer?.status, 400);
    t.match(answer?.body.toString(), says, body);
  }
  t.equal(scene.relay.sessionCount, 1, 'none was made, and none ended');
});

t.test('the session of another subject is answered as unknown, and lives on', async (t) => {
  const scene = open(t);
  for (const method of ['GET', 'DELETE'] as const)
    t.equal(scene.requestAs('bob', { method, body: NOTHING }).answer?.status, 404, method);
  const ping = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}');
  t.equal(scene.requestAs('bob', { body: ping }).answer?.status, 404);
  t.equal(scene.request({ body: ping }).answer?.status, 200);
});

t.test('DELETE ends a session once, and its backends are told', async (t) => {
  const scene = open(t);
  const { status, contentType, body } = scene.request({ method: 'DELETE', body: NOTHING }).answer ?? {};
  t.same([status, contentType, body?.length], [200, '', 0], 'nothing has no type');
  t.equal(scene.http.last.summary, 'DELETE');
  t.equal(scene.relay.sessionCount, 0);
  t.equal(scene.request({ method: 'DELETE', body: NOTHING }).answer?.status, 404);
});

for (const way of ['drain', 'retire'] as const)
  t.test(`${way}: the process ends GET streams, opens no new ones, and still serves requests`, async (t) => {
    const scene = open(t);
    const before = scene.request({ method: 'GET', body: NOTHING, acceptedTypes: 'event-stream' });
    scene.relay[way]();
    t.equal(before.outcome, 'ended');
    const after = scene.request({ method: 'GET', body: NOTHING, acceptedTypes: 'event-stream' });
    t.same([after.outcome, after.written.length], ['ended', 0]);
    const call = scene.post('tools/call', { name: 'a-x' }, 7);
    scene.http.last.json('{"jsonrpc":"2.0","id":7,"result":{"content":[]}}');
    t.equal(call.answer?.status, 200);
  });

t.test('where only the modern era is served, a session id opens nothing, whatever the message', async (t) => {
  const eras = { ...ERAS, served: 'modern' } as const;
  const scene = new RelayScene(t, virtualHostOf({ a: {} }), {}, undefined, {}, { eras });
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  for (const [body, says] of [
    [JSON.stringify(list), /"code":-32022.*2026-07-28/],
    [JSON.stringify([list]), /batch/i],
    ['{"jsonrpc":"2.0","id":1,"result":{}}', /-32600/],
  ] as const) {
    const { answer } = scene.request({ body: Buffer.from(body) });
    t.equal(answer?.status, 400, body);
    t.match(answer?.body.toString(), says);
  }
  for (const method of ['GET', 'DELETE'] as const)
    t.match(scene.request({ method, body: NOTHING }).answer, { status: 405, headers: ['allow', 'POST, OPTIONS'] });
});

const MODERN = {
  ...{ jsonrpc: '2.0', id: 'm', method: 'tools/list' },
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
};

t.test(
  'in a session that is gone a modern message is still one, but not as the body of a DELETE or a GET',
  async (t) => {
    const scene = new RelayScene(t, virtualHostOf({ a: {} }));
    const body = Buffer.from(JSON.stringify(MODERN));
    for (const method of ['DELETE', 'GET'] as const) {
      const { answer } = scene.request({ method, body, sessionId: 'gone' });
      t.match([answer?.status, answer?.body.toString()], [404, /initialize again/]);
    }
    const { answer } = scene.request({ body, sessionId: 'gone' });
    t.match([answer?.status, answer?.body.toString()], [400, /"id":"m".*mcp-protocol-version/i]);
  },
);

t.test('a modern message is no member of a batch: it is refused, and the others are answered', async (t) => {
  const scene = new RelayScene(t, virtualHostOf({ a: {} })).open({}, undefined, '2025-03-26');
  const body = Buffer.from(JSON.stringify([{ jsonrpc: '2.0', id: 1, method: 'ping' }, MODERN]));
  const { answer } = scene.request({ body });
  const messages = JSON.parse(answer?.body.toString() ?? '') as { id: unknown }[];
  t.match(
    messages.sort((one, other) => String(one.id).localeCompare(String(other.id))),
    [
      { id: 1, result: {} },
      { id: 'm', error: { code: -32600, message: /batch/i } },
    ],
  );
});

t.test('operators see the origins that a session has reached', async (t) => {
  const scene = open(t);
  t.equal(scene.relay.origins.length, 1);
  t.match(scene.relay.origins, scene.context.endpoints.origins);
});

t.test('a process that stops warns only when a backend could not be told', async (t) => {
  for (const isTold of [true, false]) {
    const lines: string[] = [];
    const logger = logInto(lines);
    const scene = new RelayScene(t, virtualHostOf({ a: {} }), {}, undefined, {}, { logger }).open();
    let isOver = false;
    const stopped = scene.relay.stop(1_000).finally(() => (isOver = true));
    if (isTold) scene.http.last.empty();
    while (!isOver) {
      if (!isTold) scene.context.advance(1_000);
      await turn();
    }
    t.match(await stopped, { untold: isTold ? 0 : 1 });
    t.equal(lines.filter((line) => line.includes('could be notified')).length, isTold ? 0 : 1);
  }
});

t.test('a process that stops answers what is in flight, and ends the sessions at its backends', async (t) => {
  const scene = open(t);
  const call = scene.post('tools/call', { name: 'a-x' }, 7);
  const stopped = scene.relay.stop();
  t.equal(call.outcome, 'responded');
  t.equal(scene.relay.sessionCount, 0);
  t.equal(scene.http.last.summary, 'DELETE');
  scene.http.last.empty();
  t.same(await stopped, { told: 1, untold: 0 });
});

t.test('a process that stops waits for what it is about to tell the backends', async (t) => {
  const scene = open(t);
  scene.post('tools/call', { name: 'a-x' }, 7);
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
  scene.request({ body: Buffer.from(JSON.stringify(cancelled)) });
  const notice = scene.http.last;
  t.equal(notice.summary, 'notifications/cancelled');
  let isStopped = false;
  const stopped = scene.relay.stop().then(() => (isStopped = true));
  t.equal(scene.http.last.summary, 'DELETE');
  scene.http.last.empty();
  for (let turns = 0; turns < 5; turns += 1) await turn();
  t.notOk(isStopped);
  notice.empty();
  await stopped;
});

t.test(
  'a part of a share is kept for who holds little, unless one subject may hold all, or it is too small',
  async (t) => {
    const keptOf = (subjectSessionsMax: number, sessionsMax: number): number | undefined =>
      shareTable(shareOptions({ subjectSessionsMax, sessionsMax })).sessions.reserved;
    t.same([keptOf(799, 800), keptOf(800, 800), keptOf(801, 800)], [100, 0, 0]);
    t.same([keptOf(1, 64), keptOf(1, 63)], [8, 0]);
  },
);

t.test('two subjects that list without end leave a third the memory for a list', async (t) => {
  const accounts = createAccounts({ subjectListBytesMax: 60, listBytesMax: 120 });
  const shares = ['ada', 'bob'].map((name) => accounts.of(name).listBytes);
  for (const share of shares) while (share.tryTake(5) === undefined);
  for (let round = 0; round < 20; round += 1)
    for (const share of shares) {
      share.give(5);
      share.tryTake(5);
    }
  t.equal(accounts.of('eve').listBytes.tryTake(15), undefined);
});
