// Streams that break and are gone on with: a backend that ends the stream of a call before its answer, and a client that
// loses its connection in the middle of one. Nothing is lost, nothing comes twice.
import t from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { EventReader } from '../support/event-reader.js';
import type { McpBackend } from '../support/mcp-backend.js';
import { BOTH_FORMS, rpc, type McpSession } from '../support/mcp-caller.js';
import type { ReceivedRequest } from '../support/raw-backend.js';
import { until } from '../support/until.js';

const RETRY_MS = 300;

function progress(number: number): string {
  return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":${number}.0}}`;
}

/** With a progress token. */
function callBody(tool: string, id = '7'): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${tool}","arguments":{},"_meta":{"progressToken":"p"}}}`;
}

async function beginCall(session: McpSession, tool: string, id?: string): Promise<EventReader> {
  return EventReader.open(session.caller, { session: session.id, accept: BOTH_FORMS, body: callBody(tool, id) });
}

/** A backend whose calls are answered by hand, and whose GETs are kept. */
async function brokenOff(
  t: Parameters<typeof backendFor>[0],
  onCall: (request: ReceivedRequest) => Promise<void>,
  onGet: (request: ReceivedRequest, number: number) => Promise<void>,
): Promise<{ readonly backend: McpBackend; readonly gets: ReceivedRequest[] }> {
  const gets: ReceivedRequest[] = [];
  const backend = await backendFor(t, {
    withSessions: true,
    onCall: (call) => onCall(call.takeOver()),
    onRequest: async (request) => {
      if (request.method !== 'GET') return false;
      gets.push(request);
      await onGet(request, gets.length);
      return true;
    },
  });
  return { backend, gets };
}

await forEachDeployment(t, {}, async (t, deployment) => {
  await t.test('a backend that ends its stream before the answer is asked for the rest after its retry', async (t) => {
    for (const how of ['end', 'break'] as const) {
      let endedAtMs = 0;
      const waitedMs: number[] = [];
      const { backend, gets } = await brokenOff(
        t,
        async (request) => {
          const stream = request.eventStream();
          await stream.bytes(`id: a\nretry: ${RETRY_MS}\ndata:\n\n`);
          await stream.event(progress(1), { id: 'b' });
          endedAtMs = performance.now();
          if (how === 'end') stream.end();
          else request.destroy();
        },
        async (request, number) => {
          waitedMs.push(performance.now() - endedAtMs);
          const stream = request.eventStream();
          if (number === 1) {
            await stream.event(progress(2), { id: 'c' });
            endedAtMs = performance.now();
          } else {
            await stream.event(progress(3), { id: 'd' });
            await stream.event('{"jsonrpc":"2.0","id":7,"result":{"n":1.0}}', { id: 'e' });
          }
          stream.end();
        },
      );
      const caller = await deployment.caller({ one: { url: backend.url } });
      const session = await caller.openSession();
      const stream = await beginCall(session, 'one-echo');
      t.equal(await stream.next(), progress(1));
      t.equal(await stream.next(), progress(2));
      t.same(await stream.rest(), [progress(3), '{"jsonrpc":"2.0","id":7,"result":{"n":1.0}}'], how);
      t.same(
        gets.map(({ headers }) => headers['last-event-id']),
        ['b', 'c'],
      );
      t.match(gets[0]?.headers, {
        accept: 'text/event-stream',
        'mcp-session-id': [...backend.sessions][0],
        'mcp-protocol-version': '2025-11-25',
      });
      t.ok(Math.min(...waitedMs) >= RETRY_MS - 10, `not before the retry: ${waitedMs.join(', ')}`);
      t.equal(backend.calls.length, 1, 'the tool runs once');
    }
  });

  await t.test('one that cannot be gone on with is an error that says so, and the tool runs once', async (t) => {
    for (const status of [400, 404, 405]) {
      const { backend } = await brokenOff(
        t,
        async (request) => {
          const stream = request.eventStream();
          await stream.bytes('id: a\nretry: 100\ndata:\n\n');
          stream.end();
        },
        async (request) => request.empty(status),
      );
      const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
      t.match(rpc(await session.call('one-echo')), {
        id: 7,
        error: { code: -32603, message: new RegExp(`^Backend "one" failed: stream ended .* HTTP status ${status}$`) },
      });
      t.equal(backend.calls.length, 1);
    }
  });

  await t.test('a list and a resource come whole all the same', async (t) => {
    let isOver = false;
    const answers = new Map<string, string>();
    const backend = await backendFor(t, {
      capabilities: { tools: {}, resources: {} },
      onRequest: async (request) => {
        if (request.method === 'GET') {
          const stream = request.eventStream();
          await stream.event(answers.get(request.headers['last-event-id'] ?? '') ?? '{}');
          stream.end();
          return true;
        }
        const { id, method } = JSON.parse(request.text) as { id?: unknown; method?: string };
        if (isOver || (method !== 'tools/list' && method !== 'resources/read')) return false;
        const result =
          method === 'tools/list'
            ? {
                tools: [
                  { name: 'x'.repeat(100_000), inputSchema: {} },
                  { name: 'a', inputSchema: {} },
                ],
              }
            : { contents: [{ uri: 'a:b', text: 'whole' }] };
        answers.set(method, JSON.stringify({ jsonrpc: '2.0', id, result }));
        const stream = request.eventStream();
        await stream.bytes(`retry: 100\nid: ${method}\ndata:\n\n`);
        stream.end();
        return true;
      },
    });
    const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
    t.same(await session.toolNames(), ['one-a'], 'but for the name that is too long');
    const read = '{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"one+a:b"}}';
    t.match(rpc(await session.send(read)), { id: 3, result: { contents: [{ uri: 'one+a:b', text: 'whole' }] } });
    isOver = true;
    await until(() => answers.size === 2, 'both');
  });
});
