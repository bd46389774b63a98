// One life of the two connections to Redis: one for data, and one that hears which of the keys read over the first have
// changed since (client-side caching, RESP2: tracking redirected to a subscriber). They begin and end together, because
// a change goes unheard as soon as either is lost. A link is never mended: its owner makes another one.
//
//   opening ── both connected, subscribed, tracking on ──> live
//   opening, live ── a connection or an answer failed, or took too long, or end() ──> lost
import { ReplyError, type Redis } from 'ioredis';
import type { ListenAddress } from '../config/dataplane-options.js';
import { limits } from '../shared/limits.js';
import { createConnection, disconnect, messageOf, type RedisStoreOptions } from './redis-connection.js';
import { checkRole, findRedis } from './redis-place.js';
import { isGarbled } from './redis-replies.js';

export interface RedisLinkEvents {
  /** From now on every change of a key that this link reads is heard of. */
  onLive(): void;
  /** These keys were written, deleted or evicted after they were read. */
  onChanged(keys: readonly Buffer[]): void;
  /** All keys were. */
  onFlushed(): void;
  /** What was published to the link's own channel. */
  onPublished?(message: string): void;
  /** Redis refuses to let it hear its own channel; told before it is live. */
  onDeaf?(reason: string): void;
  /**
   * The last event, once, unless the owner ended the link.
   * @param isGarbled what was answered before may have been meant for other commands.
   */
  onLost(reason: string, isGarbled: boolean): void;
}

export interface RedisLinkHearing {
  /** Whether changes made over this link are told as well. */
  readonly itself: boolean;
  /** Of its own, where others publish what only its owner is to hear. */
  readonly channel?: string;
}

/** Of one Redis, or of all nodes of a cluster. */
export interface StoreLink {
  /** Resolved when the link is live, or lost. */
  open(): Promise<void>;
  /** The value. Rejects with a `ReplyError` when Redis refuses; with anything else the link is lost by then. */
  get(key: Buffer): Promise<Buffer | null>;
  /** Rejects as `get` does; a write that got no answer may have been done. */
  set(key: Buffer, value: Buffer): Promise<void>;
  /** Any other command on one key; rejects as `get` does. */
  run<Answer>(key: Buffer, command: (data: Redis) => Promise<Answer>): Promise<Answer>;
  /** @returns how many hear that channel: of a cluster, at one node of it. Rejects as `get` does. */
  publish(channel: string, message: string): Promise<number>;
  /** Ends all connections without an event. */
  end(): void;
}

type State = 'opening' | 'live' | 'lost';

export const NO_STRING = 'Redis answered a read with something that is no string';
const INVALIDATION_CHANNEL = '__redis__:invalidate';
const INVALIDATION_CHANNEL_BYTES = Buffer.from(INVALIDATION_CHANNEL);

export class RedisLink implements StoreLink {
  readonly #options: RedisStoreOptions;
  readonly #events: RedisLinkEvents;
  readonly #hearing: RedisLinkHearing;
  /** Both at the same server; none while it is looked for. */
  #connections: { readonly data: Redis; readonly changes: Redis } | undefined;
  #state: State = 'opening';
  /** While opening, the deadline; while live, the next health check. */
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RedisStoreOptions, events: RedisLinkEvents, hearing: RedisLinkHearing = { itself: true }) {
    this.#options = options;
    this.#events = events;
    this.#hearing = hearing;
  }

  async open(): Promise<void> {
    const openMsMax = limits.redisConnectMsMax;
    this.#timer = setTimeout(() => this.#lose(`Redis could not be connected to within ${openMsMax} ms`), openMsMax);
    try {
      const address = await findRedis(this.#options);
      if (this.#state !== 'opening') return;
      await this.#connect(address);
    } catch (error) {
      this.#lose(messageOf(error));
    }
    if (!this.#transition('opening', 'live')) return;
    this.#events.onLive();
    this.#scheduleHealthCheck();
  }

  async #connect(address: ListenAddress): Promise<void> {
    const data = createConnection(this.#options, address);
    const changes = createConnection(this.#options, address);
    this.#connections = { data, changes };
    for (const connection of [data, changes]) {
      connection.on('error', (error) => this.#lose(messageOf(error), isGarbled(error)));
      connection.on('close', () => this.#lose('Redis closed the connection'));
    }
    changes.on('messageBuffer', (channel: Buffer, message: unknown) => {
      if (channel.equals(INVALIDATION_CHANNEL_BYTES)) this.#onInvalidation(message);
      else if (this.#state !== 'lost') this.#events.onPublished?.(String(message));
    });
    await Promise.all([data.connect(), changes.connect()]);
    await checkRole(data, this.#options);
    const id = await changes.client('ID');
    await changes.subscribe(INVALIDATION_CHANNEL);
    await this.#subscribeOwn(changes);
    if (this.#hearing.itself) await data.client('TRACKING', 'ON', 'REDIRECT', id);
    else await data.client('TRACKING', 'ON', 'REDIRECT', id, 'NOLOOP');
    // The commands so far are answered by a Redis that is still loading its data; this one is refused.
    await data.ping();
  }

  /** A user without the right to hear its channel has a link all the same. */
  async #subscribeOwn(changes: Redis): Promise<void> {
    const { channel } = this.#hearing;
    if (channel === undefined) return;
    try {
      await changes.subscribe(channel);
    } catch (error) {
      if (!(error instanceof ReplyError)) throw error;
      this.#events.onDeaf?.(messageOf(error));
    }
  }

  async get(key: Buffer): Promise<Buffer | null> {
    return this.run(key, async (data) => data.getBuffer(key).then((value: unknown) => this.#stringIn(value)));
  }

  /** Before anything that came behind it is looked at: what is no answer to this may be one to the command before, and so on. */
  #stringIn(value: unknown): Buffer | null {
    if (this.#isLost) throw new Error('Redis is lost');
    if (value === null || Buffer.isBuffer(value)) return value;
    this.#lose(NO_STRING, true);
    throw new Error(NO_STRING);
  }

  async set(key: Buffer, value: Buffer): Promise<void> {
    await this.run(key, (data) => data.set(key, value));
  }

  async publish(channel: string, message: string): Promise<number> {
    return this.#run((data) => data.publish(channel, message));
  }

  async run<Answer>(_key: Buffer, command: (data: Redis) => Promise<Answer>): Promise<Answer> {
    return this.#run(command);
  }

  async #run<Answer>(command: (data: Redis) => Promise<Answer>): Promise<Answer> {
    if (this.#connections === undefined) throw new Error('Redis is not connected');
    return this.#losingOnSilence(command(this.#connections.data));
  }

  end(): void {
    if (!this.#transition('opening', 'lost') && !this.#transition('live', 'lost')) return;
    if (this.#connections === undefined) return;
    disconnect(this.#connections.data);
    disconnect(this.#connections.changes);
  }

  get #isLost(): boolean {
    return this.#state === 'lost';
  }

  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    clearTimeout(this.#timer);
    return true;
  }

  #lose(reason: string, isGarbled = false): void {
    if (this.#state === 'lost') return;
    this.end();
    this.#events.onLost(reason, isGarbled);
  }

  async #losingOnSilence<Answer>(command: Promise<Answer>): Promise<Answer> {
    try {
      const answer = await command;
      // What came behind something that cannot be may be the answer to another command.
      if (this.#isLost) throw new Error('Redis is lost');
      return answer;
    } catch (error) {
      if (!(error instanceof ReplyError)) this.#lose(messageOf(error));
      throw error;
    }
  }

  #onInvalidation(keys: unknown): void {
    if (this.#state === 'lost') return;
    if (Array.isArray(keys)) this.#events.onChanged(keys.filter((key) => Buffer.isBuffer(key)));
    else this.#events.onFlushed();
  }

  /** A connection can be dead without a sign of it: only a command that stays unanswered tells. */
  #scheduleHealthCheck(): void {
    this.#timer = setTimeout(() => void this.#checkHealth(), limits.redisHealthCheckMs);
    this.#timer.unref();
  }

  async #checkHealth(): Promise<void> {
    try {
      await Promise.all([this.#connections?.data.ping(), this.#connections?.changes.ping()]);
    } catch (error) {
      this.#lose(messageOf(error));
    }
    if (this.#state === 'live') this.#scheduleHealthCheck();
  }
}
