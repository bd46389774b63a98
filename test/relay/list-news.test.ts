// Lists that the gateway itself changes: a backend that came late or is gone, another config. The client is told once, and only of the
// kinds of lists that have changed. The backends are scripts, and the test moves the clock.
import t, { type Test } from 'tap';
import { limits } from '../../src/shared/limits.js';
import type { CompiledVirtualHost } from '../../src/user-config/compiled-config.js';
import { nextConfigNumber, numberConfig } from '../../src/user-config/user-configs.js';
import { readEvents } from '../support/event-stream.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import { until } from '../support/until.js';
import { REQUEST_ID, type ScriptedCall } from '../upstream/scripted-upstream.js';
import { RelayScene } from './relay-scene.js';
import { virtualHostOf } from './virtual-host.js';
import { LIST_CHANGES_MS } from '../../src/streams/session-stream.js';
import { LISTEN_CONFIG_MS } from '../../src/session/config-poll.js';

const VERSION = '2026-07-28';
const URLS = { a: { url: 'https://a.example/mcp' }, b: { url: 'https://b.example/mcp' } };
const CAPABILITIES = { a: { tools: {}, prompts: {} }, b: { tools: {}, resources: { listChanged: true } } };

type Name = keyof typeof URLS;

class Scene extends RelayScene {
  constructor(t: Test, virtualHost = virtualHostOf(URLS)) {
    super(t, virtualHost);
  }

  latest(backend: Name, what: string): ScriptedCall | undefined {
    return this.http.calls.findLast(
      ({ request, text }) =>
        request.target.origin === `https://${backend}.example` &&
        (request.method === what || text.includes(`"method":"${what}"`)),
    );
  }

  /** The backend answers `initialize`; asked in the modern era first, it refuses. */
  greet(backend: Name): void {
    const discovery = this.latest(backend, 'server/discover');
    if (this.latest(backend, 'initialize') === undefined)
      discovery?.json('{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no"}}', '', 404);
    const result = { protocolVersion: '2025-11-25', capabilities: CAPABILITIES[backend] };
    const call = this.latest(backend, 'initialize');
    call?.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result }), `s-${backend}`);
    this.latest(backend, 'notifications/initialized')?.empty();
    this.latest(backend, 'GET')?.head(200, 'text/event-stream');
  }

  /** A client's session, and its stream; the backends that are not ready are missing. */
  listen(...ready: Name[]): RecordedExchange {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
    this.request({
      sessionId: '',
      body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })),
    });
    for (const backend of ready) this.greet(backend);
    this.pass(this.context.options.initializePatienceMs);
    const stream = this.request({ method: 'GET', body: Buffer.alloc(0), acceptedTypes: 'event-stream' });
    for (const backend of ready) this.latest(backend, 'GET')?.head(200, 'text/event-stream');
    return stream;
  }

  /** The same for a client without a session. */
  listenModern(...ready: Name[]): RecordedExchange {
    const key = 'io.modelcontextprotocol/';
    const meta = { [`${key}protocolVersion`]: VERSION, [`${key}clientCapabilities`]: {} };
    const notifications = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
    const params = { notifications, _meta: meta };
    const stream = this.request({
      sessionId: '',
      body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 'l', method: 'subscriptions/listen', params })),
      mirror: { protocolVersion: VERSION, method: 'subscriptions/listen', name: '', params: [] },
    });
    for (const backend of ready) this.greet(backend);
    this.pass(this.context.options.initializePatienceMs);
    return stream;
  }

  pass(ms: number): void {
    for (let passedMs = 0; passedMs <= ms; passedMs += 100) this.context.advance(100);
  }

  /** Another config, which the session learns of while its client only listens. */
  async configure(virtualHost: CompiledVirtualHost, isApplied: () => boolean): Promise<void> {
    numberConfig({ virtualHosts: new Map([['vh', virtualHost]]) }, nextConfigNumber());
    this.hostNow = virtualHost;
    await until(() => {
      this.context.advance(LISTEN_CONFIG_MS + 200);
      return isApplied();
    }, 'the new config');
    this.pass(2 * LIST_CHANGES_MS);
  }
}

/** The kinds of lists that the client was told to have changed, in order. */
function told(stream: RecordedExchange): string[] {
  return readEvents(stream.written).flatMap((text) => /notifications\/(\w+)\/list_changed/.exec(text)?.[1] ?? []);
}

for (const era of ['legacy', 'modern'] as const) {
  const listen = (scene: Scene, ...ready: Name[]): RecordedExchange =>
    era === 'modern' ? scene.listenModern(...ready) : scene.listen(...ready);

  t.test(`${era}: a backend that is late is announced once, for the lists that it has`, async (t) => {
    const scene = new Scene(t);
    const stream = listen(scene, 'a');
    t.same(told(stream), [], 'what was there from the start is no news');
    scene.greet('b');
    scene.pass(2 * LIST_CHANGES_MS);
    t.same(told(stream), ['tools', 'resources']);
    scene.pass(2 * LISTEN_CONFIG_MS);
    t.same(told(stream).length, 2, 'once');
  });

  t.test(`${era}: a backend that could not be reached at first is tried again, and announced`, async (t) => {
    const scene = new Scene(t);
    const stream = listen(scene, 'a');
    const method = era === 'modern' ? 'server/discover' : 'initialize';
    const first = scene.latest('b', method);
    first?.empty(503);
    scene.pass(4 * limits.retryDelayMsMin);
    t.not(scene.latest('b', method), first, 'tried again although nothing is requested');
    scene.greet('b');
    scene.pass(2 * LIST_CHANGES_MS);
    t.same(told(stream), ['tools', 'resources']);
  });

  t.test(`${era}: a config with another allow-list, with more or with fewer backends is announced`, async (t) => {
    const other = virtualHostOf({ ...URLS, a: { ...URLS.a, allowed_tool_names: ['x'] } });
    const scene = new Scene(t);
    const stream = listen(scene, 'a', 'b');
    const isOver = (): boolean => told(stream).length > 0;
    await scene.configure(other, isOver);
    t.same(told(stream), ['tools'], 'the prompts of this backend are as before, and so is the other backend');
    const restricted = new Scene(t);
    const heard = listen(restricted, 'a', 'b');
    await restricted.configure(
      virtualHostOf({ ...URLS, b: { ...URLS.b, allowed_resource_names: ['x:1'] } }),
      () => told(heard).length > 0,
    );
    t.same(told(heard), ['resources']);
    const fewer = new Scene(t);
    const left = listen(fewer, 'a', 'b');
    await fewer.configure(virtualHostOf({ a: URLS.a }), () => told(left).length > 0);
    t.same(told(left), ['tools', 'resources']);
  });
}

t.test('a backend that a new config adds is announced when it is there', async (t) => {
  const scene = new Scene(t, virtualHostOf({ a: URLS.a }));
  const stream = scene.listen('a');
  await scene.configure(virtualHostOf(URLS), () => scene.latest('b', 'initialize') !== undefined);
  t.same(told(stream), []);
  // The clock has gone beyond the timeout of the first try.
  scene.pass(4 * limits.retryDelayMsMin);
  scene.greet('b');
  scene.pass(2 * LIST_CHANGES_MS);
  t.same(told(stream), ['tools', 'resources']);
});

t.test('a backend that stays away is announced as gone once, and again when it is back', async (t) => {
  const scene = new Scene(t);
  const stream = scene.listen('a', 'b');
  const lose = (): void => {
    scene.latest('b', 'GET')?.end();
    scene.pass(2 * limits.retryDelayMsMin);
    scene.latest('b', 'GET')?.empty(404);
    // A refused GET alone shows nothing: the backend is asked.
    scene.latest('b', 'ping')?.empty(404);
  };
  lose();
  const tried = new Set<ScriptedCall>();
  const fail = (): void => {
    const call = scene.latest('b', 'initialize');
    if (call === undefined || tried.has(call)) return;
    tried.add(call);
    if (tried.size > 1) call.empty(503);
  };
  fail();
  for (let round = 0; round < 10; round += 1) {
    scene.pass(limits.retryDelayMsMin);
    fail();
  }
  t.same(told(stream), [], 'a restart is no news');
  for (let round = 0; round < 120; round += 1) {
    scene.pass(limits.retryDelayMsMin);
    fail();
  }
  t.same(told(stream), ['tools', 'resources']);
  for (let round = 0; round < 60 && tried.has(scene.latest('b', 'initialize')!); round += 1)
    scene.pass(limits.retryDelayMsMin);
  scene.greet('b');
  scene.pass(2 * LIST_CHANGES_MS);
  t.same(told(stream), ['tools', 'resources', 'tools', 'resources']);
});

t.test('what changes while the client does not listen is told when it does', async (t) => {
  const scene = new Scene(t);
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  scene.request({
    sessionId: '',
    body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })),
  });
  scene.greet('a');
  scene.pass(scene.context.options.initializePatienceMs);
  scene.greet('b');
  const stream = scene.request({ method: 'GET', body: Buffer.alloc(0), acceptedTypes: 'event-stream' });
  scene.pass(2 * LIST_CHANGES_MS);
  t.same(told(stream), ['tools', 'resources']);
});
