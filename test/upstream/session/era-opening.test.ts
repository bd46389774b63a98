// In which era of MCP a backend is addressed, and what follows from its responses: the client's era first, the other only on evidence.
import { capability } from '../../../src/mcp/capabilities.js';
import t, { type Test } from 'tap';
import type { Era } from '../../../src/mcp/protocol-versions.js';
import { NO_METADATA } from '../../../src/http-client/http-upstream.js';
import { upstreamFault, type UpstreamFault } from '../../../src/http-client/upstream-fault.js';
import { UpstreamSession } from '../../../src/upstream/session/upstream-session.js';
import { backendOf, virtualHostOf } from '../../relay/virtual-host.js';
import { ScriptedContext } from '../scripted-context.js';
import { REQUEST_ID } from '../scripted-upstream.js';
import { ERA_KNOWN_MS } from '../../../src/upstream/reach/backend-endpoints.js';

const BACKEND = backendOf(virtualHostOf({ b: { url: 'https://b.example/mcp' } }), 'b');
const INTRODUCTION = {
  clientInfo: Buffer.from('{"name":"c","version":"1.0"}'),
  capabilities: Buffer.from('{"x":1.0}'),
};
const MEMORY = { tryKeepText: ({ length }: string): number => length, drop: (): void => undefined };

const DISCOVERED = {
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: { listChanged: true }, tasks: {} },
  instructions: 'Be kind.',
  resultType: 'complete',
};

class Scene {
  readonly context: ScriptedContext;
  readonly told: string[] = [];

  constructor(t: Test) {
    this.context = new ScriptedContext(t);
  }

  open(
    era: Era,
    version = era === 'legacy' ? '2025-11-25' : '2026-07-28',
    introduction = INTRODUCTION,
  ): UpstreamSession {
    const upstream = new UpstreamSession(this.context, 'alice', BACKEND, introduction, MEMORY, version);
    upstream.whenOpen(NO_METADATA, (fault?: UpstreamFault) => this.told.push(fault?.kind ?? 'open'));
    return upstream;
  }

  /** Answers the last request. */
  result(result: unknown): void {
    this.context.http.last.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result }));
  }

  error(error: unknown, status = 400, id: unknown = REQUEST_ID): void {
    this.context.http.last.json(JSON.stringify({ jsonrpc: '2.0', id, error }), '', status);
  }

  initialized(): void {
    this.result({ protocolVersion: '2025-11-25', capabilities: {} });
    this.context.http.last.empty();
  }

  get sent(): string[] {
    return this.context.http.summary;
  }
}

const UNSUPPORTED = { code: -32_022, message: 'x', data: { supported: ['2026-07-28'], requested: '2025-11-25' } };

t.test('a backend of the client’s era is asked nothing else', async (t) => {
  const legacy = new Scene(t);
  const upstream = legacy.open('legacy');
  legacy.initialized();
  t.same([legacy.sent, legacy.told], [['initialize', 'notifications/initialized'], ['open']]);
  t.equal(upstream.isModern, false);

  const modern = new Scene(t);
  modern.open('modern');
  modern.result(DISCOVERED);
  t.same([modern.sent, modern.told], [['server/discover'], ['open']]);
});

t.test('a backend without sessions is opened for a client that has one, and next time without a try', async (t) => {
  const scene = new Scene(t);
  const upstream = scene.open('legacy');
  scene.error(UNSUPPORTED);
  t.same(scene.sent, ['initialize', 'server/discover']);
  const { request } = scene.context.http.last;
  t.same(JSON.parse(scene.context.http.last.text), {
    jsonrpc: '2.0',
    id: JSON.parse(scene.context.http.last.idText) as unknown,
    method: 'server/discover',
    params: {
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': { x: 1 },
        'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1.0' },
      },
    },
  });
  t.ok(
    scene.context.http.last.text.includes('"io.modelcontextprotocol/clientCapabilities":{"x":1.0}'),
    'as the client wrote it',
  );
  t.same(request.head, { method: 'server/discover', name: '', params: [] });
  t.equal(scene.context.http.last.header('mcp-protocol-version'), '2026-07-28');
  t.equal(scene.context.http.last.header('mcp-session-id'), undefined);
  scene.result(DISCOVERED);
  t.same(scene.told, ['open']);
  t.match(upstream.record, { era: 'modern', sessionId: '', protocolVersion: '2026-07-28', instructions: 'Be kind.' });
  t.equal(upstream.needsDelete, false, 'nothing is kept there');
  t.equal(upstream.usableCapabilities, capability.tools | capability.toolsListChanged, 'tasks are others since');

  scene.open('legacy');
  t.same(scene.sent, ['initialize', 'server/discover', 'server/discover']);
  scene.result(DISCOVERED);
  scene.context.advance(ERA_KNOWN_MS);
  scene.open('legacy');
  t.equal(scene.sent.at(-1), 'initialize', 'it may have been replaced');
});

t.test(
  'the capabilities of a backend without sessions are read again once in a while, and nobody waits for it (M16)',
  async (t) => {
    const scene = new Scene(t);
    const changed: string[] = [];
    scene.context.onListsChanged = ({ name }) => changed.push(name);
    const upstream = scene.open('modern');
    scene.result(DISCOVERED);
    const use = (): void => upstream.whenOpen(NO_METADATA, (fault) => scene.told.push(fault?.kind ?? 'used'));
    scene.context.advance(ERA_KNOWN_MS - 1);
    use();
    t.same(scene.sent, ['server/discover'], 'not yet');
    scene.context.advance(1);
    use();
    use();
    t.same(scene.sent, ['server/discover', 'server/discover'], 'once, however many use it');
    t.same(scene.told, ['open', 'used', 'used', 'used'], 'at once');
    scene.result({ ...DISCOVERED, capabilities: { prompts: {} }, instructions: 'Be quick.' });
    t.equal(upstream.usableCapabilities, capability.prompts);
    t.same(changed, ['b'], 'what was kept of its lists is old');

    for (const [next, why] of [
      [() => scene.result({ ...DISCOVERED, capabilities: { prompts: {} } }), 'the same'],
      [() => scene.error({ code: -32_603, message: 'x' }, 500), 'an error'],
      [
        () => scene.error({ code: -32_601, message: 'x' }, 404),
        'as if it had sessions now: whoever asks for something finds out',
      ],
    ] as const) {
      scene.context.advance(ERA_KNOWN_MS);
      const sentCount = scene.sent.length;
      use();
      t.equal(scene.sent.length, sentCount + 1, why);
      next();
      t.equal(upstream.usableCapabilities, capability.prompts, why);
      t.equal(upstream.state, 'open', why);
      t.same(changed, ['b'], why);
    }

    scene.context.advance(ERA_KNOWN_MS);
    use();
    scene.result({ ...DISCOVERED, capabilities: { prompts: {}, experimental: { 'a/b': {} } } });
    t.same(changed, ['b', 'b'], 'another experimental capability');
    t.same(upstream.namedCapabilities, [{ name: 'a/b', value: '{}' }]);

    scene.context.advance(ERA_KNOWN_MS);
    use();
    upstream.close(NO_METADATA);
    t.ok(scene.context.http.last.isAborted, 'it ends with the session');
  },
);

t.test('a backend with sessions states its capabilities once a session', async (t) => {
  const scene = new Scene(t);
  const upstream = scene.open('legacy');
  scene.initialized();
  const sentCount = scene.sent.length;
  scene.context.advance(2 * ERA_KNOWN_MS);
  upstream.whenOpen(NO_METADATA, () => undefined);
  t.equal(scene.sent.length, sentCount);
});

t.test('what proves that a backend has no sessions, and what does not', async (t) => {
  const evidence: readonly (readonly [unknown, number])[] = [
    [UNSUPPORTED, 400],
    [UNSUPPORTED, 200],
    [{ code: -32_020, message: 'x' }, 400],
    [{ code: -32_021, message: 'x' }, 400],
    [{ code: -32_601, message: 'x' }, 404],
    [{ code: -32_602, message: 'Invalid params: _meta lacks io.modelcontextprotocol/protocolVersion' }, 400],
  ];
  for (const [error, status] of evidence) {
    const scene = new Scene(t);
    scene.open('legacy');
    scene.error(error, status);
    t.equal(scene.sent.at(-1), 'server/discover', JSON.stringify([error, status]));
  }
  for (const status of [400, 404, 405, 406, 422]) {
    const scene = new Scene(t);
    scene.open('legacy');
    scene.context.http.last.empty(status);
    t.equal(scene.sent.at(-1), 'server/discover', String(status));
    scene.context.http.last.empty(404);
    t.same(scene.told, ['http-status'], 'a refusal of both is told as that of the first');
  }
  for (const [error, status] of [
    [{ code: -32_602, message: 'Invalid params: clientInfo' }, 400],
    [{ code: -32_000, message: 'x' }, 400],
  ] as const) {
    const scene = new Scene(t);
    scene.open('legacy');
    scene.error(error, status);
    t.equal(scene.sent.at(-1), 'server/discover', 'what was not understood is worth one question');
    scene.error({ code: -32_601, message: 'x' }, 404);
    t.same(scene.told, ['initialize-refused']);
  }
  const broken = new Scene(t);
  broken.open('legacy');
  broken.error({ code: -32_603, message: 'x' }, 200);
  t.same([broken.sent, broken.told], [['initialize'], ['initialize-refused']]);
  for (const status of [401, 403, 429, 500]) {
    const scene = new Scene(t);
    scene.open('legacy');
    scene.context.http.last.empty(status);
    t.same([scene.sent, scene.told], [['initialize'], ['http-status']], String(status));
  }
});

t.test('what proves that a backend has only sessions, and what does not (N11)', async (t) => {
  const answers: Readonly<Record<string, readonly [answer: (scene: Scene) => void, isEvidence: boolean]>> = {
    'no session': [(scene) => scene.error({ code: -32_000, message: 'x' }, 400, null), true],
    'not initialized': [(scene) => scene.error({ code: -32_002, message: 'x' }, 200), true],
    'method not found': [(scene) => scene.error({ code: -32_601, message: 'x' }, 200), true],
    'invalid request': [(scene) => scene.error({ code: -32_600, message: 'x' }), true],
    'invalid params': [(scene) => scene.error({ code: -32_602, message: 'x' }, 200), true],
    'other versions': [
      (scene) => scene.error({ code: -32_022, message: 'x', data: { supported: ['2025-06-18'] } }),
      true,
    ],
    'later versions': [
      (scene) => scene.error({ code: -32_022, message: 'x', data: { supported: ['2027-01-01'] } }),
      false,
    ],
    'a header': [(scene) => scene.error({ code: -32_020, message: 'x' }), false],
    'a capability': [(scene) => scene.error({ code: -32_021, message: 'x' }), false],
    // As official clients judge it: many servers answer so whatever they cannot handle.
    'a fault within': [(scene) => scene.error({ code: -32_603, message: 'x' }, 200), true],
    'another result': [(scene) => scene.result({}), true],
    'a result of no known type': [(scene) => scene.result({ ...DISCOVERED, resultType: 'partial' }), true],
    'no JSON': [(scene) => void scene.context.http.last.json('<html>'), true],
    '400': [(scene) => void scene.context.http.last.empty(400), true],
    '404': [(scene) => void scene.context.http.last.empty(404), true],
    '405': [(scene) => void scene.context.http.last.empty(405), true],
    '422': [(scene) => void scene.context.http.last.empty(422), true],
    '401': [(scene) => void scene.context.http.last.empty(401), false],
    '403': [(scene) => void scene.context.http.last.empty(403), false],
    '429': [(scene) => void scene.context.http.last.empty(429), false],
    '500': [(scene) => void scene.context.http.last.empty(500), false],
    '503': [(scene) => void scene.context.http.last.empty(503), false],
    reset: [(scene) => void scene.context.http.last.fault('connection-lost'), false],
  };
  for (const [what, [answer, isEvidence]] of Object.entries(answers)) {
    const scene = new Scene(t);
    scene.open('modern');
    answer(scene);
    t.same(scene.sent, isEvidence ? ['server/discover', 'initialize'] : ['server/discover'], what);
    if (what === 'later versions') t.same(scene.told, ['version-later']);
    if (!isEvidence) continue;
    scene.initialized();
    t.same(scene.told, ['open'], what);
  }
});

t.test('whether a backend keeps a session is known once it was opened for a client without one', async (t) => {
  for (const sessionId of ['', 'S']) {
    const scene = new Scene(t);
    const upstream = scene.open('modern');
    scene.context.http.last.empty(404);
    const result = { protocolVersion: '2025-11-25', capabilities: {} };
    scene.context.http.last.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result }), sessionId);
    scene.context.http.last.empty();
    t.equal(upstream.isSessionless, sessionId === '');
  }
});

t.test('a client with a session cannot have a backend’s tasks without one, and declares the rest', async (t) => {
  const extensions = { 'io.modelcontextprotocol/tasks': {}, 'x/y': { z: 1 } };
  const declared = { roots: {}, extensions };
  for (const era of ['legacy', 'modern'] as const) {
    const upstream = new Scene(t).open(era, undefined, {
      ...INTRODUCTION,
      capabilities: Buffer.from(JSON.stringify(declared)),
    });
    const envelope = JSON.parse(`{${upstream.envelope.toString()}}`) as Record<string, unknown>;
    const expected = era === 'modern' ? declared : { roots: {}, extensions: { 'x/y': { z: 1 } } };
    t.same(envelope['io.modelcontextprotocol/clientCapabilities'], expected, era);
  }
});

t.test('a backend that speaks neither era has the fault of the era that was tried first', async (t) => {
  const scene = new Scene(t);
  scene.open('legacy');
  scene.error({ code: -32_601, message: 'x' });
  scene.error({ code: -32_601, message: 'x' });
  t.same(scene.told, ['initialize-unknown']);
  scene.open('legacy');
  t.equal(scene.sent.at(-1), 'initialize', 'and is asked in the same order the next time');

  const refusing = new Scene(t);
  refusing.open('legacy');
  refusing.error(UNSUPPORTED);
  refusing.context.http.last.empty(401);
  t.same(refusing.told, ['http-status'], 'who is asked for credentials is told so');
});

t.test('both eras together take no longer than one is allowed to', async (t) => {
  const scene = new Scene(t);
  scene.open('legacy');
  scene.context.advance(scene.context.options.initializeTimeoutMs - 1_000);
  scene.error(UNSUPPORTED);
  scene.context.advance(990);
  t.same(scene.told, []);
  scene.context.advance(20);
  t.same(scene.told, ['answer-timeout']);
});

t.test('a session that is closed meanwhile aborts what is in flight', async (t) => {
  const scene = new Scene(t);
  const upstream = scene.open('legacy');
  scene.error(UNSUPPORTED);
  upstream.close(NO_METADATA);
  t.ok(scene.context.http.last.isAborted);
  t.same(scene.told, ['session-ended']);
  t.same(scene.sent, ['initialize', 'server/discover'], 'and nobody is told');
});

t.test('after a loss without a session the era is determined again', async (t) => {
  const scene = new Scene(t);
  const upstream = scene.open('legacy');
  scene.error(UNSUPPORTED);
  scene.result(DISCOVERED);
  upstream.markLost(upstream.record);
  upstream.whenOpen(NO_METADATA, () => undefined);
  t.equal(scene.sent.at(-1), 'initialize');
});

t.test(
  'a backend that agrees to sessions, and then refuses what names their version, is asked in the other era',
  async (t) => {
    const scene = new Scene(t);
    const upstream = scene.open('legacy');
    scene.result({ protocolVersion: '2025-11-25', capabilities: {} });
    t.equal(scene.sent.at(-1), 'notifications/initialized');
    scene.context.http.last.head(400, 'text/plain').data('Unsupported protocol version').end();
    t.equal(scene.sent.at(-1), 'server/discover');
    scene.result(DISCOVERED);
    t.same([scene.told, upstream.isModern], [['open'], true]);
  },
);

t.test('a backend that speaks both eras is addressed in the client’s, whatever it says of itself (N11)', async (t) => {
  const scene = new Scene(t);
  const upstream = scene.open('legacy');
  scene.initialized();
  t.same(scene.sent, ['initialize', 'notifications/initialized'], 'the bridge is for those who cannot do otherwise');
  t.match(upstream.record, { era: 'legacy' });
  scene.open('modern');
  t.equal(scene.sent.at(-1), 'server/discover');
  scene.result(DISCOVERED);
  scene.open('legacy');
  t.equal(scene.sent.at(-1), 'initialize', 'nor does what another client found out change it');
});

t.test('an era that is confirmed, and then refused in each request, is left for the other one', async (t) => {
  for (const other of ['open', 'refused'] as const) {
    const scene = new Scene(t);
    const upstream = scene.open('modern');
    scene.result(DISCOVERED);
    t.ok(upstream.tryRecover(upstreamFault('era-refused'), upstream.record));
    upstream.whenOpen(NO_METADATA, () => undefined);
    t.same(scene.sent, ['server/discover', 'initialize']);
    if (other === 'open') scene.initialized();
    else scene.error({ code: -32_601, message: 'x' });
    t.equal(upstream.record?.era, other === 'open' ? 'legacy' : undefined);
    if (other === 'refused') t.equal(scene.sent.at(-1), 'server/discover', 'it speaks neither: asked in both');
  }
});

t.test('a refused latest version is followed by the newest that the backend names, once (C05)', async (t) => {
  const named = {
    code: -32_602,
    message: 'Unsupported protocol version',
    data: { supported: ['2024-11-05', '2025-06-18'] },
  };
  const said = {
    code: -32_000,
    message: 'Bad Request: Unsupported protocol version (supported versions: 2025-06-18, 2024-11-05)',
  };
  const offered = (scene: Scene): unknown => JSON.parse(scene.context.http.last.text);
  for (const [error, status, id] of [
    [named, 200, REQUEST_ID],
    [named, 400, REQUEST_ID],
    [said, 400, null],
  ] as const) {
    const scene = new Scene(t);
    const upstream = scene.open('legacy');
    t.match(offered(scene), { params: { protocolVersion: '2025-11-25' } });
    scene.error(error, status, id);
    t.match(offered(scene), { method: 'initialize', params: { protocolVersion: '2025-06-18' } });
    scene.result({ protocolVersion: '2025-06-18', capabilities: {} });
    scene.context.http.last.empty();
    t.match(upstream.record, { era: 'legacy', protocolVersion: '2025-06-18' });
  }
  const refusing = new Scene(t);
  refusing.open('legacy');
  refusing.error(named);
  refusing.error(named);
  t.same(refusing.sent, ['initialize', 'initialize', 'server/discover'], 'no third version');
});

t.test('a refusal of the latest version that names no other is followed by the client’s own, once (C05)', async (t) => {
  const offered = ({ context }: Scene): unknown => (JSON.parse(context.http.last.text) as { params: unknown }).params;
  const unnamed = { code: -32_602, message: 'Unsupported protocol version', data: { requested: '2025-11-25' } };
  const foreign = { ...unnamed, data: { supported: ['1.0', '2024-10-08'] } };
  const refusals: Readonly<Record<string, (scene: Scene) => unknown>> = {
    'in an answer': (scene) => scene.error(unnamed, 200),
    'with versions that nobody here speaks': (scene) => scene.error(foreign, 200),
    'with 400 and no id': (scene) => scene.error(unnamed, 400, null),
    'with 400 and a text': ({ context }) => context.http.last.head(400, 'text/plain').data('bad version').end(),
  };
  for (const [what, refuse] of Object.entries(refusals)) {
    const scene = new Scene(t);
    const upstream = scene.open('legacy', '2025-06-18');
    refuse(scene);
    t.match(offered(scene), { protocolVersion: '2025-06-18' }, what);
    scene.result({ protocolVersion: '2025-06-18', capabilities: {} });
    scene.context.http.last.empty();
    t.match(upstream.record, { era: 'legacy', protocolVersion: '2025-06-18' }, what);

    const refusing = new Scene(t);
    refusing.open('legacy', '2025-06-18');
    refuse(refusing);
    refuse(refusing);
    t.equal(refusing.sent.filter((method) => method === 'initialize').length, 2, `${what}: no third version`);
  }
  const later = new Scene(t);
  later.open('legacy', '2025-06-18');
  later.error(UNSUPPORTED);
  t.same(later.sent, ['initialize', 'server/discover'], 'a server without sessions is not asked for one again');
  const failing = new Scene(t);
  failing.open('legacy', '2025-06-18');
  failing.context.http.last.head(500, 'text/plain').data('out of order').end();
  t.same(failing.sent, ['initialize'], 'what is no refusal has nothing to do with the version');
});

t.test('a version that is refused and named at once is tried once more (N05)', async (t) => {
  for (const id of [REQUEST_ID, null]) {
    const scene = new Scene(t);
    scene.open('modern');
    scene.error(UNSUPPORTED, 400, id);
    t.same(scene.sent, ['server/discover', 'server/discover']);
    scene.result(DISCOVERED);
    t.same(scene.told, ['open']);
    const refusing = new Scene(t);
    refusing.open('modern');
    refusing.error(UNSUPPORTED, 400, id);
    refusing.error(UNSUPPORTED, 400, id);
    t.same([refusing.sent.length, refusing.told], [2, ['version-unsupported']]);
  }
});

t.test('a backend that takes initialize but says that it has no sessions is asked in the other era', async (t) => {
  const scene = new Scene(t);
  const upstream = scene.open('legacy');
  scene.result({ protocolVersion: '2026-07-28', capabilities: {} });
  t.equal(scene.sent.at(-1), 'server/discover');
  scene.result(DISCOVERED);
  t.ok(upstream.isModern);
});

t.test('a backend without sessions gets no cookies', async (t) => {
  const scene = new Scene(t);
  const upstream = scene.open('modern');
  const { http } = scene.context;
  http.last
    .head(200, 'application/json', '', -1, 'node=1')
    .data(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result: DISCOVERED }))
    .end();
  for (let round = 0; round < 2; round += 1) {
    const id = Buffer.from('1');
    const body = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}');
    upstream.request({ body }, { bytes: id, start: 0, end: 1 }, NO_METADATA, 1_000, true, {
      onAnswer: () => undefined,
      onMessage: () => undefined,
      onFault: () => undefined,
    });
    t.equal(http.last.header('cookie'), undefined);
    http.last.head(200, 'application/json', '', -1, 'node=2').data('{"jsonrpc":"2.0","id":1,"result":{}}').end();
  }
});
