// Clients that have a session, and backends of MCP 2026-07-28 that have none: real servers of the SDK, and scripted ones for the bytes.
import t, { type Test } from 'tap';
import { z } from 'zod';
import { ModernSdkServer } from '../support/modern-sdk-server.js';
import { startRawBackend, type RawBackend, type ReceivedRequest } from '../support/raw-backend.js';
import { WiredRelay } from './wired-relay.js';

const UNSUPPORTED = { code: -32_022, message: 'x', data: { supported: ['2026-07-28'] } };

function sdkServer(t: Test): Promise<ModernSdkServer> {
  return ModernSdkServer.start(t, {
    fill: (server) => {
      server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text }) => ({
        content: [{ type: 'text', text }],
      }));
      server.registerResource('r', 'test://r', {}, () => ({ contents: [{ uri: 'test://r', text: 'R' }] }));
      server.registerPrompt('p', {}, () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'P' } }] }));
    },
  });
}

interface Message {
  readonly id: number | string;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** A backend without sessions. @param answer to what is not the opening: the value of `result`, or `undefined` where it has answered. */
async function rawModern(
  t: Test,
  answer: (message: Message, request: ReceivedRequest) => unknown,
  capabilities: object = { tools: {} },
): Promise<RawBackend> {
  const backend = await startRawBackend((request) => {
    const message = JSON.parse(request.text) as Message;
    const { id } = message;
    if (message.method === 'initialize') {
      request.json({ jsonrpc: '2.0', id, error: UNSUPPORTED }, { status: 400 });
      return;
    }
    const isOpening = message.method === 'server/discover';
    const result = isOpening ? { supportedVersions: ['2026-07-28'], capabilities } : answer(message, request);
    if (result !== undefined) request.json({ jsonrpc: '2.0', id, result });
  });
  t.teardown(() => backend.close());
  return backend;
}

t.test('a session of a client begins with a backend that has none, and lists what it has', async (t) => {
  const server = await sdkServer(t);
  const caller = new WiredRelay(t).caller({ one: server.url });
  const { result } = await caller.open();
  t.match(result, { protocolVersion: '2025-11-25', instructions: '# one\n\nBe kind.' });
  t.match(result?.['capabilities'], { tools: {}, prompts: {}, resources: {} });
  t.match((await caller.list()).result, { tools: [{ name: 'one-echo' }] });
  t.same(server.methods, ['initialize', 'server/discover', 'tools/list']);
  const [, , list] = server.requests;
  t.match(list?.headers, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' });
  t.notOk(list?.headers['mcp-session-id'] ?? list?.headers['mcp-name']);
  // What other lists say of themselves is not said of ours.
  t.same(Object.keys((await caller.list()).result ?? {}), ['tools']);
});

t.test('all pages of such a backend are read: an empty cursor is one (N10)', async (t) => {
  const pages: Readonly<Record<string, object>> = {
    none: { tools: [{ name: 'a', inputSchema: {} }], nextCursor: '', resultType: 'complete' },
    '': { tools: [{ name: 'b', inputSchema: {} }], nextCursor: 'c', resultType: 'complete' },
    c: { tools: [{ name: 'c', inputSchema: {} }] },
  };
  const backend = await rawModern(t, ({ params }) => pages[(params['cursor'] as string | undefined) ?? 'none']);
  const caller = new WiredRelay(t).caller({ one: backend.url });
  await caller.open();
  t.match((await caller.list()).result, { tools: [{ name: 'one-a' }, { name: 'one-b' }, { name: 'one-c' }] });
  const sent = backend.requests.slice(2).map(({ text }) => JSON.parse(text) as Message);
  for (const { params } of sent)
    t.match(params['_meta'], {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
    });
});

t.test('a list of a type that nobody knows is invalid (N06)', async (t) => {
  for (const resultType of ['partial', 'input_required', 7]) {
    const backend = await rawModern(t, () => ({ tools: [], resultType }));
    const caller = new WiredRelay(t).caller({ one: backend.url });
    await caller.open();
    t.match((await caller.list()).result, {
      tools: [],
      _meta: { 'switchyard/unavailable': [{ backend: 'one', reason: 'invalid answer' }] },
    });
  }
});
