import t, { type Test } from 'tap';
import { ProbeThread } from '../../../src/control-plane/prober/probe-thread.js';
import { Prober, type ProbeResult, PROBE_VALUES_MAX } from '../../../src/control-plane/prober/prober.js';
import { ProberClosedError } from '../../../src/control-plane/prober/probe-fault.js';
import { limits } from '../../../src/shared/limits.js';
import { startMcpBackend } from '../../support/mcp-backend.js';
import { startRawBackend, type RawBackend } from '../../support/raw-backend.js';
import { dearestTurnMs } from '../../support/turn-cost.js';

const AMPLE_MS = 60_000;

function openThread(t: Test): ProbeThread {
  const thread = new ProbeThread({ timeoutMs: AMPLE_MS, mode: 'plain-text-or-tls' });
  t.teardown(() => thread.close());
  return thread;
}

/** For tests that leave it as it was: loading its modules takes longer than most of them. */
const thread = openThread(t);

/** @param self JSON of the `initialize` result's members besides the version; @param tools JSON of a list. */
async function startScripted(t: Test, self: string, tools = '[]'): Promise<RawBackend> {
  const backend = await startRawBackend((request) => {
    if (request.method !== 'POST') return request.empty(405);
    const { id, method } = JSON.parse(request.text) as { id?: unknown; method: string };
    if (id === undefined) return request.empty(202);
    const result = method === 'initialize' ? `{"protocolVersion":"2025-11-25",${self}}` : `{"tools":${tools}}`;
    return request.json(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
  });
  t.teardown(() => backend.close());
  return backend;
}

const SELF = '"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}';

/** What the dearest turn of the event loop costs during the action, ms. */
async function dearestMs(action: () => Promise<unknown>): Promise<number> {
  let isOver = false;
  const start = (): void => void action().finally(() => (isOver = true));
  return dearestTurnMs(start, () => isOver);
}

t.test('the thread finds what a prober finds', async (t) => {
  const backend = await startMcpBackend({
    tools: ['a', 'b'],
    capabilities: { tools: {}, prompts: {} },
    methods: { 'prompts/list': () => ({ prompts: [{ name: 'p' }] }) },
  });
  t.teardown(() => backend.close());
  const [here, there] = await Promise.all([
    new Prober({ timeoutMs: AMPLE_MS }).probe(backend.url),
    thread.probe(backend.url),
  ]);
  const plain = (probe: ProbeResult): unknown =>
    probe.kind === 'reached'
      ? {
          ...probe.findings,
          lists: Object.entries(probe.findings.lists).map(([name, items]) => [
            name,
            items && [items.digest, Buffer.from(items.json).toString(), ...items.items],
          ]),
        }
      : probe;
  t.equal(there.kind, 'reached');
  t.same(plain(there), plain(here));
  t.match(await thread.probe('http://127.0.0.1:1/'), { kind: 'failed', reason: 'it refuses connections' });
});

t.test('one server’s answer does not delay other work', async (t) => {
  const filler = `[${'{},'.repeat(250_000)}{}]`;
  const backend = await startScripted(t, SELF, `[{"name":"a","inputSchema":{"x":${filler}}}]`);
  await thread.probe('http://127.0.0.1:1/');
  const prober = new Prober({ timeoutMs: AMPLE_MS });
  const hereMs = await dearestMs(() => prober.probe(backend.url));
  const thereMs = await dearestMs(() => thread.probe(backend.url));
  t.ok(thereMs < hereMs / 2, `${Math.round(hereMs)} ms here, ${Math.round(thereMs)} ms with the thread`);
});

t.test('more values than are worth parsing fail the probe, not the process', async (t) => {
  const filler = `[${'{},'.repeat(PROBE_VALUES_MAX)}{}]`;
  for (const backend of [
    await startScripted(t, `${SELF},"filler":${filler}`),
    await startScripted(t, SELF, filler),
    await startScripted(
      t,
      SELF,
      JSON.stringify(Array.from({ length: limits.probeToolsMax + 1 }, (_, n) => ({ name: `${n}`, inputSchema: {} }))),
    ),
  ]) {
    t.match(await thread.probe(backend.url), { kind: 'failed', reason: 'its responses are too large' });
  }
});

t.test('of what a server says of itself too much is cut to what has a meaning', async (t) => {
  const large = JSON.stringify('x'.repeat(400_000));
  const backend = await startScripted(
    t,
    `"capabilities":{"tools":{"listChanged":true},"experimental":{"own":{"x":${large}}}},"serverInfo":{"name":"s","version":"1","icons":[{"src":${large}}]}`,
  );
  const probe = await thread.probe(backend.url);
  t.match(probe, { kind: 'reached' });
  if (probe.kind !== 'reached') return;
  t.same(probe.findings.capabilities, { tools: {} });
  t.same(probe.findings.serverInfo, { name: 's', version: '1' });
});

t.test('an error code that is no number ends no other probe, and is not repeated', async (t) => {
  const thread = openThread(t);
  const slow = await startRawBackend(() => {});
  t.teardown(() => slow.close());
  let isOver = false;
  const neighbour = thread.probe(slow.url).finally(() => (isOver = true));
  await slow.request(0);
  for (const code of ['{"toString":null,"valueOf":null}', '"http://secret.example/"', 'null', '1.5']) {
    const backend = await startRawBackend((request) => {
      if (request.method !== 'POST') return request.empty(405);
      const { id, method } = JSON.parse(request.text) as { id?: number; method: string };
      if (id === undefined) return request.empty(202);
      const self = `"result":{"protocolVersion":"2025-11-25",${SELF}}`;
      const answer = method === 'initialize' ? self : `"error":{"code":${code},"message":"no"}`;
      return request.json(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${answer}}`);
    });
    t.teardown(() => backend.close());
    t.same(await thread.probe(backend.url), { kind: 'failed', reason: 'it responded with JSON-RPC error' }, code);
  }
  t.equal(isOver, false, 'the other probe is still under way');
  thread.close();
  await t.rejects(neighbour, ProberClosedError);
});

t.test('a closed thread begins no probe, and ends those in flight', async (t) => {
  const backend = await startRawBackend(() => {});
  t.teardown(() => backend.close());
  const thread = openThread(t);
  const probe = t.rejects(thread.probe(backend.url), ProberClosedError);
  await backend.request(0);
  thread.close();
  await probe;
  await t.rejects(thread.probe(backend.url), ProberClosedError);
});
