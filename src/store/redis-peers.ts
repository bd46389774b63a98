// How the processes that share a session notify each other of what must be known at once: each subscribes to its own channel in Redis,
// which also tells when a channel has no subscriber left. A peer that is told of an end acknowledges it on the sender's channel: Redis
// reports changes as well, but never when a change has been received. Cold path: when a session ends that several processes have, and
// rarely otherwise.
//
//   ended <key> <teller> <number>             to the peer
//   heard <peer> <number>                     its acknowledgement
//   passed <key> <teller> <number> <sealed>   to the peer
import { randomBytes } from 'node:crypto';
import { limits, RecentMap } from '../shared/index.js';
import type { SessionPeers } from './sealed-sessions.js';

/**
 * Recent messages of other processes about sessions, remembered so that each is handled once although every node of a cluster delivers it.
 * Beyond that, the oldest is forgotten, and handled again if it is repeated.
 */
const SESSION_NOTICES_KEPT = 1_024;

const CHANNEL_PREFIX = 'switchyard/sessions/';
/** Encoded as 8 characters; each record contains several names. */
const NAME_BYTES = 6;

export class RedisPeers implements SessionPeers {
  onEnded: SessionPeers['onEnded'];
  onPassed: SessionPeers['onPassed'];
  /** Whether Redis refuses the subscription to this process's channel. */
  isDeaf = false;
  readonly #name = randomBytes(NAME_BYTES).toString('base64url');
  readonly #publish: (channel: string, message: string) => Promise<number>;
  /** Callbacks for pending acknowledgements, by peer and number. */
  readonly #awaited = new Map<string, () => void>();
  /** Recent senders and numbers, to drop duplicates: in a cluster every node delivers the message. */
  readonly #known = new RecentMap<true>(SESSION_NOTICES_KEPT, Infinity, () => 0);
  #number = 0;

  /** @param publish resolves to the number of subscribers of the channel. */
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

  /** @returns true when the peer has acknowledged it or no longer exists. */
  async #tellOne(listener: string, number: number, message: string): Promise<boolean> {
    const name = `${listener} ${number}`;
    let timer: NodeJS.Timeout | undefined;
    // Registered first, because the acknowledgement may arrive before the reply to the publish.
    const isHeard = new Promise<boolean>((resolve) => {
      this.#awaited.set(name, () => resolve(true));
      timer = setTimeout(() => resolve(false), limits.peerAnswerMsMax).unref();
    });
    try {
      const count = await this.#publish(CHANNEL_PREFIX + listener, message);
      // A deaf process cannot receive the acknowledgement, so it does not wait for it.
      return count === 0 || this.isDeaf || (await isHeard);
    } finally {
      clearTimeout(timer);
      this.#awaited.delete(name);
    }
  }

  /** Handles a message on this process's own channel. */
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
    // A sender that this cannot reach stops waiting after its own timeout.
    this.#publish(CHANNEL_PREFIX + teller, `heard ${this.#name} ${number}`).catch(() => undefined);
  }
}
