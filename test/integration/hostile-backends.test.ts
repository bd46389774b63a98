// Backends that try to harm the gateway, each called at full force by its own users, beside a healthy backend and its user, whose
// calls, lists and new sessions must not be affected.
import t from 'tap';
import type { Scope } from '../attack/scope.js';
import { checkBeside, startScene } from '../support/beside.js';
import type { ConfiguredCaller } from '../support/deployment.js';
import { findFreePort } from '../support/free-port.js';
import { inParallel } from '../support/in-parallel.js';
import { memberText } from '../support/json-text.js';
import { KeptCaller } from '../support/kept-caller.js';
import { INITIALIZE_PARAMS } from '../support/mcp-caller.js';
import { startMcpBackend } from '../support/mcp-backend.js';
import { startNameServer } from '../support/name-server.js';
import { startRawBackend, type ReceivedRequest } from '../support/raw-backend.js';

const MIB = 1_048_576;
const SLOW_NAME = 'slow.test';
const SILENT_NAME = 'silent.test';
const LANES = 4;
const ROUNDS = 2;
const HANDSHAKE = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"1"}}`;

/** Starts the backend and returns its URL. */
type Hostility = (scope: Scope) => Promise<string>;

/** Returns true when it has responded, or never will; otherwise the request gets a normal response. */
type Trick = (request: ReceivedRequest, method: string | undefined, id: string) => boolean | Promise<boolean>;

/** A normal backend except for one trick. */
function withTrick(trick: Trick): Hostility {
  return async (scope) => {
    const backend = await startMcpBackend({
      onRequest: (request) => trick(request, methodOf(request), memberText(request.text, 'id') ?? 'null'),
    });
    scope.teardown(() => backend.close());
    return backend.url;
  };
}

function methodOf(request: ReceivedRequest): string | undefined {
  return memberText(request.text, 'method')?.slice(1, -1);
}

/** Sends `result` in one JSON response, the head first, so that the parts are never joined in memory. */
function answerLarge(request: ReceivedRequest, id: string, result: readonly (string | Buffer)[]): boolean {
  const parts = [`{"jsonrpc":"2.0","id":${id},"result":`, ...result, '}'];
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  request.head({ headers: { 'content-type': 'application/json', 'content-length': String(length) } });
  for (const part of parts) request.bytes(part);
  return true;
}

const emptyObjects = Buffer.from(`${'{},'.repeat(19 * MIB)}{}`);
const largeTools = Buffer.from(
  Array.from(
    { length: 4_000 },
    (_, n) => `{"name":"t${n}","inputSchema":{"type":"object","x":"${'s'.repeat(8_000)}"}}`,
  ).join(),
);

const hostilities: Readonly<Record<string, Hostility>> = {
  'is silent': async (scope) => {
    const backend = await startRawBackend(() => undefined);
    scope.teardown(() => backend.close());
    return backend.url;
  },
  'does not listen': async () => `http://127.0.0.1:${await findFreePort()}/mcp`,
  'has a name that nobody knows': async () => 'http://nobody.invalid:9/mcp',
  'has a name that is never answered for': async () => `http://${SILENT_NAME}:9/mcp`,
  'has a name that takes a second each time': async (scope) => {
    const backend = await startMcpBackend();
    scope.teardown(() => backend.close());
    return backend.url.replace('127.0.0.1', SLOW_NAME);
  },
  'answers initialize with 57 MiB': withTrick((request, method, id) => {
    if (method !== 'initialize') return false;
    return answerLarge(request, id, [HANDSHAKE.slice(0, -1), ',"x":[', emptyObjects, ']}']);
  }),
  'lists 16 MiB of tools': withTrick((request, method, id) => {
    if (method !== 'tools/list') return false;
    return answerLarge(request, id, ['{"tools":[', largeTools, ']}']);
  }),
  'lists without an end': withTrick((request, method, id) => {
    if (method !== 'tools/list') return false;
    const tool = `{"name":"t${request.sequenceNumber}","inputSchema":{"type":"object"}}`;
    const result = `{"tools":[${tool}],"nextCursor":"${request.sequenceNumber}"}`;
    request.json(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
    return true;
  }),
  'streams without an end': withTrick(async (request, method) => {
    if (method !== 'tools/call') return false;
    const stream = request.eventStream();
    const message = 'x'.repeat(16_384);
    const params = { progressToken: 1, progress: 1, message };
    const until = Date.now() + 3_000;
    while (!request.connection.destroyed && Date.now() < until) {
      await stream.event({ jsonrpc: '2.0', method: 'notifications/progress', params });
    }
    request.reset();
    return true;
  }),
  'resets every call': withTrick((request, method) => {
    if (method !== 'tools/call') return false;
    request.reset();
    return true;
  }),
  'answers early, in part, and resets': async (scope) => {
    const backend = await startRawBackend(
      (request) => {
        request.head({ headers: { 'content-type': 'application/json', 'content-length': '1000' } });
        request.bytes('{"jsonrpc":');
        request.reset();
      },
      { readsBodies: false },
    );
    scope.teardown(() => backend.close());
    return backend.url;
  },
  'answers a byte at a time, and never to an end': withTrick(async (request, method) => {
    if (method !== 'tools/call') return false;
    await request.byteByByte(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${'x: y\r\n'.repeat(100)}`);
    request.reset();
    return true;
  }),
  'answers what is no HTTP': withTrick((request, method) => {
    if (method === 'initialize') return false;
    request.bytes(Buffer.alloc(65_536, 0xff));
    request.destroy();
    return true;
  }),
};

const nameServer = await startNameServer({
  [SILENT_NAME]: 'silent',
  [SLOW_NAME]: { addresses: ['127.0.0.1'], ttl: 0, afterMs: 1_000 },
});
t.teardown(() => nameServer.close());
const timeouts = ['--initialize-timeout', '4s', '--list-timeout', '4s', '--call-timeout', '4s'];
const scene = await startScene(t, ['--name-servers', nameServer.address, ...timeouts]);

for (const [what, start] of Object.entries(hostilities)) {
  t.test(`a backend that ${what}`, async (t) => {
    await checkBeside(t, scene, async (scope) => {
      const caller = await scene.deployment.caller({ hostile: { url: await start(scope) } });
      await use(scope, caller, LANES);
    });
  });
}

t.test('all of these backends at once, each with a caller of its own', async (t) => {
  await checkBeside(t, scene, async (scope) => {
    const callers: ConfiguredCaller[] = [];
    for (const start of Object.values(hostilities)) {
      callers.push(await scene.deployment.caller({ hostile: { url: await start(scope) } }));
    }
    t.ok(callers.length > 10, `${callers.length} backends`);
    await Promise.all(callers.map((caller) => use(scope, caller, 1)));
  });
});

/** Runs sessions one after the other, in several lanes at once. */
async function use(scope: Scope, caller: ConfiguredCaller, lanes: number): Promise<void> {
  await inParallel([...Array(lanes).keys()], lanes, async () => {
    const lane = await KeptCaller.connect(caller);
    scope.teardown(() => lane.close());
    for (let round = 0; round < ROUNDS; round++) await useOnce(lane);
  });
}

/** Runs a session from beginning to end. Each request must get some response, whatever it says. */
async function useOnce(lane: KeptCaller): Promise<void> {
  const body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":${INITIALIZE_PARAMS}}`;
  const opening = await lane.send({ body });
  const id = opening.header('mcp-session-id');
  if (id === undefined) throw new Error(`no session: ${opening.status} ${opening.text}`);
  const session = { session: id };
  await lane.send({ ...session, body: '{"jsonrpc":"2.0","method":"notifications/initialized"}' });
  await lane.send({ ...session, body: '{"jsonrpc":"2.0","id":2,"method":"tools/list"}' });
  const params = '{"name":"hostile-echo","arguments":{},"_meta":{"progressToken":1}}';
  await lane.send({ ...session, body: `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":${params}}` });
  const { status } = await lane.send({ ...session, method: 'DELETE' });
  if (status !== 200) throw new Error(`the session did not live to its end: ${status}`);
}
