// Authorization servers that try to harm the gateway when it requests access tokens, each called at full force by its own users,
// beside a user whose backend needs no token, whose calls, lists and new sessions must not be affected.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Scope } from '../attack/scope.js';
import { checkBeside, startScene } from '../support/beside.js';
import { backendFor } from '../support/deployment.js';
import { inParallel } from '../support/in-parallel.js';
import type { McpCaller } from '../support/mcp-caller.js';
import { startRawBackend, type RawHandler, type ReceivedRequest } from '../support/raw-backend.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const MIB = 1_048_576;
const LANES = 4;
const ROUNDS = 2;
/** Backends of one caller, each with its own OAuth client: this many tokens are requested. */
const BACKENDS = 24;
const SECRET = 'client-secret-3f0a';

function issue(members: object): RawHandler {
  return (request) => request.json({ access_token: 'at', token_type: 'Bearer', ...members });
}

function json(text: string): RawHandler {
  return (request) => request.json(text);
}

/** Writes the bytes repeatedly, as fast as the connection accepts them. */
async function pour(request: ReceivedRequest, bytes: string): Promise<void> {
  while (!request.connection.destroyed)
    await new Promise<void>((resolve) => request.connection.write(bytes, () => resolve()));
}

const STATUSES = [201, 204, 205, 206, 300, 304, 401, 418, 429, 500, 503, 599, 600, 799, 999];

const hostilities: Readonly<Record<string, RawHandler>> = {
  'are silent': () => undefined,
  'reset every request': (request) => request.reset(),
  'answer without an end': async (request) => {
    request.head({ headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' } });
    await pour(request, `10000\r\n${' '.repeat(65_536)}\r\n`);
  },
  'answer 100 MiB': async (request) => {
    request.head({ headers: { 'content-type': 'application/json', 'content-length': String(100 * MIB) } });
    await pour(request, '[1,'.repeat(20_000));
  },
  'promise answers that never come': async (request) => pour(request, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(2_000)),
  'have heads without an end': async (request) => {
    request.bytes('HTTP/1.1 200 OK\r\n');
    await pour(request, 'x-y: z\r\n'.repeat(100));
  },
  'answer a byte at a time': async (request) =>
    request.byteByByte(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 60000\r\n\r\n${' '.repeat(60_000)}`,
    ),
  'lead on to elsewhere': (request) =>
    request.empty(307, { location: 'http://169.254.169.254/latest/meta-data/iam/security-credentials/' }),
  'lead on to themselves': (request) => request.empty(308, { location: request.path }),
  'answer with odd statuses': (request) =>
    request.json(
      { access_token: 'at', token_type: 'Bearer' },
      { status: STATUSES[request.sequenceNumber % STATUSES.length]! },
    ),
  'change the protocol': (request) => request.empty(101, { upgrade: 'token/2' }),
  'answer deep JSON': json(`${'['.repeat(30_000)}${']'.repeat(30_000)}`),
  'answer many members': json(
    `{${Array.from({ length: 6_000 }, (_, n) => `"m${n}":${n}`).join()},"access_token":"at"}`,
  ),
  'issue tokens that no header can carry': issue({ access_token: 'a\r\nx-evil: 1' }),
  'issue long tokens': issue({ access_token: 'a'.repeat(60_000) }),
  'issue tokens for a moment': issue({ expires_in: 0.001 }),
  'issue tokens for ever': issue({ expires_in: 1e308 }),
  'issue tokens for less than nothing': issue({ expires_in: -1e308 }),
  'issue tokens for a text': issue({ expires_in: 'soon' }),
  'issue tokens of an odd kind': issue({ token_type: { toString: 'x' } }),
  'name prototypes': json('{"__proto__":{"access_token":"at"},"constructor":1,"token_type":"Bearer"}'),
  'answer what is no HTTP': (request) => {
    request.bytes(Buffer.alloc(65_536, 0xff));
    request.destroy();
  },
};

const secrets = createScratchDirectory(t);
writeFileSync(join(secrets, 'client'), SECRET);
const scene = await startScene(t, [
  '--secrets-directory',
  secrets,
  '--initialize-timeout',
  '4s',
  '--list-timeout',
  '4s',
]);

t.test('all of these token endpoints at once', async (t) => {
  const words = Object.keys(hostilities);
  await checkBeside(t, scene, async (scope) => {
    const asked = await attack(scope, Object.values(hostilities));
    t.same(
      words.filter((_, n) => asked[n] === 0),
      [],
      'each was asked',
    );
  });
});

/** @returns how many requests each endpoint got. */
async function attack(scope: Scope, handlers: readonly RawHandler[]): Promise<number[]> {
  const backend = await backendFor(scope);
  const endpoints = await Promise.all(
    handlers.map(async (handler) => {
      const endpoint = await startRawBackend(handler, { hearsDiscovery: true });
      scope.teardown(() => endpoint.close());
      return endpoint;
    }),
  );
  const names = [...Array(Math.max(BACKENDS, handlers.length)).keys()];
  const caller = await scene.deployment.caller(
    Object.fromEntries(
      names.map((n) => {
        const auth = {
          type: 'oauth2-client-credentials',
          client_id: `client-${n}`,
          client_secret: { file: 'client' },
          token_endpoint: `${endpoints[n % endpoints.length]!.origin}/token`,
        };
        return [`b${n}`, { url: backend.url, auth }];
      }),
    ),
  );
  await inParallel([...Array(LANES).keys()], LANES, async () => {
    for (let round = 0; round < ROUNDS; round += 1) await useOnce(caller);
  });
  const shown = backend.raw.requests.map(({ headers }) => headers['authorization'] ?? '');
  const evil = shown.filter((value) => value !== '' && value !== 'Bearer at');
  if (evil.length > 0) throw new Error(`a backend was shown ${JSON.stringify(evil[0])}`);
  return endpoints.map(({ requests }) => requests.length);
}

/** Runs a session from beginning to end. Each request must get some response, whatever it says. */
async function useOnce(caller: McpCaller): Promise<void> {
  const session = await caller.openSession();
  await session.list();
  await session.call('b0-echo');
  const { status } = await session.delete();
  if (status !== 200) throw new Error(`the session did not live to its end: ${status}`);
}
