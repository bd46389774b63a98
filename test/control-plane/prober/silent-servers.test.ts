// Servers that are silent when asked for what a probe can do without: it waits for a limited time, which passes as the test says.
import t, { type Test } from 'tap';
import { Prober, type ProbeResult, PROBE_ERA_MS_MAX } from '../../../src/control-plane/prober/prober.js';
import { DeadlineWheel } from '../../../src/fair/deadline-wheel.js';
import { limits } from '../../../src/shared/limits.js';
import { startRawBackend, type ReceivedRequest } from '../../support/raw-backend.js';
import { until } from '../../support/until.js';

const AMPLE_MS = 60_000;
const [TOOLS, DISCOVER] = ['"tools/list"', '"server/discover"'];

/** What a server says of a request, if it does, when this time has passed. */
interface Silence {
  readonly ms: number;
  readonly thenAnswers?: boolean;
}

async function probe(
  test: Test,
  silenceAt: (request: ReceivedRequest) => Silence | Promise<Silence | undefined> | undefined,
): Promise<ProbeResult> {
  let nowMs = 0;
  const deadlines = new DeadlineWheel(10, () => nowMs);
  test.teardown(() => deadlines.stop());
  const answer = async (request: ReceivedRequest): Promise<void> => {
    const silence = await silenceAt(request);
    if (silence !== undefined) {
      nowMs += silence.ms;
      deadlines.tick();
      if (silence.thenAnswers !== true) return;
    }
    if (request.method !== 'POST') return request.empty(request.method === 'DELETE' ? 200 : 405);
    const { id, method } = JSON.parse(request.text) as { id?: unknown; method: string };
    const self = {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'a', version: '1' },
    };
    if (id === undefined) return request.empty(202);
    if (method === 'server/discover') return request.empty(400);
    const result = method === 'tools/list' ? { tools: [{ name: 'add', inputSchema: { type: 'object' } }] } : self;
    request.json({ jsonrpc: '2.0', id, result }, { headers: { 'mcp-session-id': 's' } });
  };
  const backend = await startRawBackend((request) => void answer(request), { hearsDiscovery: true });
  test.teardown(() => backend.close());
  const prober = new Prober({ timeoutMs: AMPLE_MS, deadlines });
  test.teardown(() => prober.close());
  return prober.probe(backend.url);
}

t.test('a server that hangs in its DELETE counts as probed all the same', async (t) => {
  const found = await probe(t, ({ method }) => (method === 'DELETE' ? { ms: limits.oneWayRequestMsMax } : undefined));
  t.match(found, { kind: 'reached', findings: { serverInfo: { name: 'a' } } });
});

t.test('a server with sessions that is silent when asked for the other era has its own alone', async (t) => {
  const found = await probe(t, ({ text }) => (text.includes(DISCOVER) ? { ms: PROBE_ERA_MS_MAX } : undefined));
  t.match(found, { kind: 'reached', findings: { era: 'legacy', eras: ['legacy'] } });
});

/** Answers the end of the session once the question is given up. */
async function whenGivenUp(asked: ReceivedRequest | undefined): Promise<undefined> {
  await until(() => asked?.connection.destroyed === true, 'the end of the question');
}

t.test('a server whose lists come late is reached, also where no time is left for the other era', async (t) => {
  let asked: ReceivedRequest | undefined;
  const found = await probe(t, (request) => {
    if (request.method === 'DELETE') return whenGivenUp(asked);
    if (request.text.includes(TOOLS)) return { ms: AMPLE_MS - PROBE_ERA_MS_MAX / 2, thenAnswers: true };
    if (!request.text.includes(DISCOVER)) return undefined;
    asked = request;
    return { ms: PROBE_ERA_MS_MAX / 2 };
  });
  t.match(found, { kind: 'reached', findings: { era: 'legacy', eras: ['legacy'] } });
  if (found.kind === 'reached') t.equal(found.findings.lists.tools?.items.size, 1);
});

t.test('a probe that is over does not go on asking while its session is ended', async (t) => {
  let asked: ReceivedRequest | undefined;
  const found = await probe(t, (request) => {
    if (request.method === 'DELETE') return whenGivenUp(asked);
    if (!request.text.includes(TOOLS)) return undefined;
    asked = request;
    return { ms: AMPLE_MS };
  });
  t.same(found, { kind: 'failed', reason: 'it did not respond in time' });
});
