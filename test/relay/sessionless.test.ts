// Requests without a session, where the relay accepts them: each runs in a session of its own, which ends with it.
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { NO_MIRROR, Exchange, type ExchangeRequest, type Caller } from '../../src/exchange/exchange.js';
import { Relay } from '../../src/relay/relay.js';
import { Http1Upstream } from '../../src/http-client/http1-upstream.js';
import { Names } from '../../src/http-client/names/names.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { compileUserConfig } from '../../src/user-config/compile-config.js';
import { decodeUserConfig } from '../../src/user-config/user-config-schema.js';
import { backendFor } from '../support/deployment.js';
import { readEvents } from '../support/event-stream.js';
import type { McpBackend } from '../support/mcp-backend.js';
import type { ReceivedRequest } from '../support/raw-backend.js';
import { until } from '../support/until.js';
import { createAccounts } from '../support/shares.js';
import { ERAS } from '../support/eras.js';
import { answerOptions } from '../support/answer-options.js';
import { upstreamOptions } from '../support/upstream-options.js';

/** Takes one answer, and nothing once the caller is gone, as the contract of `Exchange` says. */
class KeptExchange extends Exchange {
  readonly request: ExchangeRequest;
  bodyReleases = 0;
  isAborted = false;
  isOver = false;
  status = 0;
  contentType = '';
  sessionId: string | undefined;
  readonly #chunks: Buffer[] = [];

  constructor(body: string) {
    super();
    const head = {
      method: 'POST',
      sessionId: '',
      lastEventId: '',
      requestId: '',
      traceparent: '',
      tracestate: '',
      acceptedTypes: 'both',
      passthroughHeaders: [],
      mirror: NO_MIRROR,
    } as const;
    this.request = { ...head, body: Buffer.from(body) };
  }

  /** The answer, in whichever form it came. */
  get message(): unknown {
    const body = Buffer.concat(this.#chunks);
    const text = this.contentType === 'text/event-stream' ? (readEvents(body).at(-1) ?? '') : body.toString();
    return JSON.parse(text) as unknown;
  }

  respond(status: number, contentType: string, body: Uint8Array | string, sessionId?: string): void {
    if (this.isAborted || this.isOver) return;
    Object.assign(this, { status, contentType, sessionId, isOver: true });
    this.#chunks.push(Buffer.from(body as Uint8Array));
    this.reportDone(status, body.length, 'whole');
  }

  openStream(sessionId?: string): void {
    Object.assign(this, { status: 200, contentType: 'text/event-stream', sessionId });
  }

  openBody(): void {
    Object.assign(this, { status: 200, contentType: 'application/json' });
  }

  write(bytes: Uint8Array): boolean {
    this.#chunks.push(Buffer.from(bytes));
    return true;
  }

  end(last?: Uint8Array): void {
    if (last !== undefined) this.write(last);
    this.isOver = true;
    this.reportDone(200, 0, 'whole');
  }

  reset(): void {
    this.isOver = true;
    this.reportDone(200, 0, 'cut');
  }

  override releaseBody(): void {
    this.bodyReleases += 1;
  }

  abort(): void {
    this.isAborted = true;
    this.onAbort?.();
  }
}

class Stage {
  readonly relay: Relay;
  readonly caller: Caller;

  constructor(t: Test, backends: Readonly<Record<string, McpBackend>>, isSessionOptional: boolean) {
    const deadlines = new DeadlineWheel();
    const http = new Http1Upstream({ connectTimeoutMs: 5_000, names: new Names() });
    this.relay = new Relay({
      accounts: createAccounts(),
      http,
      deadlines,
      upstream: { ...upstreamOptions, initializeTimeoutMs: 5_000, listTimeoutMs: 5_000, callIdleTimeoutMs: 5_000 },
      eras: ERAS,
      answers: answerOptions,
      sessionIdleTimeoutMs: 60_000,
      mintSessionId: () => 'a session that nobody is told of',
      isSessionOptional,
      logger: pino({ level: 'silent' }),
    });
    t.teardown(async () => {
      await this.relay.stop();
      await http.close();
      deadlines.stop();
    });
    const urls = Object.entries(backends).map(([name, { url }]) => [name, { url }]);
    const text = JSON.stringify({ virtual_hosts: { vh: { backends: Object.fromEntries(urls) as unknown } } });
    const decoding = decodeUserConfig(Buffer.from(text));
    if (!decoding.ok) throw new Error(decoding.issues);
    const virtualHost = compileUserConfig(decoding.config, 'plain-text-or-tls').virtualHosts.get('vh');
    if (virtualHost === undefined) throw new Error('no virtual host');
    this.caller = { subject: 'alice', virtualHost };
  }

  post(body: string): KeptExchange {
    const exchange = new KeptExchange(body);
    this.relay.handle(this.caller, exchange);
    return exchange;
  }

  async answerTo(body: string): Promise<KeptExchange> {
    const exchange = this.post(body);
    await until(() => exchange.isOver, 'the answer');
    return exchange;
  }
}

const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';

function call(tool: string, more = ''): string {
  return `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"${tool}","arguments":{"n":1.0}${more}}}`;
}

t.test('a list, a call and a ping are answered, and no upstream session is left', async (t) => {
  const one = await backendFor(t, { tools: ['a', 'b'], withSessions: true });
  const two = await backendFor(t, { tools: ['c'], withSessions: true, answerAs: 'event-stream' });
  const stage = new Stage(t, { one, two }, true);

  const list = await stage.answerTo(LIST);
  t.match(list.message, { id: 1, result: { tools: [{ name: 'one-a' }, { name: 'one-b' }, { name: 'two-c' }] } });
  t.equal(list.sessionId, undefined, 'the session is nobody else’s');
  await until(() => one.deletedSessions.length === 1 && two.deletedSessions.length === 1, 'both sessions to be ended');

  const called = await stage.answerTo(call('two-c'));
  t.match(called.message, { id: 'c', result: { content: [{ text: '{"n":1.0}' }] } });
  await until(() => two.deletedSessions.length === 2, 'the session of the call to be ended');
  t.equal(one.requestsOf('initialize').length, 1, 'a call opens a session with its own backend only');

  t.match((await stage.answerTo('{"jsonrpc":"2.0","id":0,"method":"ping"}')).message, { id: 0, result: {} });
  t.equal(one.sessions.size + two.sessions.size, 0);
  const introduced = one.requestsOf('initialize')[0]?.text ?? '';
  t.match(JSON.parse(introduced), { params: { clientInfo: { name: 'switchyard' }, capabilities: {} } });
});

t.test('an error answer ends the session too', async (t) => {
  const backend = await backendFor(t, {
    withSessions: true,
    onCall: (received) => received.fail({ code: 5, message: 'no' }),
  });
  const stage = new Stage(t, { backend }, true);
  t.match((await stage.answerTo(call('backend-echo'))).message, { error: { code: 5 } });
  await until(() => backend.deletedSessions.length === 1, 'the session to be ended');
  t.match((await stage.answerTo(call('nothing'))).message, {
    error: { code: -32602, message: 'Unknown tool: nothing' },
  });
  t.match((await stage.answerTo('{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}')).message, {
    error: { code: -32601 },
  });
  t.equal(backend.requestsOf('initialize').length, 1, 'what needs no backend opens no session');
});

t.test('progress comes before the answer', async (t) => {
  const backend = await backendFor(t, {
    withSessions: true,
    onCall: async (received) => {
      await received.notify('notifications/progress', { progressToken: 'p', progress: 1 });
      return { content: [] };
    },
  });
  const stage = new Stage(t, { backend }, true);
  const answered = await stage.answerTo(call('backend-echo', ',"_meta":{"progressToken":"p"}'));
  t.equal(answered.contentType, 'text/event-stream');
  t.match(answered.message, { id: 'c', result: { content: [] } });
  await until(() => backend.deletedSessions.length === 1, 'the session to be ended');
});

t.test('a caller that goes away ends its session, whatever it waits for', async (t) => {
  const held: ReceivedRequest[] = [];
  let heldMethods = /tools\/(call|list)/;
  const backend = await backendFor(t, {
    withSessions: true,
    onRequest: (request) => {
      const isHeld = heldMethods.test(request.text);
      if (isHeld) held.push(request);
      return isHeld;
    },
  });
  const stage = new Stage(t, { backend }, true);
  for (const [index, body] of [call('backend-echo'), LIST].entries()) {
    const exchange = stage.post(body);
    await until(() => held.length === index + 1, 'the backend to have the request');
    exchange.abort();
    await until(() => backend.deletedSessions.length === index + 1, 'the session to be ended');
  }
  heldMethods = /"initialize"/;
  const exchange = stage.post(LIST);
  await until(() => held.length === 3, 'the backend to have initialize');
  exchange.abort();
  await until(() => held[2]?.connection.destroyed === true, 'the handshake to be given up');
  t.equal(backend.sessions.size, 0);
});

t.test('a relay that stops ends the sessions of such requests', async (t) => {
  let isHeld = false;
  const backend = await backendFor(t, {
    withSessions: true,
    onRequest: ({ text }) => {
      const isCall = text.includes('tools/call');
      isHeld ||= isCall;
      return isCall;
    },
  });
  const stage = new Stage(t, { backend }, true);
  const exchange = stage.post(call('backend-echo'));
  await until(() => isHeld, 'the backend to have the call');
  await stage.relay.stop();
  t.match(exchange.message, { error: { message: 'Backend "backend" failed: session ended' } });
  t.equal(backend.deletedSessions.length, 1);
});

t.test('notifications and responses need a session, and without the option requests do, too', async (t) => {
  const backend = await backendFor(t);
  const notice = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}';
  const response = '{"jsonrpc":"2.0","id":1,"result":{}}';
  const optional = new Stage(t, { backend }, true);
  for (const body of [notice, response]) t.equal(optional.post(body).status, 400, body);
  const strict = new Stage(t, { backend }, false);
  for (const body of [notice, response, LIST, call('backend-echo')]) t.equal(strict.post(body).status, 400, body);
  t.equal(backend.raw.requests.length, 0);
});
