// Cancellations of requests that are not in flight in this process: after a reload, the replaced worker still works on them.
import t, { type Test } from 'tap';
import type { ExchangeRequest } from '../../../src/exchange/exchange.js';
import { limits } from '../../../src/shared/limits.js';
import { startRawBackend } from '../../support/raw-backend.js';
import { until } from '../../support/until.js';
import { WiredRelay, type WiredCaller } from '../../relay/wired-relay.js';

interface Passed {
  readonly identity: unknown;
  readonly request: ExchangeRequest;
}

interface Stage {
  readonly caller: WiredCaller;
  readonly passed: readonly Passed[];
  /** What the backend got beside the session's opening, by method. */
  readonly asked: readonly string[];
}

async function stage(t: Test): Promise<Stage> {
  const asked: string[] = [];
  const backend = await startRawBackend((request) => {
    const { id, method } = JSON.parse(request.text || '{}') as { id?: unknown; method?: string };
    const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} } };
    if (method === 'initialize')
      return request.json({ jsonrpc: '2.0', id, result }, { headers: { 'mcp-session-id': 'a-session' } });
    if (method === undefined) return request.empty(405);
    if (method !== 'notifications/initialized') asked.push(method);
    // Calls are left without an answer.
    if (id === undefined) request.empty(202);
  });
  t.teardown(() => backend.close());
  const passed: Passed[] = [];
  const sendToPredecessor = (identity: unknown, request: ExchangeRequest): void =>
    void passed.push({ identity, request });
  const caller = new WiredRelay(t, {}, {}, { sendToPredecessor }).caller({ b: backend.url });
  await caller.open();
  return { caller, passed, asked };
}

function cancel(caller: WiredCaller, requestId: unknown, reason = ''): ExchangeRequest {
  const notice = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason } };
  const exchange = caller.request({ body: Buffer.from(JSON.stringify(notice)), passthroughHeaders: ['x-tenant', 'a'] });
  return exchange.request;
}

t.test('a cancellation of what is not in flight here goes to the replaced worker, as it came', async (t) => {
  const { caller, passed } = await stage(t);
  const request = cancel(caller, 99);
  t.match(passed, [{ identity: { id: caller.sessionId, subject: 'alice', virtualHostId: 'vh' } }]);
  t.equal(passed[0]?.request, request);
});

t.test('one of a request that is in flight here goes to its backend alone', async (t) => {
  const { caller, passed, asked } = await stage(t);
  caller.post('tools/call', { name: 'b-x' }, 7);
  await until(() => asked.includes('tools/call'), 'the call');
  cancel(caller, 7);
  await until(() => asked.includes('notifications/cancelled'), 'the cancellation');
  t.same(passed, []);
});

t.test('one that is too large to be kept uncounted, or names no request, goes nowhere', async (t) => {
  const { caller, passed } = await stage(t);
  cancel(caller, 99, 'x'.repeat(limits.countedFromBytes));
  cancel(caller, undefined);
  t.same(passed, []);
});
