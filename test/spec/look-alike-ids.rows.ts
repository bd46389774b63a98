// A client may have the ids 7 and "7" in flight at once: they are two requests, whatever way their answers come.
import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { forEachDeployment } from '../support/deployment.js';
import { EventReader } from '../support/event-reader.js';
import { memberText } from '../support/json-text.js';
import { rpc, type RpcMessage } from '../support/mcp-caller.js';
import { callTool } from '../support/modern-caller.js';
import { startRawBackend, type EventStreamBody } from '../support/raw-backend.js';
import { encodeRequest, RawConnection, type HttpAnswer } from '../support/raw-http.js';
import { until } from '../support/until.js';

interface Holding {
  readonly backend: { readonly url: string; readonly transport?: 'SSE' };
  /** The arguments `n` of the calls that wait, as JSON. */
  readonly waiting: () => string[];
  readonly answer: (n: string) => void;
  /** The ids that the backend was told are cancelled, as JSON. */
  readonly cancelled: () => string[];
  readonly isListenedTo: () => boolean;
}

const OLD_SESSION = {
  params: '{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"old","version":"1"}}',
};

/** A backend that answers a call when it is told to. */
async function startHolding(
  t: Pick<Test, 'teardown'>,
  answerAs: 'json' | 'event-stream' | 'its own stream' | 'SSE' | 'modern',
): Promise<Holding> {
  const held = new Map<string, (text: string) => void>();
  const cancelled: string[] = [];
  /** By the path to which a client of the older transport posts, or by the id of the session. */
  const streams = new Map<string, EventStreamBody>();
  const isModern = answerAs === 'modern';
  const server = { capabilities: { tools: {} }, serverInfo: { name: 'holding', version: '1' } };
  const results: Readonly<Record<string, object>> = {
    initialize: { protocolVersion: answerAs === 'SSE' ? '2024-11-05' : '2025-11-25', ...server },
    'server/discover': { resultType: 'complete', supportedVersions: ['2026-07-28'], ...server },
    'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
  };
  const raw = await startRawBackend(
    async (request) => {
      if (request.method === 'DELETE') return request.empty(200);
      if (request.method !== 'POST') {
        if (answerAs !== 'its own stream' && answerAs !== 'SSE') return request.empty(405);
        const path = `/messages/${streams.size}`;
        const stream = request.eventStream();
        streams.set(answerAs === 'SSE' ? path : (request.headers['mcp-session-id'] ?? ''), stream);
        if (answerAs === 'SSE') await stream.event(path, { event: 'endpoint' });
        return undefined;
      }
      const [id, method = '""'] = [memberText(request.text, 'id'), memberText(request.text, 'method')];
      const name = JSON.parse(method) as string;
      const headers = name === 'initialize' ? { 'mcp-session-id': randomUUID() } : {};
      if (name === 'notifications/cancelled') cancelled.push(memberText(request.text, 'params', 'requestId') ?? '');
      if (id === undefined) return request.empty(202);
      const isOnStream = answerAs === 'SSE' || (answerAs === 'its own stream' && name === 'tools/call');
      const give = (text: string): void => {
        const stream = streams.get(answerAs === 'SSE' ? request.path : (request.headers['mcp-session-id'] ?? ''));
        if (isOnStream) void stream?.event(text);
        else if (answerAs === 'event-stream') {
          const body = request.eventStream();
          void body.event(text).then(() => body.end());
        } else request.json(text, { headers });
      };
      const result = results[name];
      if (isModern ? name === 'initialize' : name === 'server/discover')
        return request.json(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"Method not found"}}`);
      if (isOnStream) request.empty(202);
      if (result !== undefined) give(`{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`);
      else {
        const n = memberText(request.text, 'params', 'arguments', 'n') ?? '';
        const answer = (content: string): void => give(`{"jsonrpc":"2.0","id":${id},${content}}`);
        held.set(n, answer);
        // Without sessions, a call is cancelled by closing its connection.
        if (isModern) request.connection.once('close', () => held.get(n) === answer && cancelled.push(n));
      }
      return undefined;
    },
    { hearsDiscovery: true },
  );
  t.teardown(() => raw.close());
  return {
    backend: { url: raw.url, ...(answerAs === 'SSE' && { transport: 'SSE' }) },
    waiting: () => [...held.keys()],
    answer: (n) => {
      const content = [{ type: 'text', text: `for ${n}` }];
      held.get(n)?.(`"result":${JSON.stringify({ resultType: 'complete', content })}`);
      held.delete(n);
    },
    cancelled: () => cancelled,
    isListenedTo: () => streams.size > 0,
  };
}

await forEachDeployment(t, {}, async (t, deployment) => {
  for (const answerAs of ['json', 'event-stream', 'its own stream', 'SSE', 'modern'] as const) {
    await t.test(
      `ids 7 and "7" in flight at once are two requests, of a backend that answers as ${answerAs}`,
      async (t) => {
        const { backend, answer, waiting, cancelled, isListenedTo } = await startHolding(t, answerAs);
        const caller = await deployment.caller({ one: backend });
        const session = await caller.openSession(OLD_SESSION);
        // Nobody else makes the gateway listen to the backend's own stream.
        const isHeard = answerAs === 'its own stream';
        const listening = { method: 'GET', session: session.id, accept: 'text/event-stream' };
        const reader = isHeard ? await EventReader.open(caller, listening) : undefined;
        t.teardown(() => reader?.close());
        await until(() => !isHeard || isListenedTo(), 'the stream');
        const call = (id: string): string =>
          `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"one-echo","arguments":{"n":${id}}}}`;
        const resultOf = (sent: HttpAnswer): unknown => rpc(sent).result;
        const told = (id: string): object => ({ content: [{ type: 'text', text: `for ${id}` }] });
        for (const order of [
          ['7', '"7"'],
          ['"7"', '7'],
        ] as const) {
          const sent = order.map((id) => session.send(call(id)));
          await until(() => waiting().length === 2, 'both');
          for (const id of ['"7"', '7']) answer(id);
          t.match((await Promise.all(sent)).map(resultOf), order.map(told), `sent as ${order.join()}`);
          const batch = session.send(`[${order.map(call).join()}]`, { accept: 'application/json' });
          await until(() => waiting().length === 2, 'both of the batch');
          for (const id of ['7', '"7"']) answer(id);
          const members = (await batch).json() as RpcMessage[];
          for (const { id, result } of members)
            t.match(result, told(JSON.stringify(id)), `${JSON.stringify(id)} of a batch`);
          t.equal(new Set(members.map(({ id }) => id)).size, 2);
          if (isHeard) continue;
          const modern = order.map((id) => callTool(caller, 'one-echo', `{"n":${id}}`, { id }));
          await until(() => waiting().length === 2, 'both without a session');
          for (const id of ['"7"', '7']) answer(id);
          t.match(
            (await Promise.all(modern)).map(resultOf),
            order.map(told),
            `sent as ${order.join()}, without a session`,
          );
        }
        for (const [kept, given] of [
          ['7', '"7"'],
          ['"7"', '7'],
        ] as const) {
          const sent = session.send(call(kept));
          const dropped = await RawConnection.open(caller.origin);
          dropped.write(encodeRequest(caller.origin, caller.request({ session: session.id, body: call(given) })));
          await until(() => waiting().length === 2, 'both');
          const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${given}}}`;
          t.equal((await session.send(cancel)).status, 202);
          await until(() => cancelled().includes(given), 'the cancellation');
          t.same(cancelled(), [given], 'of that one alone');
          answer(kept);
          t.match(resultOf(await sent), told(kept), `${kept}, while ${given} is cancelled`);
          dropped.close();
          answer(given);
          cancelled().length = 0;
        }
      },
    );
  }
});
