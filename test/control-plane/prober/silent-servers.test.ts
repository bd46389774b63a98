// Servers that are silent when asked for what a probe can do without: it waits for a limited time, which passes as the test says.
import { mock } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t, { type Test } from 'tap';
import { Prober, type Probe, PROBE_ERA_MS_MAX } from '../../../src/control-plane/prober/prober.js';
import { limits } from '../../../src/shared/limits.js';
import { startRawBackend, type ReceivedRequest } from '../../support/raw-backend.js';

const AMPLE_MS = 60_000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** @param onUnanswered whether a request is not answered; called as it comes. */
async function probe(test: Test, onUnanswered: (request: ReceivedRequest) => boolean): Promise<Probe> {
  const answer = (request: ReceivedRequest): void => {
    if (onUnanswered(request)) return;
    if (request.method !== 'POST') return request.empty(request.method === 'DELETE' ? 200 : 405);
    const { id, method } = JSON.parse(request.text) as { id?: unknown; method: string };
    const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'a', version: '1' } };
    if (id === undefined) request.empty(202);
    else if (method === 'server/discover') request.empty(400);
    else request.json({ jsonrpc: '2.0', id, result }, { headers: { 'mcp-session-id': 's' } });
  };
  const backend = await startRawBackend(answer, { hearsDiscovery: true });
  test.teardown(() => backend.close());
  const prober = new Prober({ deadlineMs: AMPLE_MS });
  test.teardown(() => prober.close());
  return prober.probe(backend.url);
}

t.test('a server that hangs in its DELETE counts as probed all the same', async (t) => {
  const ending = new AbortController();
  const givenMs: number[] = [];
  const timeout = mock.method(AbortSignal, 'timeout', (ms: number) => {
    givenMs.push(ms);
    return ending.signal;
  });
  t.teardown(() => timeout.mock.restore());
  const found = await probe(t, ({ method }) => {
    if (method !== 'DELETE') return false;
    ending.abort(new DOMException('the time is over', 'TimeoutError'));
    return true;
  });
  t.match(found, { kind: 'reached', findings: { serverInfo: { name: 'a' } } });
  t.same(givenMs, [limits.noticeMsMax]);
});

t.test('a server with sessions that is silent when asked for the other era has its own alone', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const found = await probe(t, ({ text }) => {
    if (!text.includes('server/discover')) return false;
    collectGarbage();
    mock.timers.tick(PROBE_ERA_MS_MAX);
    return true;
  });
  mock.timers.reset();
  t.match(found, { kind: 'reached', findings: { era: 'legacy', eras: ['legacy'] } });
});
