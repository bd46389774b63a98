// One lifetime of the two connections to Redis: one for data, and, for owners that cache what they read, a subscriber that receives the
// invalidations of the keys read over the first (client-side caching of RESP2). They begin and end together, because changes go unnoticed
// as soon as either is lost. A link is never repaired: its owner creates another one.
//
//   opening ── both connected, subscribed, tracking on ──> live
//   opening, live ── a connection or an answer failed, or took too long, or end() ──> lost
import { ReplyError, type Redis } from 'ioredis';
import type { ListenAddress } from '../config/index.js';
import { limits } from '../shared/index.js';
import {
  createConnection,
  disconnectQuietly,
  UNEXPECTED_REPLY,
  messageOf,
  type RedisStoreOptions,
} from './redis-connection.js';
import { checkRole, findRedis } from './redis-place.js';

/** Interval between health checks of both connections to Redis; a silent loss is noticed after this and one command timeout. */
export const REDIS_HEALTH_CHECK_MS = 3_000;

export interface RedisLinkEvents {
  /** From now on, every change of a key read over this link is reported. */
  onLive(): void;
  /** These keys were written, deleted or evicted after they were read. */
  onChanged(keys: readonly Buffer[]): void;
  /** All keys may have changed. */
  onFlushed(): void;
  /** A message published to the link's own channel. */
  onPublished?(message: string): void;
  /** Redis refuses the subscription to the link's own channel; called before `onLive`. */
  onSubscriptionRefused?(reason: string): void;
  /** The last event; called once, unless the owner ended the link. */
  onLost(reason: string): void;
}

/** What a link reports besides its own state. */
export interface RedisLinkReports {
  /** Whether changes that were made over this link are reported as well. */
  readonly ownChanges: boolean;
  /** The link's own channel, on which others publish messages for its owner. */
  readonly channel?: string;
}

/** A link to one Redis, or to all nodes of a cluster. */
export interface StoreLink {
  /** Resolves when the link is live, or lost. */
  open(): Promise<void>;
  /** The value of a key. Rejects with a `ReplyError` when Redis refuses; after any other rejection the link is lost. */
  get(key: Buffer): Promise<Buffer | null>;
  /** Runs any other command on one key. Rejects as `get` does; the command may then have been carried out. */
  run<Answer>(key: Buffer, command: (data: Redis) => Promise<Answer>): Promise<Answer>;
  /** @returns how many connections are subscribed to the channel; in a cluster, at one node only. Rejects as `get` does. */
  publish(channel: string, message: string): Promise<number>;
  /** Connections to all nodes that have keys. */
  readonly masters: readonly Redis[];
  /** Ends all connections without an event. */
  end(): void;
}

type State = 'opening' | 'live' | 'lost';

const INVALIDATION_CHANNEL = '__redis__:invalidate';
const INVALIDATION_CHANNEL_BYTES = Buffer.from(INVALIDATION_CHANNEL);

export class RedisLink implements StoreLink {
  readonly #options: RedisStoreOptions;
  readonly #events: RedisLinkEvents;
  readonly #reports: RedisLinkReports | undefined;
  /** Both connections are to the same server; `undefined` until its address is known. */
  #data: Redis | undefined;
  #subscriber: Redis | undefined;
  #state: State = 'opening';
  /** While opening, the deadline; while live, the next health check. */
  #timer: NodeJS.Timeout | undefined;

  /** @param reports `undefined` when no change is to be reported. */
  constructor(options: RedisStoreOptions, events: RedisLinkEvents, reports?: RedisLinkReports) {
    this.#options = options;
    this.#events = events;
    this.#reports = reports;
  }

  async open(): Promise<void> {
    const openMsMax = limits.remoteAnswerMsMax;
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
    const data = this.#createConnection(address);
    this.#data = data;
    this.#subscriber = this.#reports && this.#createConnection(address);
    await Promise.all([data.connect(), this.#subscriber?.connect()]);
    await checkRole(data, this.#options);
    if (this.#subscriber !== undefined && this.#reports !== undefined)
      await this.#listen(data, this.#subscriber, this.#reports);
    // A Redis that is still loading its data answers the commands above, but refuses this one.
    await data.ping();
  }

  #createConnection(address: ListenAddress): Redis {
    const connection = createConnection(this.#options, address);
    connection.on('error', (error) => this.#lose(messageOf(error)));
    connection.on('close', () => this.#lose('Redis closed the connection'));
    return connection;
  }

  async #listen(data: Redis, subscriber: Redis, { ownChanges, channel }: RedisLinkReports): Promise<void> {
    subscriber.on('messageBuffer', (sentTo: Buffer, message: unknown) => {
      if (sentTo.equals(INVALIDATION_CHANNEL_BYTES)) this.#onInvalidation(message);
      else if (this.#state !== 'lost') this.#events.onPublished?.(String(message));
    });
    const id = await subscriber.client('ID');
    await subscriber.subscribe(INVALIDATION_CHANNEL);
    if (channel !== undefined) await this.#subscribeOwn(subscriber, channel);
    if (ownChanges) await data.client('TRACKING', 'ON', 'REDIRECT', id);
    else await data.client('TRACKING', 'ON', 'REDIRECT', id, 'NOLOOP');
  }

  /** Subscribes to the link's own channel. The link goes on even without permission for that. */
  async #subscribeOwn(subscriber: Redis, channel: string): Promise<void> {
    try {
      await subscriber.subscribe(channel);
    } catch (error) {
      if (!(error instanceof ReplyError)) throw error;
      this.#events.onSubscriptionRefused?.(messageOf(error));
    }
  }

  async get(key: Buffer): Promise<Buffer | null> {
    return this.run(key, (data) => readString(data, key));
  }

  async publish(channel: string, message: string): Promise<number> {
    return this.#run((data) => data.publish(channel, message));
  }

  async run<Answer>(_key: Buffer, command: (data: Redis) => Promise<Answer>): Promise<Answer> {
    return this.#run(command);
  }

  get masters(): readonly Redis[] {
    return this.#data === undefined ? [] : [this.#data];
  }

  async #run<Answer>(command: (data: Redis) => Promise<Answer>): Promise<Answer> {
    const data = this.#data;
    if (data === undefined) throw new Error('Redis is not connected');
    if (this.#state === 'live') gatherWrites(data.stream);
    return this.#loseOnFailure(command(data));
  }

  end(): void {
    if (!this.#transition('opening', 'lost') && !this.#transition('live', 'lost')) return;
    for (const connection of [this.#data, this.#subscriber])
      if (connection !== undefined) disconnectQuietly(connection);
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

  #lose(reason: string): void {
    if (this.#state === 'lost') return;
    this.end();
    this.#events.onLost(reason);
  }

  /** Loses the link when the command fails for any reason other than Redis's refusal. */
  async #loseOnFailure<Answer>(command: Promise<Answer>): Promise<Answer> {
    try {
      const answer = await command;
      // Once the link is lost, for example by a reply of the wrong type, this reply may belong to another command.
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

  /** A connection can be dead without any sign: only an unanswered command reveals it. */
  #scheduleHealthCheck(): void {
    this.#timer = setTimeout(() => void this.#checkHealth(), REDIS_HEALTH_CHECK_MS);
    this.#timer.unref();
  }

  async #checkHealth(): Promise<void> {
    try {
      await Promise.all([this.#data?.ping(), this.#subscriber?.ping()]);
    } catch (error) {
      this.#lose(messageOf(error));
    }
    if (this.#state === 'live') this.#scheduleHealthCheck();
  }
}

/** Sends all commands of one turn of the event loop in one write, since a write costs more than all else about a command. */
function gatherWrites(stream: Redis['stream']): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  setImmediate(() => stream.uncork());
}

/** Reads a value. A reply of another type may belong to another command, so the connection fails before the replies behind it are used. */
export async function readString(data: Redis, key: Buffer): Promise<Buffer | null> {
  const value: unknown = await data.getBuffer(key);
  if (value === null || Buffer.isBuffer(value)) return value;
  const error = new Error(UNEXPECTED_REPLY);
  data.emit('error', error);
  throw error;
}
