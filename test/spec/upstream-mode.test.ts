// `--upstream-connection-mode` (specification "Process options" and specification 2.6): which backend URLs are accepted; and
// `--upstream-ca`: which certificate authorities are trusted.
import t from 'tap';
import { createCertificates } from '../support/certificates.js';
import { backendFor, Deployment } from '../support/deployment.js';
import { startGateway, verifyWith, type GatewaySetup } from '../support/gateway.js';
import { createKeyPair } from '../support/keys.js';
import { rpc } from '../support/mcp-caller.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const key = createKeyPair(t);
const certificates = createCertificates(t);
const strangers = createCertificates(t);
const { certificate: cert, privateKey } = certificates.server;
/** The variable that Node.js itself reads, and the option. */
const nodesTrust = { NODE_EXTRA_CA_CERTS: certificates.authority.certificatePath };
const trust = { SWITCHYARD_UPSTREAM_CA: certificates.authority.certificatePath };

async function deploy(setup: Pick<GatewaySetup, 'upstreamConnectionMode' | 'environment'>): Promise<Deployment> {
  const storeOptions = { kind: 'embedded', path: createScratchDirectory(t) } as const;
  const gateway = await startGateway(t, { ...setup, storeOptions, keyOptions: verifyWith(key) });
  return new Deployment('one', 1, storeOptions, key, gateway);
}

await t.test(
  'by default only https: an http backend is unavailable, with a reason that names the option',
  async (t) => {
    const deployment = await deploy({ environment: trust });
    const plain = await backendFor(t, { tools: ['x'] });
    const tls = await backendFor(t, { tools: ['y'], tls: { cert, key: privateKey } });
    const session = await (await deployment.caller({ plain: { url: plain.url }, tls: { url: tls.url } })).openSession();
    t.match(rpc(session.opening).result, {
      _meta: { 'switchyard/unavailable': [{ backend: 'plain', reason: /--upstream-connection-mode/ }] },
    });
    t.same(await session.toolNames(), ['tls-y']);
    t.match(rpc(await session.call('tls-y', '{"n":1}')), { result: { structuredContent: { n: 1 } } });
    const { error } = rpc(await session.call('plain-x'));
    t.equal(error?.code, -32603);
    t.match(error?.message, /\bplain\b.*--upstream-connection-mode/);
    t.equal(plain.raw.connections, 0, 'nothing was sent in plain text');
  },
);

await t.test('plain-text-or-tls: both', async (t) => {
  const deployment = await deploy({ environment: nodesTrust, upstreamConnectionMode: 'plain-text-or-tls' });
  const plain = await backendFor(t, { tools: ['x'] });
  const tls = await backendFor(t, { tools: ['y'], tls: { cert, key: privateKey } });
  const session = await (await deployment.caller({ plain: { url: plain.url }, tls: { url: tls.url } })).openSession();
  t.same(await session.toolNames(), ['plain-x', 'tls-y']);
});

await t.test('a backend whose certificate is not trusted is unavailable', async (t) => {
  const deployment = await deploy({ environment: trust });
  const { certificate, privateKey: theirKey } = strangers.server;
  const backend = await backendFor(t, { tls: { cert: certificate, key: theirKey } });
  const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
  t.match(rpc(session.opening).result, { _meta: { 'switchyard/unavailable': [{ backend: 'one', reason: /TLS/ }] } });
  t.equal(backend.raw.requests.length, 0);
});
