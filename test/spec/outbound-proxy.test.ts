// `HTTPS_PROXY` and `NO_PROXY`, `--upstream-proxy` and `--upstream-no-proxy`: machines that reach the outside through a proxy only. Both planes, and the
// issuer of the tokens.
import { createServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { createCertificates } from '../support/certificates.js';
import { startControlPlane } from '../support/control-plane.js';
import { backendFor, Deployment } from '../support/deployment.js';
import { startForwardProxy } from '../support/forward-proxy.js';
import { startGateway, verifyWith } from '../support/gateway.js';
import { Issuer } from '../support/issuer.js';
import { createKeyPair } from '../support/keys.js';
import { McpCaller, rpc } from '../support/mcp-caller.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const certificates = createCertificates(t, 'DNS:files.example,DNS:issuer.example');
const { certificate: cert, privateKey } = certificates.server;
const backend = await backendFor(t, { tools: ['read'], tls: { cert, key: privateKey } });
const issuer = await Issuer.start(t);
const keyServer = createServer({ cert, key: privateKey }, (_request, response) => {
  void fetch(issuer.jwksUrl).then(async (answer) => response.end(await answer.text()));
});
keyServer.listen(0, '127.0.0.1');
await once(keyServer, 'listening');
t.teardown(() => void keyServer.close());
const ports: Readonly<Record<string, number>> = {
  'files.example:443': Number(new URL(backend.url).port),
  'issuer.example:443': (keyServer.address() as AddressInfo).port,
};
const proxy = await startForwardProxy(t, (authority) => ports[authority] ?? 1);
const proxyUrl = `http://127.0.0.1:${proxy.port}`;
const trust = ['--upstream-ca', certificates.authority.certificatePath];
const URL_BEHIND = 'https://files.example/mcp';

await t.test(
  'HTTPS_PROXY, as other programs read it: tools are listed and called, tokens of an outer issuer taken',
  async (t) => {
    const key = createKeyPair(t);
    const storeOptions = { kind: 'embedded', path: createScratchDirectory(t) } as const;
    const gateway = await startGateway(t, {
      storeOptions,
      keyOptions: [...verifyWith(key), '--token-jwks-url', `${issuer.origin}=https://issuer.example/keys`],
      options: trust,
      environment: { HTTPS_PROXY: proxyUrl, NO_PROXY: 'direct.example' },
    });
    const caller = await new Deployment('one', 1, storeOptions, key, gateway).caller({ one: { url: URL_BEHIND } });
    const session = await caller.openSession();
    t.same(await session.toolNames(), ['one-read']);
    t.match(rpc(await session.call('one-read', '{"n":1}')), { result: { structuredContent: { n: 1 } } });
    const theirs = new McpCaller(gateway.origin, caller.path, await issuer.token(caller.subject));
    t.same(await (await theirs.openSession()).toolNames(), ['one-read']);
    t.same([...new Set(proxy.authorities)].sort(), ['files.example:443', 'issuer.example:443']);
    await caller.configure({ one: { url: 'https://direct.example/mcp' } });
    t.match(rpc((await caller.openSession()).opening).result, {
      _meta: { 'switchyard/unavailable': [{ reason: 'host name not resolved' }] },
    });
  },
);

await t.test('the control plane registers a server behind it, and says what the proxy said of another', async (t) => {
  const plane = await startControlPlane(t, { options: [...trust, '--upstream-proxy', proxyUrl] });
  const caller = await plane.caller(t);
  const registered = await caller.post('/servers', { name: 'files', url: URL_BEHIND });
  t.match(registered.json(), { name: 'files', reachable: true });
  proxy.answer = (socket) => socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
  const refused = await caller.post('/servers', { name: 'forbidden', url: 'https://forbidden.example/mcp' });
  t.match(refused.json(), { lastError: /no connection to it through --upstream-proxy \(HTTP 403\)/ });
});
