// `--token-jwks-url`: a gateway that accepts tokens of one authorization server, and of another that is not up yet.
import { join } from 'node:path';
import t from 'tap';
import { writeConfig } from '../support/config-writer.js';
import { startGateway } from '../support/gateway.js';
import { createIssuerKey, Issuer } from '../support/issuer.js';
import { McpCaller } from '../support/mcp-caller.js';
import { send } from '../support/raw-http.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

t.test('tokens of two issuers are accepted, one of which comes up later', async (t) => {
  const storeOptions = { kind: 'embedded', path: join(createScratchDirectory(t), 'store') } as const;
  await writeConfig(storeOptions, 'alice', { virtual_hosts: { v: { backends: {} } } });
  const [issuer, late] = [await Issuer.start(t), await Issuer.start(t)];
  const lateToken = await late.token('alice', { iss: 'urn:late' });
  await late.stop();
  const gateway = await startGateway(t, {
    storeOptions,
    upstreamConnectionMode: 'plain-text-or-tls',
    options: [
      ...['--token-jwks-url', `${issuer.origin}=${issuer.jwksUrl},urn:late=${late.jwksUrl}`],
      ...['--admin-address', '127.0.0.1:0'],
    ],
  });
  const { address } = await gateway.waitForLog(({ msg }) => msg === 'admin listener');
  const ready = () => send(`http://${String(address)}`, { method: 'GET', path: '/ready', headers: [] });
  const initialize = (token: string) => new McpCaller(gateway.origin, gateway.path('v'), token).initialize();

  t.equal((await initialize(await issuer.token('alice'))).status, 200);
  t.equal((await initialize(await issuer.token('alice', { iss: 'urn:late' }))).status, 503, 'nobody can tell');
  const refused = await initialize(lateToken);
  t.equal(refused.status, 503);
  t.equal(refused.header('retry-after'), '5');
  t.match(refused.json(), { detail: /keys of the token's issuer cannot be fetched/ });
  await until(async () => /keys-unreachable/.test((await ready()).text), 'word of it');
  const standing = await ready();
  t.equal(standing.status, 200, 'the other issuer is served');
  t.match(standing.json(), { degraded: [{ code: 'keys-unreachable', message: /1 of 2 issuers/ }] });

  await late.comeBack();
  await until(async () => !/keys-unreachable/.test((await ready()).text), 'the late issuer');
  t.equal((await initialize(lateToken)).status, 200);
  t.equal((await initialize(await issuer.token('alice', { iss: 'urn:late' }))).status, 401, 'now everybody can');

  await issuer.stop();
  t.equal((await initialize(await issuer.token('alice'))).status, 200, 'what is known goes on');
  t.equal((await initialize(await issuer.token('alice', {}, createIssuerKey('x')))).status, 401);
  t.equal(gateway.errorOutput, '');
});

t.test('without a key of any issuer the gateway is not ready', async (t) => {
  const storeOptions = { kind: 'embedded', path: join(createScratchDirectory(t), 'store') } as const;
  const issuer = await Issuer.start(t);
  await issuer.stop();
  const gateway = await startGateway(t, {
    storeOptions,
    upstreamConnectionMode: 'plain-text-or-tls',
    options: ['--token-jwks-url', `${issuer.origin}=${issuer.jwksUrl}`, '--admin-address', '127.0.0.1:0'],
  });
  const { address } = await gateway.waitForLog(({ msg }) => msg === 'admin listener');
  const ready = () => send(`http://${String(address)}`, { method: 'GET', path: '/ready', headers: [] });
  await until(async () => (await ready()).status === 503, 'word of it');
  t.match((await ready()).json(), { obstacles: [{ code: 'keys-unreachable' }] });
  await issuer.comeBack();
  await until(async () => (await ready()).status === 200, 'its keys');
});
