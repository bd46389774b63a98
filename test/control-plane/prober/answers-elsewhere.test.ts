// Servers that answer otherwise than in the response to the request, or take notifications with another status than 202.
import t, { type Test } from 'tap';
import { Prober, type ProbeResult } from '../../../src/control-plane/prober/prober.js';
import { startRawBackend, type EventStreamBody, type ReceivedRequest } from '../../support/raw-backend.js';

/** The names of the tools that were found. */
function toolsOf(result: ProbeResult): string[] {
  const json = result.kind === 'reached' ? (result.findings.lists.tools?.json ?? '[]') : '[]';
  return (JSON.parse(Buffer.from(json).toString()) as { name: string }[]).map(({ name }) => name);
}

interface Elsewhere {
  readonly result: ProbeResult;
  readonly requests: readonly string[];
}

/** @param listen answers the GET; `undefined`: with the stream on which lists are sent. */
async function probe(
  t: Test,
  listen?: (request: ReceivedRequest) => void,
  onNotification = (request: ReceivedRequest) => request.empty(202),
  isElsewhere = true,
): Promise<Elsewhere> {
  let stream: EventStreamBody | undefined;
  const requests: string[] = [];
  const backend = await startRawBackend((request) => {
    const { id, method = request.method } = JSON.parse(request.text || '{}') as { id?: unknown; method?: string };
    requests.push(method);
    if (method === 'DELETE') return request.empty(200);
    if (method === 'GET') return listen === undefined ? void (stream = request.eventStream()) : listen(request);
    if (id === undefined) return onNotification(request);
    const self = {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'a', version: '1' },
    };
    const isList = method === 'tools/list';
    const result = isList ? { tools: [{ name: 'add', inputSchema: { type: 'object' } }] } : self;
    const answer = { jsonrpc: '2.0', id, result };
    if (!isList || !isElsewhere) return request.json(answer, { headers: { 'mcp-session-id': 's' } });
    request.empty(202);
    void stream?.event(JSON.stringify(answer));
  });
  t.teardown(() => backend.close());
  const prober = new Prober({ timeoutMs: 10_000 });
  t.teardown(() => prober.close());
  return { result: await prober.probe(backend.url), requests };
}

t.test('lists that a server sends on its own stream, with 202 to the request, are read there', async (t) => {
  const { result, requests } = await probe(t);
  t.same(toolsOf(result), ['add']);
  t.same(requests, ['initialize', 'notifications/initialized', 'tools/list', 'GET', 'tools/list', 'DELETE']);
});

t.test('one that has no such stream is said to answer wrongly', async (t) => {
  for (const listen of [
    (request: ReceivedRequest) => request.empty(405),
    (request: ReceivedRequest) => request.reset(),
  ]) {
    const { result } = await probe(t, listen);
    t.match(result, { kind: 'failed', reason: /not MCP/ });
  }
});

t.test('a notification may be taken with any status of success, without a body', async (t) => {
  for (const take of [
    (request: ReceivedRequest) => request.empty(200),
    (request: ReceivedRequest) => request.empty(204),
    (request: ReceivedRequest) => request.json('', { headers: { 'content-type': 'text/event-stream' } }),
  ]) {
    const { result } = await probe(t, undefined, take, false);
    t.same(toolsOf(result), ['add']);
  }
});
