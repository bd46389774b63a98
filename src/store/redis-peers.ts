// How the processes that have a session tell each other what the others must know at once: each hears a channel of its own in Redis,
// which says when nobody hears it any more. Who is told of an end answers on the teller's: Redis tells of changes as well, but
// nobody knows when that has been heard. Cold: when a session ends that several processes have, and seldom besides.
//
//   ended <key> <teller> <number>             to the peer
//   heard <peer> <number>                     its answer
//   passed <key> <teller> <number> <sealed>   to the peer
import { randomBytes } from 'node:crypto';
import { limits } from '../shared/limits.js';
import { RecentMap } from '../shared/recent-map.js';
import type { SessionPeers } from './sealed-sessions.js';

const CHANNEL_PREFIX = 'switchyard/sessions/';
/** Their text is 8 characters long, of which each record has some. */
const NAME_BYTES = 6;

export class RedisPeers implements SessionPeers {
  onEnded: SessionPeers['onEnded'];
  onPassed: SessionPeers['onPassed'];
  /** Whether Redis does not let it hear its channel. */
  isDeaf = false;
  readonly #name = randomBytes(NAME_BYTES).toString('base64url');
  readonly #publish: (channel: string, message: string) => Promise<number>;
  /** What is called when it is heard, by peer and number. */
  readonly #awaited = new Map<string, () => void>();
  /** Tellers and numbers of late: of a cluster each node brings a message. */
  readonly #known = new RecentMap<true>(limits.sessionNoticesKept, Infinity, () => 0);
  #number = 0;

  /** @param publish returns how many hear that channel. */
  constructor(publish: (channel: string, message: string) => Promise<number>) {
    this.#publish = publish;
  }

  get channel(): string {
    return CHANNEL_PREFIX + this.#name;
  }

  get listener(): string | undefined {
    return this.isDeaf ? undefined : this.#name;
  }

  async tellEnded(key: Buffer, listeners: readonly string[]): Promise<number> {
    const number = ++this.#number;
    const message = `ended ${key.toString('base64url')} ${this.#name} ${number}`;
    const areHeard = await Promise.all(listeners.map((listener) => this.#tellOne(listener, number, message)));
    return areHeard.filter((isHeard) => !isHeard).length;
  }

  async pass(key: Buffer, listeners: readonly string[], sealed: Buffer): Promise<void> {
    const name = `${this.#name} ${++this.#number}`;
    const message = `passed ${key.toString('base64url')} ${name} ${sealed.toString('base64url')}`;
    await Promise.all(listeners.map((listener) => this.#publish(CHANNEL_PREFIX + listener, message)));
  }

  /** @returns whether it has heard it, or is there no more. */
  async #tellOne(listener: string, number: number, message: string): Promise<boolean> {
    const name = `${listener} ${number}`;
    let timer: NodeJS.Timeout | undefined;
    // The answer may come before Redis says how many were told.
    const isHeard = new Promise<boolean>((resolve) => {
      this.#awaited.set(name, () => resolve(true));
      timer = setTimeout(() => resolve(false), limits.sessionEndWaitMsMax).unref();
    });
    try {
      const count = await this.#publish(CHANNEL_PREFIX + listener, message);
      // Who cannot hear the answer does not wait for it.
      return count === 0 || this.isDeaf || (await isHeard);
    } finally {
      clearTimeout(timer);
      this.#awaited.delete(name);
    }
  }

  /** On this process' own channel. */
  onPublished(message: string): void {
    const [kind, ...words] = message.split(' ');
    const [what = '', teller = '', number = '', sealed = ''] = words;
    if (kind === 'heard') return this.#awaited.get(`${what} ${teller}`)?.();
    const name = `${teller} ${number}`;
    if ((kind !== 'ended' && kind !== 'passed') || this.#known.get(name) === true) return;
    this.#known.set(name, true);
    const key = Buffer.from(what, 'base64url');
    if (kind === 'passed') return this.onPassed?.(key, Buffer.from(sealed, 'base64url'));
    this.onEnded?.(key);
    // Whoever does not hear of it has waited for long enough.
    this.#publish(CHANNEL_PREFIX + teller, `heard ${this.#name} ${number}`).catch(() => undefined);
  }
}
