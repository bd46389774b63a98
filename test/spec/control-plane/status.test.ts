// Decisions section 3: GET /health, GET /version, and the interface's own description.
import { Validator } from '@seriousme/openapi-schema-validator';
import { createHash } from 'node:crypto';
import t from 'tap';
import type { RedisLocation } from '../../../src/config/table/store-options.js';
import { PROGRAM_VERSION } from '../../../src/shared/program.js';
import { forEachStore, newName, startControlPlane } from '../../support/control-plane.js';
import { backendFor } from '../../support/deployment.js';
import { startRedis } from '../../support/redis.js';
import { until } from '../../support/until.js';

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

await t.test('on either store', async (t) => {
  // A probe of a server that answers may not fail for a machine that is busy.
  await forEachStore(t, { options: ['--probe-timeout', '60s'] }, async (t, controlPlane) => {
    const stranger = controlPlane.stranger(t);

    await t.test('GET /health: 200, without a token', async (t) => {
      const answer = await controlPlane.stranger(t).get('/health');
      t.equal(answer.status, 200);
      t.same(answer.json(), { status: 'healthy' });
    });

    await t.test('GET /live: 200, without a token', async (t) => {
      const answer = await controlPlane.stranger(t).get('/live');
      t.equal(answer.status, 200);
      t.same(answer.json(), { status: 'live' });
    });

    await t.test('GET /version: version and status, without a token and without secrets', async (t) => {
      const caller = await controlPlane.caller(t);
      const backend = await backendFor(t);
      await caller.post('/servers', { name: newName('up'), url: backend.url });
      await caller.post('/servers', { name: newName('down'), url: 'http://127.0.0.1:1/mcp' });
      const answer = await controlPlane.stranger(t).get('/version');
      t.equal(answer.status, 200);
      t.match(answer.json(), {
        app: { name: 'switchyard', version: PROGRAM_VERSION, mcpProtocolVersion: '2025-11-25' },
        status: 'healthy',
        timestamp: /^\d{4}-\d\d-\d\dT/,
        uptimeSeconds: Number,
        store: { kind: controlPlane.storeOptions.kind, reachable: true },
        servers: { total: 2, active: 1, inactive: 1 },
        unpublishedChanges: 0,
      });
      const { storeOptions, key } = controlPlane;
      const secrets = [
        storeOptions.kind === 'embedded' ? storeOptions.path : portOf(storeOptions.location),
        key.publicKeyPath,
      ];
      for (const secret of secrets) t.notOk(answer.text.includes(secret), secret);
    });

    await t.test('GET /openapi.json: OpenAPI 3.1, valid, with every row of the endpoint table', async (t) => {
      const answer = await stranger.get('/openapi.json');
      t.equal(answer.status, 200);
      const document = answer.json() as { openapi: string; paths: Record<string, Record<string, unknown>> };
      t.match(document.openapi, /^3\.1\./);
      const { valid, errors } = await new Validator().validate(document);
      t.ok(valid, JSON.stringify(errors));
      const rows = Object.entries(document.paths).flatMap(([path, item]) =>
        Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
      );
      t.same(rows.sort(), [
        'DELETE /compositions/{composition}',
        'DELETE /connect/{server}',
        'DELETE /mcp',
        'DELETE /servers/{composition}/mcp',
        'DELETE /servers/{server}',
        'GET /.well-known/oauth-protected-resource',
        'GET /.well-known/oauth-protected-resource/mcp',
        'GET /.well-known/oauth-protected-resource/servers/{composition}/mcp',
        'GET /audit',
        'GET /compositions',
        'GET /compositions/{composition}',
        'GET /connect',
        'GET /connect/callback',
        'GET /connect/{server}',
        'GET /dataplane/explanation',
        'GET /dataplane/live',
        'GET /dataplane/sessions',
        'GET /docs',
        'GET /health',
        'GET /live',
        'GET /mcp',
        'GET /openapi.json',
        'GET /requests/{request}',
        'GET /servers',
        'GET /servers/{composition}/mcp',
        'GET /servers/{server}',
        'GET /servers/{server}/health',
        'GET /servers/{server}/prompts',
        'GET /servers/{server}/resources',
        'GET /servers/{server}/templates',
        'GET /servers/{server}/tools',
        'GET /ui',
        'GET /ui/sign-in',
        'GET /version',
        'GET /whoami',
        'PATCH /compositions/{composition}',
        'PATCH /servers/{server}',
        'POST /compositions',
        'POST /connect/{server}',
        'POST /mcp',
        'POST /probes',
        'POST /servers',
        'POST /servers/{composition}/mcp',
        'POST /servers/{server}/connect',
        'POST /servers/{server}/refresh',
        'POST /ui/sign-in',
        'POST /ui/sign-in/token',
        'PUT /compositions/{composition}',
        'PUT /servers/{server}',
      ]);
    });

    await t.test('GET /docs: a page that names every endpoint and loads nothing', async (t) => {
      const answer = await stranger.get('/docs');
      t.equal(answer.status, 200);
      t.equal(answer.contentType, 'text/html');
      for (const path of ['/servers/{server}/refresh', '/compositions/{composition}', '/mcp', '/version']) {
        t.ok(answer.text.includes(path), path);
      }
      t.notMatch(answer.text, /<script|<img|<link|@import|url\(|src=|https?:\/\//);
      const style = /<style>(.*)<\/style>/s.exec(answer.text)?.[1] ?? '';
      const hash = createHash('sha256').update(style).digest('base64');
      t.match(
        answer.header('content-security-policy'),
        new RegExp(`default-src 'none'; style-src 'sha256-${escape(hash)}'`),
      );
    });

    await t.test('every answer carries the security headers', async (t) => {
      const caller = await controlPlane.caller(t);
      const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
      const answers = [
        await caller.get('/health'),
        await caller.get('/servers'),
        await caller.get('/nowhere'),
        await caller.get('/servers/%zz'),
        await controlPlane.stranger(t).get('/servers'),
        await caller.post('/mcp', ping),
      ];
      t.same(
        answers.map(({ status }) => status),
        [200, 200, 404, 400, 401, 200],
      );
      for (const answer of answers) {
        for (const [name, value] of Object.entries(SECURITY_HEADERS)) t.equal(answer.header(name), value, name);
        t.match(answer.header('content-security-policy'), /default-src 'none'/);
      }
    });
  });
});

await t.test(
  'without the store: /health 503, /live 200, /version says so, the rest 503, and all is well when it is back',
  async (t) => {
    const redis = await startRedis(t);
    const controlPlane = await startControlPlane(t, { storeOptions: redis.storeOptions });
    const caller = await controlPlane.caller(t);
    t.equal((await caller.get('/servers')).status, 200);
    await redis.kill();
    await until(async () => (await caller.get('/health')).status === 503, 'the loss of the store to be seen');
    t.equal((await caller.get('/live')).status, 200);
    t.same((await caller.get('/health')).json(), { status: 'unhealthy' });
    t.match((await caller.get('/version')).json(), {
      status: 'unhealthy',
      store: { kind: 'redis', reachable: false },
      servers: null,
    });
    for (const answer of [
      await caller.get('/servers'),
      await caller.get('/compositions'),
      await caller.post('/servers', { name: newName('a'), url: 'http://127.0.0.1:1/mcp' }),
    ]) {
      t.equal(answer.status, 503);
      t.match(answer.json(), { detail: /store cannot be reached/ });
    }
    await redis.start();
    await until(async () => (await caller.get('/health')).status === 200, 'the store to be back');
    await until(async () => (await caller.get('/servers')).status === 200, 'the registry to be read');
  },
);

function escape(text: string): string {
  return text.replaceAll(/[+/=]/g, '\\$&');
}

function portOf(place: RedisLocation): string {
  if (!('port' in place)) throw new Error('these tests have one Redis');
  return String(place.port);
}
