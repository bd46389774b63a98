// Servers that are silent when asked for what a probe can do without: it waits for a limited time, which passes as the test says.
import t, { type Test } from 'tap';
import { Prober, type Probe, PROBE_ERA_MS_MAX } from '../../../src/control-plane/prober/prober.js';
import { DeadlineWheel } from '../../../src/fair/deadline-wheel.js';
import { limits } from '../../../src/shared/limits.js';
import { startRawBackend, type ReceivedRequest } from '../../support/raw-backend.js';

const AMPLE_MS = 60_000;

/** @param isUnanswered whether a request gets no answer. @param silenceMs that passes when one came. */
async function probe(
  test: Test,
  isUnanswered: (request: ReceivedRequest) => boolean,
  silenceMs: number,
): Promise<Probe> {
  let nowMs = 0;
  const deadlines = new DeadlineWheel(10, () => nowMs);
  test.teardown(() => deadlines.stop());
  const answer = (request: ReceivedRequest): void => {
    if (isUnanswered(request)) {
      nowMs += silenceMs;
      return deadlines.tick();
    }
    if (request.method !== 'POST') return request.empty(request.method === 'DELETE' ? 200 : 405);
    const { id, method } = JSON.parse(request.text) as { id?: unknown; method: string };
    const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'a', version: '1' } };
    if (id === undefined) request.empty(202);
    else if (method === 'server/discover') request.empty(400);
    else request.json({ jsonrpc: '2.0', id, result }, { headers: { 'mcp-session-id': 's' } });
  };
  const backend = await startRawBackend(answer, { hearsDiscovery: true });
  test.teardown(() => backend.close());
  const prober = new Prober({ deadlineMs: AMPLE_MS, deadlines });
  test.teardown(() => prober.close());
  return prober.probe(backend.url);
}

t.test('a server that hangs in its DELETE counts as probed all the same', async (t) => {
  const found = await probe(t, ({ method }) => method === 'DELETE', limits.noticeMsMax);
  t.match(found, { kind: 'reached', findings: { serverInfo: { name: 'a' } } });
});

t.test('a server with sessions that is silent when asked for the other era has its own alone', async (t) => {
  const found = await probe(t, ({ text }) => text.includes('server/discover'), PROBE_ERA_MS_MAX);
  t.match(found, { kind: 'reached', findings: { era: 'legacy', eras: ['legacy'] } });
});
