// A relay on real connections to real backends, in this process; the test plays the caller.
import type { UpstreamOptions } from '../../src/config/dataplane-options.js';
import type { ExchangeRequest } from '../../src/exchange/exchange.js';
import type { RelayOptions } from '../../src/relay/relay-options.js';
import { Relay } from '../../src/relay/relay.js';
import { BackendConnections } from '../../src/http-client/backend-connections.js';
import { Names } from '../../src/http-client/names/names.js';
import type { PoolBounds } from '../../src/http-client/origin-pool.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { compileUserConfig } from '../../src/user-config/compile-config.js';
import { nextConfigNumber, numberConfig } from '../../src/user-config/user-configs.js';
import type { CompiledVirtualHost } from '../../src/user-config/compiled-config.js';
import { decodeUserConfig } from '../../src/user-config/user-config-schema.js';
import { readEvents } from '../support/event-stream.js';
import { logInto } from '../support/log-lines.js';
import { until } from '../support/until.js';
import { RecordedExchange } from '../support/recorded-exchange.js';
import { createAccounts } from '../support/shares.js';
import { ERAS } from '../support/eras.js';
import { answerOptions } from '../support/answer-options.js';
import { upstreamOptions } from '../support/upstream-options.js';

export interface RpcAnswer {
  readonly id?: unknown;
  readonly result?: { readonly [member: string]: unknown };
  readonly error?: { readonly code: number; readonly message: string };
}

export type WiredBackends = Readonly<
  Record<string, string | { readonly url: string; readonly prefix?: string; readonly tools?: object }>
>;

/** How much more time passes at each look of `untilPassed`. */
const FASTER_MS = 20;

export class WiredRelay {
  readonly relay: Relay;
  readonly logLines: string[] = [];
  readonly #virtualHosts = new Map<string, CompiledVirtualHost>();
  readonly #deadlines = new DeadlineWheel(undefined, () => performance.now() + this.#passedMs);
  #passedMs = 0;
  #sessionCount = 0;

  constructor(
    t: { teardown(end: () => Promise<void>): unknown },
    options: Partial<UpstreamOptions> = {},
    pool: Partial<PoolBounds> = {},
    more: Partial<RelayOptions> = {},
  ) {
    const upstream: UpstreamOptions = { ...upstreamOptions, callIdleTimeoutMs: 30_000, ...options };
    const backends = new BackendConnections({ connectTimeoutMs: upstream.connectTimeoutMs, names: new Names(), pool });
    this.relay = new Relay({
      accounts: createAccounts(),
      http: backends.calls,
      streams: backends.streams,
      replies: backends.replies,
      deadlines: this.#deadlines,
      upstream,
      eras: ERAS,
      answers: answerOptions,
      sessionIdleTimeoutMs: 60_000,
      mintSessionId: () => `session-${(this.#sessionCount += 1)}`,
      logger: logInto(this.logLines),
      ...more,
    });
    t.teardown(async () => {
      await this.relay.stop();
      await backends.close();
      this.#deadlines.stop();
    });
  }

  /** Lets this time pass for the relay's own deadlines. */
  pass(ms: number): void {
    this.#passedMs += ms;
    this.#deadlines.tick();
  }

  /** As `until`, while time passes faster for the relay's own deadlines, such as the delay before a backend is asked again. */
  async untilPassed(condition: () => boolean, what: string): Promise<void> {
    const look = (): boolean => {
      if (condition()) return true;
      this.pass(FASTER_MS);
      return false;
    };
    return until(look, what);
  }

  /**
   * @param backends URLs by name, or their configs; equal arguments give the same virtual host.
   * @param host other members of the virtual host's config, and its `id` if that is not `vh`.
   */
  caller(backends: WiredBackends, subject = 'alice', host: object = {}): WiredCaller {
    const key = JSON.stringify([backends, host]);
    const virtualHost = this.#virtualHosts.get(key) ?? compile(backends, host);
    this.#virtualHosts.set(key, virtualHost);
    return new WiredCaller(this.relay, subject, virtualHost);
  }
}

/** One caller with at most one session. */
export class WiredCaller {
  sessionId = '';
  readonly #relay: Relay;
  readonly #subject: string;
  readonly #virtualHost: CompiledVirtualHost;

  constructor(relay: Relay, subject: string, virtualHost: CompiledVirtualHost) {
    this.#relay = relay;
    this.#subject = subject;
    this.#virtualHost = virtualHost;
  }

  request(request: Partial<ExchangeRequest>): RecordedExchange {
    const exchange = new RecordedExchange({ sessionId: this.sessionId, ...request });
    this.#relay.handle({ subject: this.#subject, virtualHost: this.#virtualHost }, exchange);
    return exchange;
  }

  post(method: string, params: unknown, id: string | number): RecordedExchange {
    return this.request({ body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params })) });
  }

  /** Sends `initialize`, and keeps the session. */
  async open(capabilities: object = {}): Promise<RpcAnswer> {
    const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'c', version: '1' } };
    const exchange = this.post('initialize', params, 0);
    const answer = await answerOf(exchange);
    this.sessionId = exchange.answer?.sessionId ?? '';
    return answer;
  }

  async list(id = 5): Promise<RpcAnswer> {
    return answerOf(this.post('tools/list', {}, id));
  }

  async call(name: string, args: unknown = {}, id = 7): Promise<RpcAnswer> {
    return answerOf(this.post('tools/call', { name, arguments: args }, id));
  }
}

/** The answer of an exchange, as soon as it is there. */
export async function answerOf(exchange: RecordedExchange): Promise<RpcAnswer> {
  await until(() => ['responded', 'ended'].includes(exchange.outcome), 'an answer');
  const { answer, body, written } = exchange;
  // A slow answer comes as the event of a stream.
  const isStream = answer === undefined && body === undefined;
  const text = isStream ? readEvents(written).at(-1) : (answer?.body ?? written).toString();
  return JSON.parse(text ?? '') as RpcAnswer;
}

function compile(backends: WiredBackends, host: object): CompiledVirtualHost {
  const members = Object.entries(backends).map(([name, said]) => [
    name,
    typeof said === 'string' ? { url: said } : said,
  ]);
  const { id = 'vh', ...said } = host as { readonly id?: string };
  const virtualHosts = { [id]: { ...said, backends: Object.fromEntries(members) as unknown } };
  const text = JSON.stringify({ virtual_hosts: virtualHosts });
  const decoding = decodeUserConfig(Buffer.from(text));
  if (!decoding.ok) throw new Error(decoding.issues);
  const config = compileUserConfig(decoding.config, 'plain-text-or-tls');
  numberConfig(config, nextConfigNumber());
  const virtualHost = config.virtualHosts.get(id);
  if (virtualHost === undefined) throw new Error('no virtual host');
  return virtualHost;
}
