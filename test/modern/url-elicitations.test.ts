// A backend with sessions whose user must visit a URL first, and clients of MCP 2026-07-28; through a real relay.
import t, { type Test } from 'tap';
import { startRawBackend, type RawBackend } from '../support/raw-backend.js';
import { answerOf, WiredRelay, type RpcAnswer, type WiredCaller } from '../relay/wired-relay.js';
import { post } from './modern-request.js';

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const BY_URL = { elicitation: { url: {} } };
const ACCEPTED = { 1: { action: 'accept' } };
const ELICITATION = { mode: 'url', elicitationId: 'e-1', url: 'https://example.org/?a=1', message: 'Sign in' };

interface Call {
  readonly params: Readonly<Record<string, unknown>>;
}

/** Accepts calls once the user has visited the URL. */
class Backend {
  readonly calls: Call[] = [];
  isOpen = false;
  error: object = { code: -32_042, message: 'first', data: { elicitations: [ELICITATION] } };
  readonly raw: RawBackend;

  private constructor(raw: RawBackend) {
    this.raw = raw;
    raw.handler = (request) => {
      const { id, method, params } = JSON.parse(request.text || '{}') as Call & { id?: unknown; method?: string };
      const answer = { jsonrpc: '2.0', id };
      if (method === undefined) return request.empty(405);
      if (id === undefined) return request.empty(202);
      const result = { protocolVersion: '2025-11-25', capabilities: { completions: {}, prompts: {} } };
      if (method === 'initialize')
        return request.json({ ...answer, result }, { headers: { 'mcp-session-id': 'a-session' } });
      this.calls.push({ params });
      request.json(this.isOpen ? { ...answer, result: { content: [] } } : { ...answer, error: this.error });
    };
  }

  static async start(t: Test): Promise<Backend> {
    const raw = await startRawBackend(() => undefined);
    t.teardown(() => raw.close());
    return new Backend(raw);
  }
}

function call(caller: WiredCaller, more: object = {}, capabilities: object = BY_URL): Promise<RpcAnswer> {
  const params = { name: 'b-x', arguments: { a: 1 }, ...more };
  return answerOf(post(caller, 'tools/call', { params, meta: { [CAPABILITIES]: capabilities } }));
}

t.test('the client is asked to open the URL, and then the call is made again', async (t) => {
  const backend = await Backend.start(t);
  const relay = new WiredRelay(t);
  const caller = relay.caller({ b: backend.raw.url });
  const { result = {} } = await call(caller);
  t.match(result, { resultType: 'input_required', requestState: String });
  const params = { mode: 'url', message: 'Sign in', url: 'https://example.org/?a=1' };
  t.strictSame(result['inputRequests'], { 1: { method: 'elicitation/create', params } });

  const { requestState } = result;
  for (const inputResponses of [undefined, { 1: { action: 'decline' } }, { 1: {} }, []])
    t.match((await call(caller, { requestState, inputResponses })).error, {
      code: -32603,
      message: /did not accept that/,
    });
  t.match((await call(caller, { requestState, inputResponses: ACCEPTED, arguments: {} })).error, { code: -32602 });
  const bob = relay.caller({ b: backend.raw.url }, 'bob');
  t.match((await call(bob, { requestState, inputResponses: ACCEPTED })).error, { code: -32602 }, 'nor is it bob’s');
  t.match((await call(caller, { inputResponses: ACCEPTED })).error, { code: -32602 }, 'nor anybody’s without it');
  t.equal(backend.calls.length, 1, 'nothing is begun for any of them');

  t.match((await call(caller, { requestState, inputResponses: ACCEPTED })).result, { resultType: 'input_required' });
  backend.isOpen = true;
  t.match((await call(caller, { requestState, inputResponses: ACCEPTED })).result, {
    resultType: 'complete',
    content: [],
  });
  t.strictSame(backend.calls.at(-1)?.params, { name: 'x', arguments: { a: 1 }, _meta: {} }, 'which sees nothing of it');
});

t.test('a client that opens no URLs is told what it lacks, and never gets the code of the error', async (t) => {
  const backend = await Backend.start(t);
  const caller = new WiredRelay(t).caller({ b: backend.raw.url });
  for (const capabilities of [{}, { elicitation: {} }]) {
    const { error } = await call(caller, {}, capabilities);
    t.match(error, { code: -32021, data: { requiredCapabilities: { elicitation: { url: {} } } } });
  }
  for (const data of [undefined, {}, { elicitations: 1 }, { elicitations: [{ url: 1 }, 2] }]) {
    backend.error = { code: -32_042, message: 'first', data };
    t.match((await call(caller)).error, { code: -32603, message: 'first' }, JSON.stringify(data));
  }
});
