// Lists whose backends lose their sessions, answer in pages without end, or refuse; whose own session ends; and lists that are cached.
// The backends are scripts.
import t, { type Test } from 'tap';
import { limits } from '../../src/shared/limits.js';
import type { ExchangeRequest } from '../../src/exchange/exchange.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import { RelayScene, initializeResult } from '../relay/relay-scene.js';
import { REQUEST_ID } from '../upstream/scripted-upstream.js';
import { virtualHostOf } from '../relay/virtual-host.js';

function page(names: readonly string[], nextCursor?: string): string {
  const tools = names.map((name) => ({ name, inputSchema: { type: 'object' } }));
  return JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result: { tools, nextCursor } });
}

function open(t: Test, ...names: readonly string[]): RelayScene {
  return new RelayScene(t, virtualHostOf(Object.fromEntries(names.map((name) => [name, {}])))).open();
}

function read(exchange: RecordedExchange): {
  result?: { tools?: { name: string }[]; _meta?: unknown };
  error?: unknown;
} {
  return JSON.parse(exchange.answer?.body.toString() ?? '{}') as ReturnType<typeof read>;
}

function names(list: ReturnType<typeof read>): string[] | undefined {
  return list.result?.tools?.map(({ name }) => name);
}

function unavailable(reason: string): unknown {
  return { 'switchyard/unavailable': [{ backend: 'b', reason }] };
}

const cut = unavailable('list without an end: only its beginning was read');

/** The backend that was asked last answers that its session is lost, and accepts a new one. */
function loseAndReopen(scene: RelayScene, sessionId: string): void {
  scene.http.last.empty(404);
  scene.http.last.json(initializeResult, sessionId);
  scene.http.last.empty();
}

t.test(
  'when a session is lost in the middle of the pages, all pages are read again, from the first one, in a new session',
  async (t) => {
    const scene = open(t, 'b');
    const list = scene.post('tools/list', {}, 7);
    scene.http.last.json(page(['old'], 'more'));
    t.match(scene.http.last.text, /"cursor":"more"/);
    loseAndReopen(scene, 'second');
    t.notMatch(scene.http.last.text, /cursor/, "cursors were the lost session's");
    t.equal(scene.http.last.header('mcp-session-id'), 'second');
    scene.http.last.json(page(['new']));
    t.same(names(read(list)), ['b-new']);
  },
);

t.test('a backend that loses its session twice during one list is missing from it, and asked no more', async (t) => {
  const scene = open(t, 'b');
  const list = scene.post('tools/list', {}, 7);
  loseAndReopen(scene, 'second');
  scene.http.last.empty(404);
  t.same(read(list).result, { tools: [], _meta: unavailable('session lost') });
  t.equal(scene.http.calls.filter(({ summary }) => summary === 'tools/list').length, 2);
  t.equal(scene.http.calls.filter(({ summary }) => summary === 'initialize').length, 2);
  const next = scene.post('tools/list', {}, 8);
  t.equal(scene.http.last.summary, 'initialize', 'the next list opens a session again');
  scene.http.last.json(initializeResult, 'third');
  scene.http.last.empty();
  scene.http.last.json(page(['x']));
  t.same(names(read(next)), ['b-x']);
});

t.test('of a list without an end its beginning is listed, and named as cut', async (t) => {
  const endless = open(t, 'b');
  const list = endless.post('tools/list', {}, 7);
  for (let count = 0; count < limits.listPagesMax; count += 1) {
    if (list.outcome !== 'none') t.fail(`ended after ${count} pages`);
    endless.http.last.json(page(count === 0 ? ['x'] : [], `after ${count}`));
  }
  t.same(names(read(list)), ['b-x']);
  t.same(read(list).result?._meta, cut);

  const stuck = open(t, 'b');
  const stuckList = stuck.post('tools/list', {}, 7);
  stuck.http.last.json(page(['x'], 'same'));
  stuck.http.last.json(page(['x'], 'same'));
  t.same(read(stuckList).result?._meta, cut);

  const round = open(t, 'b');
  const roundList = round.post('tools/list', {}, 7);
  round.http.last.json(page(['x'], 'one'));
  round.http.last.json(page(['y'], 'two'));
  round.http.last.json(page(['z'], 'one'));
  t.same(names(read(roundList)), ['b-x', 'b-y', 'b-z']);
  t.same(read(roundList).result?._meta, cut);
});

t.test('an empty cursor on the last page is asked for once, and ends the list where it leads back', async (t) => {
  const first = page(['x'], '');
  const whole = page(['x'], 'two');
  const cases: [string, string[], string[]][] = [
    ['one page', [first, first], ['b-x']],
    ['two pages', [whole, page(['y'], ''), whole], ['b-x', 'b-y']],
    [
      'an error',
      [first, JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, error: { code: -32602, message: 'no' } })],
      ['b-x'],
    ],
    ['a cursor like any other', [first, page(['y'])], ['b-x', 'b-y']],
  ];
  for (const [what, pages, expected] of cases) {
    const scene = open(t, 'b');
    const list = scene.post('tools/list', {}, 7);
    for (const each of pages) scene.http.last.json(each);
    t.same(names(read(list)), expected, what);
    t.equal(read(list).result?._meta, undefined, what);
  }
  for (const status of [400, 404, 500]) {
    const scene = open(t, 'b');
    const list = scene.post('tools/list', {}, 7);
    scene.http.last.json(first);
    scene.http.last.head(status, 'text/plain').data('cursor must not be empty').end();
    t.same(read(list).result, { tools: [{ name: 'b-x', inputSchema: { type: 'object' } }] }, `HTTP ${status}`);
  }
  const silent = open(t, 'b');
  const list = silent.post('tools/list', {}, 7);
  silent.http.last.json(first);
  silent.context.advance(silent.context.options.listTimeoutMs + 100);
  t.same(names(read(list)), ['b-x'], 'silence');
  t.same(read(list).result?._meta, unavailable('no response in time'), 'which is told');
});

t.test(
  '"method not found" means no tools from a backend that declared none, and is a refusal from another',
  async (t) => {
    const noMethod = JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, error: { code: -32601, message: 'no' } });
    const otherError = noMethod.replace('-32601', '-32000');
    for (const [declared, answer, meta] of [
      [false, noMethod, undefined],
      [true, noMethod, unavailable('tools/list refused')],
      [false, otherError, unavailable('tools/list refused')],
    ] as const) {
      const scene = new RelayScene(t, virtualHostOf({ b: {} }));
      const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
      const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }));
      scene.request({ body, sessionId: '' });
      const result = { protocolVersion: '2025-11-25', capabilities: declared ? { tools: {} } : {} };
      scene.http.last.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result }));
      scene.http.last.empty();
      const list = scene.post('tools/list', {}, 7);
      scene.http.last.json(answer);
      t.same(read(list).result?.tools, []);
      t.same(read(list).result?._meta, meta);
      const cutShort = scene.post('tools/list', {}, 8);
      scene.http.last.json(page(['x'], 'more'));
      scene.http.last.json(answer);
      t.same(read(cutShort).result?._meta, unavailable('tools/list refused'), 'behind a page it is a refusal');
    }
  },
);

t.test('the reason of an unavailable backend names the list that it refused', async (t) => {
  const capabilities = { tools: {}, prompts: {}, resources: {}, tasks: { list: {} } };
  const introduction = { protocolVersion: '2025-11-25', capabilities };
  const scene = new RelayScene(t, virtualHostOf({ b: {} }));
  scene.open({}, JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result: introduction }));
  for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list', 'tasks/list']) {
    const list = scene.post(method, {}, 7);
    scene.http.last.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, error: { code: -32000, message: 'no' } }));
    t.same(read(list).result?._meta, unavailable(`${method} refused`));
  }
});

t.test('the deadline of a list covers all its pages together', async (t) => {
  const scene = open(t, 'b');
  const list = scene.post('tools/list', {}, 7);
  const { listTimeoutMs } = scene.context.options;
  for (const cursor of ['1', '2']) {
    scene.context.advance(listTimeoutMs * 0.4);
    scene.http.last.json(page(['x'], cursor));
  }
  t.equal(list.outcome, 'none');
  scene.context.advance(listTimeoutMs * 0.2 + 100);
  t.same(read(list).result, { tools: [], _meta: unavailable('no response in time') });
  t.ok(scene.http.last.isAborted);
});

t.test('the end of a session aborts the requests of its list at once, at each backend', async (t) => {
  for (const when of ['asked', 'in the middle', 'between pages'] as const) {
    const scene = open(t, 'a', 'b');
    const list = scene.post('tools/list', {}, 7);
    const [a, b] = [scene.http.call(-2), scene.http.call(-1)];
    if (when === 'in the middle') {
      for (const call of [a, b]) call.head(200, 'application/json').data('{"jsonrpc":');
    }
    if (when === 'between pages') a.json(page(['x'], 'more'));
    const lists = scene.http.calls.filter(({ summary }) => summary === 'tools/list');
    scene.request({ method: 'DELETE', body: Buffer.alloc(0) });
    const asked = when === 'between pages' ? lists.slice(1) : lists;
    t.ok(
      asked.every(({ isAborted }) => isAborted),
      `${when}: no connection is kept`,
    );
    t.match(read(list), { error: { message: /session ended/ } });
    t.equal(scene.http.calls.filter(({ request }) => request.method === 'DELETE').length, 2);
  }
});

/** A scene whose lists are kept for a minute: two sessions of clients that declare nothing, and one whose client has roots. */
function cachingScene(t: Test): RelayScene {
  const scene = new RelayScene(t, virtualHostOf({ b: { passthrough_headers: ['x-tenant'] } }), {}, undefined, {
    listCacheMs: 60_000,
  });
  const answer = JSON.stringify({
    jsonrpc: '2.0',
    id: REQUEST_ID,
    result: { protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true }, prompts: {} } },
  });
  return scene.open({}, answer).open({}, answer).open({ roots: {} }, answer);
}

t.test('with --list-cache a list is asked for once while nothing is different for its caller', async (t) => {
  const scene = cachingScene(t);
  let id = 10;
  const lists = (): number => scene.http.calls.filter(({ summary }) => summary.endsWith('/list')).length;
  /** Requests a list, which the backend answers if it is asked; returns how often it was asked, and the items. */
  const list = (name: string, parts: Partial<ExchangeRequest> = {}, method = 'tools/list'): string => {
    const before = lists();
    id += 1;
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method }));
    const exchange = scene.request({ body, ...parts });
    if (lists() > before) scene.http.last.json(page([name]).replace('tools', method.replace('/list', '')));
    return `${lists() - before} ${
      read(exchange)
        .result?.tools?.map(({ name }) => name)
        .join() ?? JSON.stringify(read(exchange).result)
    }`;
  };
  t.equal(list('one'), '1 b-one');
  t.equal(list('two'), '0 b-one');
  t.equal(list('two', { sessionId: 'a-session-2' }), '0 b-one', 'another session of the same client');
  t.equal(list('two', { sessionId: 'a-session-3' }), '1 b-two', 'a client that can be asked for more');
  const tenant = (value: string): Partial<ExchangeRequest> => ({ passthroughHeaders: ['x-tenant', value] });
  t.equal(list('three', tenant('7')), '1 b-three');
  t.equal(list('four', tenant('8')), '1 b-four');
  t.equal(list('five', tenant('7')), '0 b-three');
  t.match(list('p', {}, 'prompts/list'), /^1 /);

  const call = scene.post('tools/call', { name: 'b-x' }, 9);
  scene.http.last
    .head(200, 'text/event-stream')
    .data('data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n');
  t.equal(list('six'), '1 b-six', 'the backend has said that it is another');
  t.match(list('p', {}, 'prompts/list'), /^0 /, 'and nothing of prompts');
  t.equal(call.outcome, 'streaming');

  scene.context.advance(59_000);
  t.equal(list('seven'), '0 b-six');
  scene.context.advance(2_000);
  t.equal(list('seven'), '1 b-seven');

  const { virtualHost } = scene;
  const narrower = virtualHostOf({ b: { passthrough_headers: ['x-tenant'], allowed_tool_names: ['other'] } });
  const body = Buffer.from('{"jsonrpc":"2.0","id":99,"method":"tools/list"}');
  const exchange = scene.exchange({ body });
  const before = lists();
  scene.relay.handle({ subject: 'alice', virtualHost: { ...narrower, id: virtualHost.id } }, exchange);
  t.equal(lists(), before + 1, 'another config');
  scene.http.last.json(page(['seven', 'other']));
  t.same(names(read(exchange)), ['b-other']);
});

t.test('without --list-cache every list is asked for', async (t) => {
  const scene = open(t, 'b');
  for (const name of ['one', 'two']) {
    const list = scene.post('tools/list', {}, name);
    scene.http.last.json(page([name]));
    t.same(names(read(list)), [`b-${name}`]);
  }
});
