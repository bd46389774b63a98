// Messages between the processes that share a session, through Redis: each process subscribes to its own channel, and Redis reports whether
// a channel has a subscriber. A peer acknowledges an `ended` message on the sender's channel, since Redis's own reports of changed records
// do not show whether anybody has received them. `passed` brings sealed data about a session, and is not acknowledged. `<key>` is the key
// of the session's record, `<number>` a count of the sender's messages. Cold path: used mostly when a shared session ends.
//
//   ended <key> <sender> <number>             to a peer
//   heard <peer> <number>                     the acknowledgement, to the sender
//   passed <key> <sender> <number> <sealed>   to a peer
import { randomBytes } from 'node:crypto';
import { limits, RecentMap } from '../shared/index.js';
import type { SessionPeers } from './sealed-sessions.js';

/**
 * Recent messages of other processes about sessions, remembered so that each is handled once although every node of a cluster delivers it.
 * Beyond that, the oldest is forgotten, and handled again if it is repeated.
 */
const SESSION_NOTICES_KEPT = 1_024;

const CHANNEL_PREFIX = 'switchyard/sessions/';
/** A name is 8 characters of base64; short, since each record contains several names. */
const NAME_BYTES = 6;

export class RedisPeers implements SessionPeers {
  onEnded: SessionPeers['onEnded'];
  onPassed: SessionPeers['onPassed'];
  /** Whether Redis refuses the subscription to this process's channel. */
  cannotReceive = false;
  readonly #name = randomBytes(NAME_BYTES).toString('base64url');
  readonly #publish: (channel: string, message: string) => Promise<number>;
  /** Callbacks for pending acknowledgements, by `<peer> <number>`. */
  readonly #awaited = new Map<string, () => void>();
  /** Recent messages as `<sender> <number>`, to drop duplicates: in a cluster every node delivers the message. */
  readonly #recent = new RecentMap<true>(SESSION_NOTICES_KEPT, Infinity, () => 0);
  #lastNumber = 0;

  /** @param publish resolves to the number of subscribers of the channel. */
  constructor(publish: (channel: string, message: string) => Promise<number>) {
    this.#publish = publish;
  }

  get channel(): string {
    return CHANNEL_PREFIX + this.#name;
  }

  get listener(): string | undefined {
    return this.cannotReceive ? undefined : this.#name;
  }

  async tellEnded(key: Buffer, listeners: readonly string[]): Promise<number> {
    const number = ++this.#lastNumber;
    const message = `ended ${key.toString('base64url')} ${this.#name} ${number}`;
    const acknowledgements = await Promise.all(listeners.map((listener) => this.#tellOne(listener, number, message)));
    return acknowledgements.filter((isAcknowledged) => !isAcknowledged).length;
  }

  async pass(key: Buffer, listeners: readonly string[], sealed: Buffer): Promise<void> {
    const name = `${this.#name} ${++this.#lastNumber}`;
    const message = `passed ${key.toString('base64url')} ${name} ${sealed.toString('base64url')}`;
    await Promise.all(listeners.map((listener) => this.#publish(CHANNEL_PREFIX + listener, message)));
  }

  /** @returns true when the peer has acknowledged it or no longer exists. */
  async #tellOne(listener: string, number: number, message: string): Promise<boolean> {
    const name = `${listener} ${number}`;
    let timer: NodeJS.Timeout | undefined;
    // Registered before the message is published, because the acknowledgement may arrive before Redis's reply.
    const acknowledged = new Promise<boolean>((resolve) => {
      this.#awaited.set(name, () => resolve(true));
      timer = setTimeout(() => resolve(false), limits.peerAnswerMsMax).unref();
    });
    try {
      const count = await this.#publish(CHANNEL_PREFIX + listener, message);
      // A process that cannot receive messages does not wait for the acknowledgement.
      return count === 0 || this.cannotReceive || (await acknowledged);
    } finally {
      clearTimeout(timer);
      this.#awaited.delete(name);
    }
  }

  /** Handles a message on this process's own channel. */
  onPublished(message: string): void {
    const [kind, ...words] = message.split(' ');
    const [first = '', second = '', number = '', sealed = ''] = words;
    if (kind === 'heard') return this.#awaited.get(`${first} ${second}`)?.();
    const sender = second;
    const name = `${sender} ${number}`;
    if ((kind !== 'ended' && kind !== 'passed') || this.#recent.get(name) === true) return;
    this.#recent.set(name, true);
    const key = Buffer.from(first, 'base64url');
    if (kind === 'passed') return this.onPassed?.(key, Buffer.from(sealed, 'base64url'));
    this.onEnded?.(key);
    // A sender that gets no acknowledgement stops waiting after its own timeout.
    this.#publish(CHANNEL_PREFIX + sender, `heard ${this.#name} ${number}`).catch(() => undefined);
  }
}
