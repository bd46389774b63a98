// Messages between processes that have the same session, through Redis: each process subscribes to its own channel. A peer acknowledges
// `ended`, because Redis does not confirm that its own report of the change has reached the peer. `passed` brings sealed data.
// `<key>` is the key of the session's record, `<number>` counts the sender's messages. Cold path: mostly when a shared session ends.
//   ended <key> <sender> <number>             to a peer
//   heard <peer> <number>                     the acknowledgement, to the sender
//   passed <key> <sender> <number> <sealed>   to a peer
import { randomBytes } from 'node:crypto';
import { limits, RecentMap } from '../shared/index.js';
import type { SessionPeers } from './sealed-sessions.js';

/** How many received messages are remembered, to ignore repetitions: each message comes once from every node of a cluster. */
const RECENT_MESSAGES_KEPT = 1_024;

const CHANNEL_PREFIX = 'switchyard/sessions/';
/** The bytes of a process's name: few, because each record contains several names. */
const NAME_BYTES = 6;

export class RedisPeers implements SessionPeers {
  onEnded: SessionPeers['onEnded'];
  onReceived: SessionPeers['onReceived'];
  /** Whether Redis refuses the subscription to this process's channel. */
  cannotReceive = false;
  readonly #name = randomBytes(NAME_BYTES).toString('base64url');
  readonly #publish: (channel: string, message: string) => Promise<number>;
  /** For each message that awaits an acknowledgement, by `<peer> <number>`: the function to call when the acknowledgement comes. */
  readonly #awaitedAcks = new Map<string, () => void>();
  /** The messages that were received last, by `<sender> <number>`. */
  readonly #recentMessages = new RecentMap<true>(RECENT_MESSAGES_KEPT, Infinity, () => 0);
  #lastNumber = 0;

  /** @param publish sends a message, and resolves to the number of the channel's subscribers. */
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
    const acknowledgements = await Promise.all(listeners.map((listener) => this.#sendEnded(listener, number, message)));
    return acknowledgements.filter((isAcknowledged) => !isAcknowledged).length;
  }

  async send(key: Buffer, listeners: readonly string[], sealed: Buffer): Promise<void> {
    const name = `${this.#name} ${++this.#lastNumber}`;
    const message = `passed ${key.toString('base64url')} ${name} ${sealed.toString('base64url')}`;
    await Promise.all(listeners.map((listener) => this.#publish(CHANNEL_PREFIX + listener, message)));
  }

  async #sendEnded(listener: string, number: number, message: string): Promise<boolean> {
    const name = `${listener} ${number}`;
    let timer: NodeJS.Timeout | undefined;
    // The acknowledgement may arrive before Redis's reply.
    const acknowledged = new Promise<boolean>((resolve) => {
      this.#awaitedAcks.set(name, () => resolve(true));
      timer = setTimeout(() => resolve(false), limits.peerAnswerMsMax).unref();
    });
    try {
      const count = await this.#publish(CHANNEL_PREFIX + listener, message);
      // If this process cannot receive messages, no acknowledgement can arrive, so none is awaited.
      return count === 0 || this.cannotReceive || (await acknowledged);
    } finally {
      clearTimeout(timer);
      this.#awaitedAcks.delete(name);
    }
  }

  onPublished(message: string): void {
    const [kind, ...words] = message.split(' ');
    const [first = '', second = '', number = '', sealed = ''] = words;
    if (kind === 'heard') return this.#awaitedAcks.get(`${first} ${second}`)?.();
    const sender = second;
    const name = `${sender} ${number}`;
    if ((kind !== 'ended' && kind !== 'passed') || this.#recentMessages.get(name) === true) return;
    this.#recentMessages.set(name, true);
    const key = Buffer.from(first, 'base64url');
    if (kind === 'passed') return this.onReceived?.(key, Buffer.from(sealed, 'base64url'));
    this.onEnded?.(key);
    // If the acknowledgement cannot be sent, the sender of `ended` waits until its timeout.
    this.#publish(CHANNEL_PREFIX + sender, `heard ${this.#name} ${number}`).catch(() => undefined);
  }
}
