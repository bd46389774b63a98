// The hand-written backend must itself be a good one: the SDK's client is the judge.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import t, { type Test } from 'tap';
import { JsonText, memberText } from './json-text.js';
import { startMcpBackend, type McpBackend, type McpBackendOptions } from './mcp-backend.js';

async function start(t: Test, options: McpBackendOptions): Promise<McpBackend> {
  const backend = await startMcpBackend(options);
  t.teardown(() => backend.close());
  return backend;
}

async function connect(t: Test, backend: McpBackend): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL(backend.url));
  // The transport's `sessionId` is declared without `undefined`, which exactOptionalPropertyTypes rejects.
  await client.connect(transport);
  t.teardown(() => client.close());
  return client;
}

for (const answerAs of ['json', 'event-stream'] as const) {
  for (const framing of ['length', 'chunked', 'one-byte'] as const) {
    // Not '\r': the SDK's parser holds back the last event in case a ' ' follows.
    for (const lineEnd of ['\n', '\r\n'] as const) {
      const withSessions = framing === 'chunked';
      t.test(`serves the SDK's client: ${JSON.stringify({ answerAs, framing, lineEnd })}`, async (t) => {
        const backend = await start(t, {
          answerAs,
          framing,
          lineEnd,
          withSessions,
          tools: ['a', 'b', 'c'],
          pageSize: 2,
        });
        const client = await connect(t, backend);
        const first = await client.listTools();
        t.same(
          first.tools.map((tool) => tool.name),
          ['a', 'b'],
        );
        const second = await client.listTools({ cursor: first.nextCursor! });
        t.same(
          second.tools.map((tool) => tool.name),
          ['c'],
        );
        const result = await client.callTool({ name: 'b', arguments: { text: 'ä,{"}' } });
        t.same(result.structuredContent, { text: 'ä,{"}' });
        t.equal(backend.calls[0]?.name, 'b');
        t.equal(backend.sessions.size, withSessions ? 1 : 0);
      });
    }
  }
}

t.test('sends progress ahead of the answer', async (t) => {
  const backend = await start(t, {
    withPriming: true,
    onCall: async (call) => {
      const token = memberText(call.request.text, 'params', '_meta', 'progressToken');
      await call.notify('notifications/progress', new JsonText(`{"progressToken":${token},"progress":1}`));
      return { content: [] };
    },
  });
  const client = await connect(t, backend);
  const progress: number[] = [];
  await client.callTool({ name: 'echo' }, undefined, { onprogress: (update) => progress.push(update.progress) });
  t.same(progress, [1]);
});

t.test('ends lines with a bare carriage return when asked', async (t) => {
  const backend = await start(t, { answerAs: 'event-stream', lineEnd: '\r' });
  const answer = await fetch(backend.url, { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
  t.equal(await answer.text(), 'event: message\rdata: {"jsonrpc":"2.0","id":1,"result":{}}\r\r');
});

t.test('loses its sessions, and refuses requests without one', async (t) => {
  const backend = await start(t, { withSessions: true });
  const client = await connect(t, backend);
  await client.ping();
  backend.forgetSessions();
  await t.rejects(client.ping(), { code: 404 });
  const answer = await fetch(backend.url, { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
  t.equal(answer.status, 400);
});

t.test('finds the exact text of a member', async (t) => {
  const text = String.raw` { "a" : [1, {"b": 2}] , "\u0062":{"c":1.0, "c" : 1e400 }, "s":"},:\"" } `;
  t.equal(memberText(text, 'a'), '[1, {"b": 2}]');
  t.equal(memberText(text, 'b', 'c'), '1e400');
  t.equal(memberText(text, 's'), String.raw`"},:\""`);
  t.equal(memberText(text, 'c'), undefined);
  t.equal(memberText(text, 'x', 'y'), undefined);
});
