// One lifetime of the connections to one Redis: one for data and, for owners that cache what they read, a subscriber to the invalidations
// of those keys (client-side caching of RESP2). Both end together, because without one of them changes go unnoticed. A lost link is never
// repaired: its owner creates another.
//   opening ── both connected, subscribed, tracking on ──> live
//   opening, live ── a connection or an answer failed, or took too long, or end() ──> lost
import { ReplyError, type Redis } from 'ioredis';
import type { ListenAddress } from '../config/index.js';
import { limits } from '../shared/index.js';
import {
  createConnection,
  disconnectQuietly,
  UNEXPECTED_REPLY,
  safeMessage,
  type RedisStoreOptions,
} from './redis-connection.js';
import { checkRole, findRedis } from './redis-location.js';

/** Interval between health checks. A silent loss is noticed within this interval and one command timeout. */
export const REDIS_HEALTH_CHECK_MS = 3_000;

export interface RedisLinkEvents {
  /** Called when the link is live: from now on, every change of a key read over it is reported. */
  onLive(): void;
  /** Called when keys that were read over this link have been written, deleted or evicted since. */
  onChanged(keys: readonly Buffer[]): void;
  onFlushed(): void;
  /** Called with a message that was published to the link's own channel. */
  onPublished?(message: string): void;
  /** Called before `onLive`, when Redis refuses the subscription to the link's own channel. */
  onSubscriptionRefused?(reason: string): void;
  /** Called when the link is lost, unless the owner ended it; the last event. */
  onLost(reason: string): void;
}

export interface ReportedChanges {
  /** Whether changes made over this link are reported as well. */
  readonly includesOwnChanges: boolean;
  /** The link's own channel, for messages to its owner. */
  readonly channel?: string;
}

/** A link to one Redis, or to all nodes of a cluster. */
export interface StoreLink {
  /** Opens the link. Resolves when it is live, or lost. */
  open(): Promise<void>;
  /**
   * Runs a command on one key. Rejects with a `ReplyError` when Redis refuses; after any other rejection the link is lost, and the command
   * may have been carried out.
   */
  run<Answer>(key: Buffer, command: (data: Redis) => Promise<Answer>): Promise<Answer>;
  readonly masters: readonly Redis[];
  end(): void;
}

type State = 'opening' | 'live' | 'lost';

const INVALIDATION_CHANNEL = '__redis__:invalidate';
const INVALIDATION_CHANNEL_BYTES = Buffer.from(INVALIDATION_CHANNEL);

export class RedisLink implements StoreLink {
  readonly #options: RedisStoreOptions;
  readonly #events: RedisLinkEvents;
  readonly #reports: ReportedChanges | undefined;
  /** The connection for data; `undefined` until the address is known. */
  #data: Redis | undefined;
  #subscriber: Redis | undefined;
  #state: State = 'opening';
  /** While opening, the timer of the deadline; while live, that of the next health check. */
  #timer: NodeJS.Timeout | undefined;

  /** @param reports `undefined` when no change is to be reported. */
  constructor(options: RedisStoreOptions, events: RedisLinkEvents, reports?: ReportedChanges) {
    this.#options = options;
    this.#events = events;
    this.#reports = reports;
  }

  async open(): Promise<void> {
    const openMsMax = limits.remoteAnswerMsMax;
    this.#timer = setTimeout(() => this.#fail(`Redis could not be connected to within ${openMsMax} ms`), openMsMax);
    try {
      const address = await findRedis(this.#options);
      if (this.#state !== 'opening') return;
      await this.#connect(address);
    } catch (error) {
      this.#fail(safeMessage(error));
    }
    if (!this.#transition('opening', 'live')) return;
    this.#events.onLive();
    this.#scheduleHealthCheck();
  }

  async #connect(address: ListenAddress): Promise<void> {
    const data = this.#createConnection(address);
    this.#data = data;
    this.#subscriber = this.#reports && this.#createConnection(address);
    await Promise.all([data.connect(), this.#subscriber?.connect()]);
    await checkRole(data, this.#options);
    if (this.#reports !== undefined) await this.#subscribe(data, this.#subscriber!, this.#reports);
    // A ping is needed: a Redis that is still loading its data answers the commands above, but refuses this one.
    await data.ping();
  }

  #createConnection(address: ListenAddress): Redis {
    const connection = createConnection(this.#options, address);
    connection.on('error', (error) => this.#fail(safeMessage(error)));
    connection.on('close', () => this.#fail('Redis closed the connection'));
    return connection;
  }

  async #subscribe(data: Redis, subscriber: Redis, { includesOwnChanges, channel }: ReportedChanges): Promise<void> {
    subscriber.on('messageBuffer', (sentTo: Buffer, message: unknown) => {
      if (sentTo.equals(INVALIDATION_CHANNEL_BYTES)) this.#onInvalidation(message);
      else if (this.#state !== 'lost') this.#events.onPublished?.(String(message));
    });
    const id = await subscriber.client('ID');
    await subscriber.subscribe(INVALIDATION_CHANNEL);
    if (channel !== undefined) await this.#subscribeOwnChannel(subscriber, channel);
    if (includesOwnChanges) await data.client('TRACKING', 'ON', 'REDIRECT', id);
    else await data.client('TRACKING', 'ON', 'REDIRECT', id, 'NOLOOP');
  }

  /** Subscribes to the link's own channel. Without permission for that, the link goes on. */
  async #subscribeOwnChannel(subscriber: Redis, channel: string): Promise<void> {
    try {
      await subscriber.subscribe(channel);
    } catch (error) {
      if (!(error instanceof ReplyError)) throw error;
      this.#events.onSubscriptionRefused?.(safeMessage(error));
    }
  }

  get masters(): readonly Redis[] {
    return this.#data === undefined ? [] : [this.#data];
  }

  async run<Answer>(_key: Buffer, command: (data: Redis) => Promise<Answer>): Promise<Answer> {
    const data = this.#data;
    if (data === undefined) throw new Error('Redis is not connected');
    if (this.#state === 'live') gatherWrites(data.stream);
    try {
      const answer = await command(data);
      // Once the link is lost, for example by a reply of the wrong type, this reply may belong to another command.
      if (this.#state === 'lost') throw new Error('Redis is lost');
      return answer;
    } catch (error) {
      if (!(error instanceof ReplyError)) this.#fail(safeMessage(error));
      throw error;
    }
  }

  end(): void {
    if (!this.#transition('opening', 'lost') && !this.#transition('live', 'lost')) return;
    for (const connection of [this.#data, this.#subscriber])
      if (connection !== undefined) disconnectQuietly(connection);
  }

  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    clearTimeout(this.#timer);
    return true;
  }

  #fail(reason: string): void {
    if (this.#state === 'lost') return;
    this.end();
    this.#events.onLost(reason);
  }

  #onInvalidation(keys: unknown): void {
    if (this.#state === 'lost') return;
    if (Array.isArray(keys)) this.#events.onChanged(keys.filter((key) => Buffer.isBuffer(key)));
    else this.#events.onFlushed();
  }

  /** Health checks are needed because a connection can be dead without any sign but an unanswered command. */
  #scheduleHealthCheck(): void {
    this.#timer = setTimeout(() => void this.#checkHealth(), REDIS_HEALTH_CHECK_MS);
    this.#timer.unref();
  }

  async #checkHealth(): Promise<void> {
    try {
      await Promise.all([this.#data?.ping(), this.#subscriber?.ping()]);
    } catch (error) {
      this.#fail(safeMessage(error));
    }
    if (this.#state === 'live') this.#scheduleHealthCheck();
  }
}

/** Sends all commands of one turn of the event loop in one write. */
function gatherWrites(stream: Redis['stream']): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  setImmediate(() => stream.uncork());
}

/** Reads a value. A reply of another type may belong to another command, so the connection fails before the replies behind it are used. */
export async function readValue(link: StoreLink, key: Buffer): Promise<Buffer | null> {
  return link.run(key, async (data) => {
    const value: unknown = await data.getBuffer(key);
    if (value === null || Buffer.isBuffer(value)) return value;
    const error = new Error(UNEXPECTED_REPLY);
    data.emit('error', error);
    throw error;
  });
}
