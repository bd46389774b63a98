// What a probe keeps of what a server says of itself, and how its failures are told.
import t, { type Test } from 'tap';
import { Prober, SERVER_SELF_BYTES_MAX, type ProbeResult } from '../../../src/control-plane/prober/prober.js';
import { ProbeFault, probeFaultOf } from '../../../src/control-plane/prober/probe-fault.js';
import { upstreamFault, httpStatusFault } from '../../../src/http-client/upstream-fault.js';
import { limits } from '../../../src/shared/limits.js';
import { startMcpBackend } from '../../support/mcp-backend.js';

async function probe(t: Test, self: Readonly<Record<string, unknown>>): Promise<ProbeResult> {
  const { capabilities, ...extras } = self as { capabilities?: Readonly<Record<string, unknown>> };
  const backend = await startMcpBackend({ capabilities: capabilities ?? {}, initializeExtras: extras });
  const prober = new Prober({ timeoutMs: 60_000 });
  t.teardown(async () => {
    prober.close();
    await backend.close();
  });
  return prober.probe(backend.url);
}

t.test('of what a server says of itself, the essential is kept if it says too much', async (t) => {
  const fill = (members: object, bytes: number): object => {
    const rest = bytes - Buffer.byteLength(JSON.stringify({ ...members, fill: '' }));
    return { ...members, fill: 'x'.repeat(rest) };
  };
  const info = { name: 'n', version: 'v'.repeat(300), title: 7, websiteUrl: 'w' };
  const capabilities = { tools: { listChanged: true }, logging: {}, own: {} };
  const whole = {
    serverInfo: fill(info, SERVER_SELF_BYTES_MAX),
    capabilities: fill(capabilities, SERVER_SELF_BYTES_MAX),
  };
  t.match(await probe(t, whole), {
    findings: { serverInfo: { websiteUrl: 'w' }, capabilities: { tools: { listChanged: true }, own: {} } },
  });
  const more = {
    serverInfo: fill(info, SERVER_SELF_BYTES_MAX + 1),
    capabilities: fill(capabilities, SERVER_SELF_BYTES_MAX + 1),
  };
  const found = await probe(t, more);
  if (found.kind === 'failed') throw new Error(found.reason);
  t.strictSame(found.findings.serverInfo, { name: 'n', version: 'v'.repeat(256) });
  t.strictSame(found.findings.capabilities, { logging: {}, tools: {} });
  const titled = await probe(t, { serverInfo: fill({ title: 't', version: 1 }, SERVER_SELF_BYTES_MAX + 1) });
  t.match(titled, { findings: { serverInfo: { title: 't' } } });
});

t.test('what is nested too deeply is no answer', async (t) => {
  const nested = (depth: number): object => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`) as object;
  t.match(await probe(t, { serverInfo: { name: 'n', version: '1', deep: nested(limits.jsonDepthMax - 3) } }), {
    kind: 'reached',
  });
  const reason = 'its responses are not MCP in a supported version';
  t.match(await probe(t, { serverInfo: { name: 'n', version: '1', deep: nested(limits.jsonDepthMax - 2) } }), {
    kind: 'failed',
    reason,
  });
});

t.test('a fault of a server is told in words, with what to do where that is known', async (t) => {
  t.equal(probeFaultOf(upstreamFault('connection-refused')).message, 'it refuses connections');
  t.match(probeFaultOf(httpStatusFault(503)), { kind: 'http-status', message: 'it responded with HTTP status 503' });
  t.match(probeFaultOf(httpStatusFault(401)).message, 'status 401: credentials (`auth`) are missing or wrong');
  const redirected = probeFaultOf({ kind: 'redirected', isUnsent: false, detail: '302 to /x', logDetail: '302' });
  t.equal(
    redirected.message,
    'it redirects, and redirects are not followed: register the URL that it redirects to (302)',
  );
  t.equal(probeFaultOf(upstreamFault('list-refused')).kind, 'connect-failed');
  const tls = new ProbeFault('tls-failed', 'ERR_SSL_WRONG_VERSION_NUMBER');
  t.equal(tls.message, 'TLS failed ERR_SSL_WRONG_VERSION_NUMBER: that port does not speak TLS');
  t.equal(new ProbeFault('tls-failed', 'X').message, 'TLS failed X');
});
