// Applies newer configs to the sessions of clients that only listen; any other session applies one with its next request. A client with a
// `subscriptions/listen` is told which lists have changed, and its stream ends, so that it listens again under the new config. Cold path.
import type { Deadline, DeadlineWheel } from '../fair/index.js';
import { limits } from '../shared/index.js';
import type { CurrentHost, ReadHost } from '../user-config/index.js';
import type { Exchange } from '../exchange/index.js';
import type { Session } from './session.js';

/**
 * Interval at which the user configs of sessions with an open client stream are read. If a config has changed, a `subscriptions/listen`
 * ends, so that its client listens again, and the session of any other stream applies the new config.
 */
export const LISTEN_CONFIG_MS = 10_000;

/** User configs that are read concurrently for open client streams, per worker. */
export const LISTEN_CONFIGS_AT_ONCE_MAX = 16;

type ListeningSession = Pick<Session, 'identity' | 'isEnded' | 'virtualHost' | 'applyConfig' | 'endStream'>;

export class ConfigPoll {
  readonly #readHost: ReadHost;
  readonly #nextRound: Deadline;
  /** Sessions by the exchange that is the client's open stream: a GET, or the POST of a `subscriptions/listen`. */
  readonly #listening = new Map<Exchange, ListeningSession>();
  #isRunning = false;
  #turnEndMs = 0;

  constructor(deadlines: DeadlineWheel, readHost: ReadHost) {
    this.#readHost = readHost;
    this.#nextRound = deadlines.after(LISTEN_CONFIG_MS, () => void this.#runRound());
    this.#nextRound.cancel();
  }

  get count(): number {
    return this.#listening.size;
  }

  /** Adds a session to the poll. @param exchange the client's open GET or `subscriptions/listen`. */
  add(session: ListeningSession, exchange: Exchange): void {
    if (exchange.isAborted) return;
    this.#listening.set(exchange, session);
    exchange.onDone = () => void this.#listening.delete(exchange);
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#nextRound.restart();
  }

  async #runRound(): Promise<void> {
    this.#turnEndMs = performance.now() + limits.turnMs;
    const left = [...this.#listening].values();
    await Promise.all(Array.from({ length: LISTEN_CONFIGS_AT_ONCE_MAX }, () => this.#checkSessions(left)));
    this.#isRunning = this.#listening.size > 0;
    if (this.#isRunning) this.#nextRound.restart();
  }

  /** Checks sessions until none is left in the iterator, which several concurrent calls share. */
  async #checkSessions(left: IterableIterator<[Exchange, ListeningSession]>): Promise<void> {
    for (const [exchange, session] of left) {
      if (this.#listening.has(exchange)) {
        const { subject, virtualHostId } = session.identity;
        this.#onHostRead(session, exchange, await this.#readHost(subject, virtualHostId));
      }
      if (performance.now() < this.#turnEndMs) continue;
      await new Promise((resolve) => setImmediate(resolve));
      this.#turnEndMs = performance.now() + limits.turnMs;
    }
  }

  #onHostRead(session: ListeningSession, exchange: Exchange, host: CurrentHost): void {
    if (session.isEnded || host === 'unknown' || !this.#listening.has(exchange)) return;
    // The client's next GET is refused like any request, unless the client may use the virtual host again by then.
    if (host === 'gone') session.endStream(false);
    else if (host !== session.virtualHost) {
      session.applyConfig(host, exchange.request);
      if (exchange.request.method === 'POST') session.endStream();
    }
  }
}
