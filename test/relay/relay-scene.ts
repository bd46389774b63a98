// A real relay between scripted backends and a test that plays the caller, with one session open.
import type { ExchangeRequest } from '../../src/exchange/exchange.js';
import type { ShareOptions, UpstreamOptions } from '../../src/config/dataplane-options.js';
import type { Accounts } from '../../src/fair/share.js';
import { createAccounts } from '../support/shares.js';
import { Relay } from '../../src/relay/relay.js';
import type { RelayOptions } from '../../src/relay/relay-options.js';
import type { SessionDirectory } from '../../src/session/directory/session-directory.js';
import type { CompiledVirtualHost } from '../../src/user-config/compiled-config.js';
import type { CurrentHost } from '../../src/user-config/user-configs.js';
import { logInto } from '../support/log-lines.js';
import { RecordedExchange } from '../support/recorded-exchange.js';
import { ScriptedContext } from '../upstream/scripted-context.js';
import { REQUEST_ID, type ScriptedUpstream } from '../upstream/scripted-upstream.js';
import { ERAS } from '../support/eras.js';

export const SESSION_ID = 'a-session';
export const SESSION_IDLE_MS = 60_000;

export class RelayScene {
  readonly context: ScriptedContext;
  readonly http: ScriptedUpstream;
  readonly relay: Relay;
  readonly virtualHost: CompiledVirtualHost;
  readonly accounts: Accounts;
  /** What the store currently says of the virtual host. */
  hostNow: CurrentHost;
  #mintedCount = 0;

  constructor(
    t: { teardown(end: () => void): unknown },
    virtualHost: CompiledVirtualHost,
    shares: Partial<ShareOptions> = {},
    directory?: SessionDirectory,
    upstream: Partial<UpstreamOptions> = {},
    more: Partial<Pick<RelayOptions, 'eras' | 'logger'>> = {},
  ) {
    this.accounts = createAccounts(shares);
    this.context = new ScriptedContext(t);
    this.context.options = { ...this.context.options, ...upstream };
    this.http = this.context.http;
    this.virtualHost = this.hostNow = virtualHost;
    this.relay = new Relay({
      http: this.http,
      deadlines: this.context.deadlines,
      endpoints: this.context.endpoints,
      upstream: this.context.options,
      eras: ERAS,
      answers: this.context.answers,
      accounts: this.accounts,
      sessionIdleTimeoutMs: SESSION_IDLE_MS,
      directory,
      readHost: () => this.hostNow,
      mintSessionId: () => this.#mintSessionId(),
      logger: logInto([]),
      ...more,
    });
  }

  /** A request in the session, not handled yet. */
  exchange(request: Partial<ExchangeRequest>): RecordedExchange {
    return new RecordedExchange({ sessionId: SESSION_ID, ...request });
  }

  request(request: Partial<ExchangeRequest>): RecordedExchange {
    return this.requestAs('alice', request);
  }

  requestAs(subject: string, request: Partial<ExchangeRequest>): RecordedExchange {
    const exchange = this.exchange(request);
    this.relay.handle({ subject, virtualHost: this.virtualHost }, exchange);
    return exchange;
  }

  /** Sends a message; without an id it is a notification. */
  post(method: string, params: unknown, id?: string | number): RecordedExchange {
    return this.request({ body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params })) });
  }

  /** Opens the session of a client with these capabilities; every backend of the virtual host answers. */
  open(
    capabilities: object = {},
    answer = initializeResult,
    protocolVersion = '2025-11-25',
    upstreamId = 'upstream-session',
  ): this {
    const params = { protocolVersion, capabilities, clientInfo: { name: 'c', version: '1' } };
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }));
    const before = this.http.calls.length;
    this.request({ body, sessionId: '' });
    for (const call of this.http.calls.slice(before)) {
      call.json(answer, upstreamId);
      this.http.last.empty();
    }
    return this;
  }

  #mintSessionId(): string {
    this.#mintedCount += 1;
    return this.#mintedCount === 1 ? SESSION_ID : `${SESSION_ID}-${this.#mintedCount}`;
  }
}

/** What a scripted backend answers to the relay's `initialize`. */
export const initializeResult = JSON.stringify({
  jsonrpc: '2.0',
  id: REQUEST_ID,
  result: { protocolVersion: '2025-11-25', capabilities: { tools: {} } },
});
