// A real relay between a test that is the caller and scripted backends, with one session open.
import type { ExchangeRequest } from '../../src/relay/exchange.js';
import { Relay } from '../../src/relay/relay.js';
import type { CompiledVirtualHost } from '../../src/store/compiled-config.js';
import { logInto } from '../support/log-lines.js';
import { RecordedExchange } from '../worker/affinity/recorded-exchange.js';
import { ScriptedContext } from './upstream/scripted-context.js';
import { REQUEST_ID, type ScriptedUpstream } from './upstream/scripted-upstream.js';

export const SESSION_ID = 'a-session';

export class RelayScene {
  readonly context: ScriptedContext;
  readonly http: ScriptedUpstream;
  readonly relay: Relay;
  readonly virtualHost: CompiledVirtualHost;

  constructor(t: { teardown(end: () => void): unknown }, virtualHost: CompiledVirtualHost) {
    this.context = new ScriptedContext(t);
    this.http = this.context.http;
    this.virtualHost = virtualHost;
    this.relay = new Relay({
      http: this.http,
      deadlines: this.context.deadlines,
      upstream: this.context.options,
      sessionIdleTimeoutMs: 60_000,
      mintSessionId: () => SESSION_ID,
      logger: logInto([]),
    });
  }

  request(request: Partial<ExchangeRequest>): RecordedExchange {
    const exchange = new RecordedExchange({ sessionId: SESSION_ID, ...request });
    this.relay.handle({ subject: 'alice', virtualHost: this.virtualHost }, exchange);
    return exchange;
  }

  /** Sends a message; without an id it is a notification. */
  post(method: string, params: unknown, id?: string | number): RecordedExchange {
    return this.request({ body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params })) });
  }

  /** Opens the session; every backend of the virtual host is there. */
  open(): this {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }));
    this.request({ body, sessionId: '' });
    for (const call of [...this.http.calls]) {
      call.json(initializeResult, 'upstream-session');
      this.http.last.empty();
    }
    return this;
  }
}

/** What a scripted backend answers to the relay's `initialize`. */
export const initializeResult = JSON.stringify({
  jsonrpc: '2.0',
  id: REQUEST_ID,
  result: { protocolVersion: '2025-11-25', capabilities: { tools: {} } },
});
