// A control plane in this process: which parts its options bring in, how these work together, and in what order it ends.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { startControlPlane } from '../../src/control-plane/control-plane.js';
import { controlPlaneOptions } from '../../src/config/dataplane-options.js';
import { openRecordStore } from '../../src/store/open-store.js';
import { optionLoader } from '../config/option-loader.js';
import { backendFor } from '../support/deployment.js';
import { createKeyPair, type KeyPair } from '../support/keys.js';
import { logInto } from '../support/log-lines.js';
import { McpCaller, rpc } from '../support/mcp-caller.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { mint } from '../support/tokens.js';
import { until } from '../support/until.js';

const { load } = optionLoader('control-plane', controlPlaneOptions);
const key: KeyPair = createKeyPair(t, 'ed25519');
const token = await mint({ sub: 'alice', key: key.privateKey, algorithm: key.algorithm });

interface Scene {
  readonly origin: string;
  readonly storePath: string;
  readonly lines: readonly string[];
  readonly drain: (timeoutMs: number) => Promise<void>;
  readonly ask: (
    path: string,
    request?: RequestInit & { readonly body?: string },
  ) => Promise<{ status: number; body: unknown }>;
}

async function scene(t: Test, words: readonly string[] = []): Promise<Scene> {
  const storePath = createScratchDirectory(t);
  const options = load([
    ...['--address', '127.0.0.1:0', '--store-path', storePath],
    ...['--token-verification-public-key', key.publicKeyPath, '--rate-limit', '0', ...words],
  ]);
  const lines: string[] = [];
  const { address, drain } = await startControlPlane(options, logInto(lines));
  let ended: Promise<void> | undefined;
  const drainOnce = async (timeoutMs: number): Promise<void> => (ended ??= drain(timeoutMs));
  t.teardown(() => drainOnce(0));
  const origin = `http://127.0.0.1:${address.port}`;
  const ask: Scene['ask'] = async (path, { headers = {}, ...request } = {}) => {
    const sent = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      connection: 'close',
      ...headers,
    };
    const answer = await fetch(origin + path, { redirect: 'manual', ...request, headers: sent });
    const said = await answer.text();
    return { status: answer.status, body: said === '' ? undefined : (JSON.parse(said) as unknown) };
  };
  return { origin, storePath, lines, drain: drainOnce, ask };
}

t.test('without further options there is a registry, and what is not configured says what it takes', async (t) => {
  const { ask, origin } = await scene(t);
  t.match(await ask('/health'), { status: 200 });
  t.same(await ask('/servers'), { status: 200, body: [] });
  t.same(await ask('/compositions'), { status: 200, body: [] });
  t.same(await ask('/audit'), { status: 200, body: [] });
  t.match(await ask('/connect'), { status: 503, body: { detail: /--connect-url and --secrets-key-file/ } });
  t.same(await ask('/ui/sign-in'), { status: 200, body: { issuer: null } });
  for (const path of ['/dataplane/sessions', '/dataplane/live', '/requests/x'])
    t.match(await ask(path), { status: 404, body: { detail: /--dataplane-admin-address/ } }, path);
  t.match(await ask('/servers', { headers: { authorization: 'Bearer x' } }), { status: 401 });
  t.match(await ask('/servers', { headers: { origin } }), { status: 200 }, 'its own pages may call it');
  t.match(await ask('/servers', { headers: { origin: 'https://elsewhere.example' } }), { status: 403 });
  t.match(await ask('/openapi.json'), { body: { openapi: /^3/ } });
});

t.test('options bring in consents, signing in, a dataplane, and bounds', async (t) => {
  const secretsKey = join(createScratchDirectory(t), 'keys');
  writeFileSync(secretsKey, randomBytes(32).toString('base64'), { mode: 0o600 });
  const { ask } = await scene(t, [
    ...['--secrets-key-file', secretsKey, '--connect-url', 'http://gateway.example', '--rate-limit', '9'],
    ...[
      '--sign-in-issuer',
      'http://127.0.0.1:1/issuer',
      '--sign-in-client-id',
      'c',
      '--token-issuer',
      'mcpgateway,http://127.0.0.1:1/issuer',
      '--max-servers',
      '1',
    ],
    ...['--dataplane-admin-address', '127.0.0.1:1', '--max-body-bytes', '1KiB', '--max-compositions', '1'],
  ]);
  t.same(await ask('/connect'), { status: 200, body: [] });
  const server = { name: 'files', url: 'http://127.0.0.1:1/mcp', auth: { type: 'oauth2-user' } };
  const register = async (body: object): Promise<{ status: number; body: unknown }> =>
    ask('/servers', { method: 'POST', body: JSON.stringify(body) });
  t.match(await register(server), { status: 201 });
  t.match(await register({ ...server, name: 'other' }), {
    status: 409,
    body: { detail: 'No more than 1 servers can be registered' },
  });
  t.match(await register({ ...server, description: 'x'.repeat(1_024) }), { status: 413 });
  const link = await ask('/servers/files/connect', { method: 'POST', body: '{}' });
  t.match(link, { status: 200, body: { url: /^http:\/\/gateway\.example\/connect\/files\?ticket=/ } });
  t.same(await ask('/ui/sign-in'), { status: 200, body: { issuer: '127.0.0.1:1' } });
  t.match(await ask('/dataplane/sessions'), {
    status: 503,
    body: { detail: /admin listener at http:\/\/127\.0\.0\.1:1 does not respond/ },
  });
  const compose = async (name: string): Promise<unknown> =>
    ask('/compositions', { method: 'POST', body: JSON.stringify({ name, servers: [] }) });
  t.match(await compose('one'), { status: 201 });
  t.match(await compose('two'), { status: 409, body: { detail: 'There can be no more than 1 compositions' } });
  t.match(await ask('/servers'), { status: 200 });
  t.match(await ask('/servers'), { status: 429 });
});

t.test('the MCP endpoints serve what is registered, and changes of the registry at once', async (t) => {
  const { ask, origin, lines } = await scene(t, ['--list-cache', '1h', '--access-log', 'true']);
  const tools = ['a'];
  const backend = await backendFor(t, { tools });
  t.match(await ask('/servers', { method: 'POST', body: JSON.stringify({ name: 'one', url: backend.url }) }), {
    status: 201,
    body: { status: 'active' },
  });
  const mcp = new McpCaller(origin, '/mcp', token);
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  const names = async (): Promise<unknown> =>
    (rpc(await mcp.send({ body })) as { result: { tools: { name: string }[] } }).result.tools.map(({ name }) => name);
  t.same(await names(), ['one-a']);
  tools.push('b');
  t.same(await names(), ['one-a'], 'kept');
  await ask('/servers/one/refresh', { method: 'POST' });
  t.same(await names(), ['one-a', 'one-b'], 'and read again after a change');
  const answer = await mcp.send({ body });
  const id = answer.header('x-request-id') ?? '';
  // A request is logged and remembered once its answer is gone.
  await until(() => lines.some((line) => line.includes(id)), 'the line of the request');
  t.match(await ask(`/requests/${id}`), {
    status: 200,
    body: [{ plane: 'control-plane', requestId: id, outcome: 'ok' }],
  });
  const changes = async (): Promise<unknown[]> =>
    ((await ask('/audit')).body as { operation: string }[]).map(({ operation }) => operation);
  await until(async () => (await changes()).length === 2, 'the records of both changes');
  t.same(await changes(), ['refreshServer', 'registerServer']);
});

t.test('without ids, no request can be looked up', async (t) => {
  const { ask } = await scene(t, ['--request-ids', 'off', '--token-roles-claim', 'role']);
  t.match(await ask('/servers'), { status: 403, body: { detail: /requires the role reader/ } });
  t.match(await ask('/requests/x'), { status: 404, body: { detail: /--dataplane-admin-address/ } });
});

t.test('a drain lets requests finish for a while, and leaves nothing open', async (t) => {
  const { origin, drain, storePath, ask } = await scene(t);
  await ask('/servers', { method: 'POST', body: '{"name":"files","url":"http://127.0.0.1:1/mcp"}' });
  const { port } = new URL(origin);
  const socket = connect(Number(port), '127.0.0.1');
  const answer = text(socket);
  const head = `POST /servers HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n`;
  socket.write(`${head}content-length: 2\r\nexpect: 100-continue\r\n\r\n`);
  await once(socket, 'readable');
  const drained = drain(3_600_000);
  const isRefused = async (): Promise<boolean> =>
    ask('/health').then(
      () => false,
      () => true,
    );
  await until(isRefused, 'the end of new connections');
  socket.write('{}');
  t.match(await answer, /HTTP\/1\.1 422 [^]*name is missing/);
  await drained;
  const records = await openRecordStore({ kind: 'embedded', path: storePath }, logInto([]));
  t.equal((await records.listKeys('', '', 100)).length > 0, true, 'the store is free for another process');
  await records.close();
});

t.test('a drain cuts requests that take too long', async (t) => {
  const { origin, drain } = await scene(t);
  const { port } = new URL(origin);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(
    `POST /ui/sign-in/token HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n`,
  );
  await once(socket, 'readable');
  const closed = once(socket.resume(), 'close');
  await drain(1);
  await closed;
});

t.test('what stands in the way of a start is told with what to do', async (t) => {
  const { origin } = await scene(t);
  const start = async (words: readonly string[]): Promise<unknown> => startControlPlane(load(words), logInto([]));
  const address = new URL(origin).host;
  const store = createScratchDirectory(t);
  await t.rejects(start(['--address', address, '--store-path', store]), {
    ...{
      name: 'StartFault',
      exitStatus: 69,
      message: new RegExp(`cannot listen on ${address}: it is in use; .*--address`),
    },
  });
  await t.rejects(start(['--address', '127.0.0.1:0', '--store-path', '/dev/null/store']), {
    ...{
      name: 'StartFault',
      exitStatus: 73,
      message: /^the store cannot be opened: .*; give --store-path a directory/,
    },
  });
  writeFileSync(join(store, 'data.mdb'), 'x'.repeat(100_000));
  await t.rejects(start(['--address', '127.0.0.1:0', '--store-path', store]), { name: 'StartFault', exitStatus: 73 });
});
