// How all pages of one list of a backend are read: in order, within one deadline, and what ends the list early. The backend is a script.
import t, { type Test } from 'tap';
import type { ReadPage } from '../../src/lists/answer-reader.js';
import { ListCache } from '../../src/lists/list-cache.js';
import { ListMerger } from '../../src/lists/list-merger.js';
import { ListPages } from '../../src/lists/list-pages.js';
import { NO_METADATA } from '../../src/http-client/http-upstream.js';
import type { UpstreamFaultKind } from '../../src/http-client/upstream-fault.js';
import { type ListKindName, listKinds } from '../../src/mcp/list-kinds.js';
import { limits } from '../../src/shared/limits.js';
import { UpstreamSession } from '../../src/upstream/session/upstream-session.js';
import { logInto } from '../support/log-lines.js';
import { until } from '../support/until.js';
import { backendOf, virtualHostOf } from '../relay/virtual-host.js';
import { ScriptedContext } from '../upstream/scripted-context.js';
import { REQUEST_ID, type ScriptedCall } from '../upstream/scripted-upstream.js';

const BACKEND = backendOf(virtualHostOf({ b: { url: 'https://b.example/mcp' } }), 'b');
const INTRODUCTION = { clientInfo: Buffer.from('{"name":"c","version":"1"}'), capabilities: Buffer.from('{}') };
const MEMORY = { tryKeepText: ({ length }: string) => length, drop: () => undefined };
const CACHE_AGE_MS = 60_000;

interface Told {
  /** The names of what was listed, in order. */
  readonly names: readonly string[];
  readonly fault: UpstreamFaultKind | undefined;
  readonly ttlMs: number;
}

class Scene {
  readonly context: ScriptedContext;
  readonly session: UpstreamSession;
  readonly cache: ListCache;
  readonly merger: ListMerger;
  /** What each read has told, in order. */
  readonly told: Told[] = [];

  constructor(t: Test, version = '2025-11-25') {
    this.context = new ScriptedContext(t);
    this.cache = new ListCache(CACHE_AGE_MS, this.context.deadlines, () => this.context.nowMs());
    this.merger = new ListMerger(this.context.deadlines, this.context.accounts, logInto([]), this.cache);
    t.teardown(() => this.merger.close());
    this.session = new UpstreamSession(this.context, 'alice', BACKEND, INTRODUCTION, MEMORY, version);
  }

  begin(kind: ListKindName = 'tools', isCached = false): ListPages {
    const onPages = (pages: readonly ReadPage[], fault: { kind: UpstreamFaultKind } | undefined, ttlMs = 0): void => {
      this.told.push({ names: pages.flatMap(namesIn), fault: fault?.kind, ttlMs });
    };
    const cache = isCached ? this.cache : undefined;
    const read = new ListPages(this.context, this.merger, listKinds[kind], this.session, NO_METADATA, onPages, cache);
    read.start();
    return read;
  }

  /** Answers `initialize`, and takes the notification behind it. */
  open(capabilities: object = { tools: {} }, sessionId = 'S-1'): void {
    const result = { protocolVersion: '2025-11-25', capabilities };
    this.last.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result }), sessionId);
    this.last.empty();
  }

  get last(): ScriptedCall {
    return this.context.http.last;
  }

  /** The cursors that were asked for, in order; `undefined` for a first page. */
  get cursors(): (string | undefined)[] {
    return this.context.http.calls
      .filter(({ summary }) => summary.endsWith('/list'))
      .map(({ text }) => (JSON.parse(text) as { params?: { cursor?: string } }).params?.cursor);
  }

  page(names: readonly string[], more: object = {}): void {
    const tools = names.map((name) => ({ name, inputSchema: { type: 'object' } }));
    this.last.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result: { tools, ...more } }));
  }

  error(code: number): void {
    this.last.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, error: { code, message: 'no' } }));
  }
}

function namesIn(page: ReadPage): string[] {
  if (!('bytes' in page)) return ['in the thread'];
  return [...page.bytes.toString().matchAll(/"name":"([^"]*)"/g)].map(([, name = '']) => name);
}

function sceneWithPage(t: Test, nextCursor: string): Scene {
  const scene = new Scene(t);
  scene.begin();
  scene.open();
  scene.page(['one'], { nextCursor });
  return scene;
}

t.test('pages are asked for one after the other, each with an id of its own', (t) => {
  const scene = sceneWithPage(t, 'a "b"');
  scene.page(['two', 'three'], { nextCursor: 'c' });
  t.same(scene.told, []);
  scene.page([]);
  t.same(scene.told, [{ names: ['one', 'two', 'three'], fault: undefined, ttlMs: 0 }]);
  t.same(scene.cursors, [undefined, 'a "b"', 'c']);
  const ids = scene.context.http.calls.filter(({ summary }) => summary === 'tools/list').map(({ idText }) => idText);
  t.equal(new Set(ids).size, 3);
  t.same(scene.context.failures, []);
  t.end();
});

t.test('an empty cursor is asked for once, and what is refused behind it ends the list', async (t) => {
  const ends: Readonly<Record<string, readonly [(scene: Scene) => void, UpstreamFaultKind | undefined]>> = {
    'a page without a cursor': [(scene) => scene.page([]), undefined],
    'the first page again': [(scene) => scene.page(['one'], { nextCursor: '' }), undefined],
    'an error': [(scene) => scene.error(-32602), undefined],
    'a status': [(scene) => scene.last.empty(500), undefined],
    'a session that is lost over it': [(scene) => scene.last.empty(404), undefined],
    'no message': [(scene) => scene.last.json('{}'), undefined],
    'a connection that breaks': [(scene) => scene.last.fault('connection-lost'), 'connection-lost'],
  };
  for (const [how, [end, fault]] of Object.entries(ends)) {
    const scene = sceneWithPage(t, '');
    end(scene);
    await until(() => scene.told.length > 0, `the end by ${how}`);
    t.same(scene.told, [{ names: ['one'], fault, ttlMs: 0 }], how);
    t.same(scene.cursors, [undefined, ''], how);
    t.same(
      scene.context.failures.filter((kind) => kind !== 'session-lost'),
      fault === undefined ? [] : [fault],
      how,
    );
  }
  const scene = sceneWithPage(t, '');
  scene.page(['two'], { nextCursor: 'c' });
  scene.page(['three'], { nextCursor: 'c' });
  t.match(scene.told, [{ names: ['one', 'two', 'three'], fault: 'list-cut' }], 'it may lead on');
});

t.test('a cursor that leads back cuts the list, and so does the last page that is read', (t) => {
  const scene = sceneWithPage(t, 'b');
  scene.page(['two'], { nextCursor: 'c' });
  scene.page(['three'], { nextCursor: 'b' });
  t.match(scene.told, [{ names: ['one', 'two', 'three'], fault: 'list-cut' }]);
  t.same(scene.context.failures, ['list-cut']);

  const endless = sceneWithPage(t, '1');
  for (let page = 2; page < limits.listPagesMax; page += 1) endless.page([], { nextCursor: String(page) });
  t.same(endless.told, []);
  endless.page(['last'], { nextCursor: 'more' });
  t.match(endless.told, [{ names: ['one', 'last'], fault: 'list-cut' }]);
  t.equal(endless.cursors.length, limits.listPagesMax);

  const whole = sceneWithPage(t, '1');
  for (let page = 2; page < limits.listPagesMax; page += 1) whole.page([], { nextCursor: String(page) });
  whole.page(['last']);
  t.match(whole.told, [{ names: ['one', 'last'], fault: undefined }], 'as many pages, and no more');
  t.end();
});

t.test('when the session is lost between two pages, the list is read from the start, once', async (t) => {
  const scene = sceneWithPage(t, 'b');
  scene.last.empty(404);
  await until(() => scene.last.summary === 'initialize', 'the new session');
  scene.open(undefined, 'S-2');
  t.same(scene.cursors, [undefined, 'b', undefined]);
  scene.page(['new'], { nextCursor: 'b' });
  scene.page(['newer']);
  t.same(
    scene.told,
    [{ names: ['new', 'newer'], fault: undefined, ttlMs: 0 }],
    'the cursors of the lost session are not known',
  );

  const again = sceneWithPage(t, 'b');
  again.last.empty(404);
  await until(() => again.last.summary === 'initialize', 'the new session');
  again.open(undefined, 'S-2');
  again.last.empty(404);
  await until(() => again.told.length > 0, 'the end');
  t.match(again.told, [{ names: [], fault: /./ }]);
});

t.test('a fault ends the list without the pages before it', async (t) => {
  for (const kind of ['connection-lost', 'answer-timeout', 'answer-too-large'] as const) {
    const scene = sceneWithPage(t, 'b');
    scene.last.fault(kind);
    await until(() => scene.told.length > 0, 'the end');
    t.same(scene.told, [{ names: [], fault: kind, ttlMs: 0 }]);
  }
  const scene = sceneWithPage(t, 'b');
  scene.last.json('{}');
  t.match(scene.told, [{ names: [], fault: 'answer-invalid' }]);
});

t.test('"method not found" is an empty list of what the backend does not declare', (t) => {
  const cases: readonly [ListKindName, object, number, UpstreamFaultKind | undefined][] = [
    ['tools', {}, -32601, undefined],
    ['tools', { tools: {} }, -32601, 'list-refused'],
    ['tools', {}, -32603, 'list-refused'],
    ['templates', { resources: {} }, -32601, undefined],
    ['resources', { resources: {} }, -32601, 'list-refused'],
  ];
  for (const [kind, capabilities, code, fault] of cases) {
    const scene = new Scene(t);
    scene.begin(kind);
    scene.open(capabilities);
    scene.error(code);
    t.same(scene.told, [{ names: [], fault, ttlMs: 0 }], `${kind} ${code}`);
  }
  const scene = new Scene(t);
  scene.begin();
  scene.open({});
  scene.page(['one'], { nextCursor: 'b' });
  scene.error(-32601);
  t.match(scene.told, [{ names: [], fault: 'list-refused' }], 'not once there was a page');
  t.end();
});

t.test('a list that the backend does not declare is empty and not asked for, but tools are', (t) => {
  for (const kind of ['prompts', 'resources', 'templates', 'tasks'] as const) {
    const scene = new Scene(t);
    scene.begin(kind);
    scene.open({ tools: {} });
    t.same(scene.told, [{ names: [], fault: undefined, ttlMs: 0 }], kind);
    t.same(scene.cursors, []);
  }
  const scene = new Scene(t);
  scene.begin();
  scene.open({});
  t.same(scene.cursors, [undefined]);
  t.end();
});

t.test('a session that does not open is waited for until its patience is over', async (t) => {
  const scene = new Scene(t);
  scene.begin();
  const patienceMs = scene.context.options.initializePatienceMs * limits.listPatienceFactor;
  scene.context.advance(patienceMs - 20);
  t.same(scene.told, []);
  scene.context.advance(40);
  t.same(scene.told, [{ names: [], fault: 'not-ready', ttlMs: 0 }]);
  scene.open();
  t.same(scene.cursors, [], 'nothing is asked for afterwards');
  t.equal(scene.told.length, 1);

  const refused = new Scene(t);
  refused.begin();
  refused.last.empty(500);
  await until(() => refused.told.length > 0, 'the end');
  t.match(refused.told, [{ names: [], fault: 'http-status' }]);
  refused.context.advance(patienceMs * 2);
  t.equal(refused.told.length, 1);
});

t.test('all pages have one deadline', (t) => {
  const scene = sceneWithPage(t, 'b');
  scene.context.advance(scene.context.options.listTimeoutMs - 100);
  scene.page(['two'], { nextCursor: 'c' });
  t.same(scene.told, []);
  scene.context.advance(200);
  return until(() => scene.told.length > 0, 'the end').then(() => {
    t.match(scene.told, [{ names: [], fault: 'answer-timeout' }]);
    t.ok(scene.last.isAborted);
  });
});

t.test('a read that is ended asks for nothing more, and tells so once', (t) => {
  const scene = new Scene(t);
  const read = scene.begin();
  scene.open();
  read.abort();
  read.abort();
  t.same(scene.told, [{ names: [], fault: 'session-ended', ttlMs: 0 }]);
  t.ok(scene.last.isAborted);

  const closed = sceneWithPage(t, 'b');
  const call = closed.last;
  closed.session.close(NO_METADATA);
  call.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result: { tools: [], nextCursor: 'c' } }));
  t.match(closed.told, [{ names: [], fault: 'session-ended' }]);
  t.same(closed.cursors, [undefined, 'b']);
  t.end();
});

t.test('a whole list is kept for the next read, but no list with a fault, and none of tasks', async (t) => {
  const scene = new Scene(t);
  scene.begin('tools', true);
  scene.open({ tools: {}, tasks: { list: {} } });
  scene.page(['one'], { nextCursor: 'b' });
  scene.page(['two']);
  scene.begin('tools', true);
  const whole = { names: ['one', 'two'], fault: undefined, ttlMs: 0 };
  t.same(scene.told, [whole, whole]);
  t.same(scene.cursors, [undefined, 'b'], 'the second read asks for nothing');

  const cut = new Scene(t);
  cut.begin('tools', true);
  cut.open();
  cut.page(['one'], { nextCursor: 'b' });
  cut.page(['two'], { nextCursor: 'b' });
  cut.begin('tools', true);
  t.same(cut.cursors, [undefined, 'b', undefined], 'what was cut is read again');

  const lost = new Scene(t);
  lost.begin('tools', true);
  lost.open();
  lost.last.empty(404);
  await until(() => lost.last.summary === 'initialize', 'the new session');
  lost.open(undefined, 'S-2');
  lost.page(['one']);
  lost.begin('tools', true);
  t.same(
    lost.told.map(({ names }) => names),
    [['one'], ['one']],
  );
  t.equal(lost.cursors.length, 2, 'what was read in the new session is kept');
});

const DISCOVERED = { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };

t.test('a server of 2026-07-28 says how long each page may be kept, and whether it is complete', (t) => {
  const scene = new Scene(t, '2026-07-28');
  const open = (scene: Scene): void =>
    void scene.last.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result: DISCOVERED }));
  const complete = { resultType: 'complete', cacheScope: 'private' };
  scene.begin();
  open(scene);
  scene.page(['one'], { ...complete, nextCursor: 'b', ttlMs: 9_000 });
  scene.page(['two'], { ...complete, nextCursor: 'c', ttlMs: 7_000 });
  scene.page(['three'], { ...complete, ttlMs: 8_000 });
  t.same(scene.told, [{ names: ['one', 'two', 'three'], fault: undefined, ttlMs: 7_000 }], 'the shortest');

  const asking = new Scene(t, '2026-07-28');
  asking.begin();
  open(asking);
  asking.page(['one'], { resultType: 'input_required', ttlMs: 9_000 });
  t.match(asking.told, [{ names: [], fault: 'answer-invalid' }]);

  const without = new Scene(t, '2026-07-28');
  without.begin('prompts');
  open(without);
  t.same(
    without.told,
    [{ names: [], fault: undefined, ttlMs: Infinity }],
    'what it does not have is so until it says so',
  );

  const legacy = new Scene(t);
  legacy.begin();
  legacy.open();
  legacy.page(['one'], { resultType: 'input_required', ttlMs: 9_000 });
  t.same(legacy.told, [{ names: ['one'], fault: undefined, ttlMs: 0 }], 'neither means a thing in a session');
  t.end();
});

t.test('what had to be mended in a list is counted, and tools that are left out are named', (t) => {
  const scene = new Scene(t);
  const omitted: unknown[] = [];
  scene.context.log.onToolsOmitted = (_, tools) => void omitted.push(...tools);
  scene.begin();
  scene.open();
  scene.last.json(
    `{"jsonrpc":"2.0","id":"${REQUEST_ID}","result":{"tools":[{"name":"bare"},{"name":"whole","inputSchema":{"type":"object"}}]}}`,
  );
  t.match(scene.told, [{ names: ['bare', 'whole'], fault: undefined }]);
  t.match(scene.session.endpoint.circuit.forgiven, { 'list-item': 1 });
  t.same(omitted, []);

  const modern = new Scene(t, '2026-07-28');
  modern.context.log.onToolsOmitted = (_, tools) => void omitted.push(...tools);
  modern.begin();
  modern.last.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result: DISCOVERED }));
  const tools = ['Region', 'no header'].map((header) => ({
    name: header.replace(' ', '-'),
    inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': header } } },
  }));
  modern.last.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result: { resultType: 'complete', tools } }));
  t.match(omitted, [/^no-header: /]);
  t.equal(omitted.length, 1);
  t.same(modern.told[0]?.fault, undefined);
  t.not(modern.session.mirrors, undefined, 'the headers of the other are known from here on');
  t.end();
});
