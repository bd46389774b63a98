// A token that a backend refuses before it has expired: another one is asked for, and the request that was refused is sent once more.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { backendFor } from '../../support/deployment.js';
import type { McpBackend } from '../../support/mcp-backend.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';
import { WiredRelay, type WiredCaller } from '../../relay/wired-relay.js';

interface Scene {
  readonly caller: WiredCaller;
  readonly backend: McpBackend;
  /** The tokens that the authorization server has issued: `t1`, `t2`, … */
  readonly issued: readonly string[];
  /** Tokens that the backend refuses from now on. */
  readonly refused: Set<string>;
}

async function scene(t: Test): Promise<Scene> {
  const issued: string[] = [];
  const server = createServer((_request, response) => {
    issued.push(`t${issued.length + 1}`);
    const token = { access_token: issued.at(-1), token_type: 'Bearer', expires_in: 3_600 };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(token));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const directory = createScratchDirectory(t);
  writeFileSync(join(directory, 'machine'), 'hunter2');
  const refused = new Set<string>();
  const backend = await backendFor(t, {
    withSessions: true,
    onRequest: (request) => {
      const { authorization = '' } = request.headers;
      if (!refused.has(authorization.replace('Bearer ', ''))) return false;
      request.empty(401, { 'www-authenticate': 'Bearer error="invalid_token"' });
      return true;
    },
  });
  const auth = {
    ...{ type: 'oauth2-client-credentials', client_id: 'machine', client_secret: { file: 'machine' } },
    token_endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
  };
  const config = { url: backend.url, auth };
  const caller = new WiredRelay(t, { secretsDirectory: directory }).caller({ b: config });
  return { caller, backend, issued, refused };
}

const tokensOf = (backend: McpBackend, method: string): (string | undefined)[] =>
  backend.requestsOf(method).map(({ headers }) => headers['authorization']);

t.test('a session whose opening is refused for its token is opened with another one', async (t) => {
  const { caller, backend, issued, refused } = await scene(t);
  refused.add('t1');
  t.equal((await caller.open()).error, undefined);
  t.same(tokensOf(backend, 'initialize'), ['Bearer t1', 'Bearer t2']);
  t.equal((await caller.call('b-echo')).error, undefined);
  t.same(tokensOf(backend, 'tools/call'), ['Bearer t2']);
  t.same(issued, ['t1', 't2']);
});

t.test(
  'a call that is refused for its token is sent once more with another one, and is carried out once',
  async (t) => {
    const { caller, backend, issued, refused } = await scene(t);
    await caller.open();
    t.equal((await caller.call('b-echo')).error, undefined);
    refused.add('t1');
    t.equal((await caller.call('b-echo')).error, undefined);
    t.same(tokensOf(backend, 'tools/call'), ['Bearer t1', 'Bearer t1', 'Bearer t2']);
    t.equal(backend.calls.length, 2);
    t.same(issued, ['t1', 't2']);
  },
);

t.test('a backend that refuses every token is unavailable, and is not asked again and again', async (t) => {
  const { caller, backend, issued, refused } = await scene(t);
  for (const token of ['t1', 't2', 't3']) refused.add(token);
  await caller.open();
  t.not((await caller.call('b-echo')).error, undefined);
  t.same(tokensOf(backend, 'initialize').slice(0, 2), ['Bearer t1', 'Bearer t2']);
  t.ok(backend.requestsOf('initialize').length <= 3, `${backend.requestsOf('initialize').length} attempts`);
  t.same(issued, ['t1', 't2'], 'a second renewal would come too soon');
  t.equal(backend.calls.length, 0);
});
