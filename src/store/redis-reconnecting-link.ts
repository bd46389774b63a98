// The link to Redis for as long as its owner needs one: when a link is lost, another is tried, for ever.
import { ReplyError } from 'ioredis';
import { Backoff } from '../shared/index.js';
import { RecordStoreFault } from './record-store.js';
import { RedisClusterLink } from './redis-cluster-link.js';
import { safeMessage, type RedisStoreOptions } from './redis-connection.js';
import { RedisLink, type RedisLinkEvents, type ReportedChanges, type StoreLink } from './redis-link.js';
import { redisInWords } from './redis-location.js';

/** The longest delay before a retry: short, so that a Redis that is back is found soon. */
export const RETRY_DELAY_MS_MAX = 2_000;

export const RETRY_DELAY_MS_MIN = 50;

/** The most different reasons that are logged for one outage. */
const REDIS_REASONS_LOGGED_MAX = 16;

export interface ReconnectingLinkEvents extends Partial<Omit<RedisLinkEvents, 'onLive' | 'onLost'>> {
  onLive(): void;
  /** @param isNew whether the reason is new in this outage, and worth a log line: retries never end, and reasons may alternate. */
  onLost(reason: string, isNew: boolean): void;
}

export class ReconnectingLink {
  readonly location: string;
  readonly #options: RedisStoreOptions;
  readonly #events: ReconnectingLinkEvents;
  readonly #reports: ReportedChanges | undefined;
  readonly #backoff = new Backoff(RETRY_DELAY_MS_MIN, RETRY_DELAY_MS_MAX);
  readonly #loggedReasons = new Set<string>();
  #isLive = false;
  #link: StoreLink;
  #lostReason = 'it is being connected to';
  #retryTimer: NodeJS.Timeout | undefined;

  /** @param reports `undefined` if changes are not to be reported; then the link has no subscriber connection. */
  constructor(options: RedisStoreOptions, events: ReconnectingLinkEvents, reports?: ReportedChanges) {
    this.location = redisInWords(options.location);
    this.#options = options;
    this.#events = events;
    this.#reports = reports;
    this.#link = this.#createLink();
  }

  /** Opens the first link. Resolves after the first attempt, successful or not. */
  async open(): Promise<void> {
    await this.#link.open();
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  /** The newest link. Its errors are ioredis's own; the errors of `send` say what to do. */
  get link(): StoreLink {
    return this.#link;
  }

  /** Sends a command. Rejects with a `RecordStoreFault`; the command may have been carried out. */
  async send<Answer>(command: (link: StoreLink) => Promise<Answer>): Promise<Answer> {
    if (!this.#isLive) throw this.#fault('cannot be reached', this.#lostReason);
    try {
      return await command(this.#link);
    } catch (error) {
      const isRefusal = error instanceof ReplyError;
      throw this.#fault(isRefusal ? 'did not carry out the command' : 'did not answer', safeMessage(error), isRefusal);
    }
  }

  close(): void {
    this.#isLive = false;
    clearTimeout(this.#retryTimer);
    this.#link.end();
  }

  #createLink(): StoreLink {
    const Link = 'nodes' in this.#options.location ? RedisClusterLink : RedisLink;
    const events: RedisLinkEvents = {
      onChanged: () => {},
      onFlushed: () => {},
      ...this.#events,
      onLive: () => this.#onLive(),
      onLost: (reason) => this.#onLost(reason),
    };
    return new Link(this.#options, events, this.#reports);
  }

  #onLive(): void {
    this.#isLive = true;
    this.#backoff.reset();
    this.#loggedReasons.clear();
    this.#events.onLive();
  }

  #onLost(reason: string): void {
    this.#isLive = false;
    this.#lostReason = reason;
    const isNew = !this.#loggedReasons.has(reason) && this.#loggedReasons.size < REDIS_REASONS_LOGGED_MAX;
    if (isNew) this.#loggedReasons.add(reason);
    this.#events.onLost(reason, isNew);
    // The delay is shortened at random, so that processes do not all reconnect at once.
    this.#retryTimer = setTimeout(() => {
      this.#link = this.#createLink();
      void this.#link.open();
    }, this.#backoff.nextDelayMsWithJitter(Math.random())).unref();
  }

  /** The fault for the owner. It has no `cause`, because it may be logged, and ioredis errors contain the sent command. */
  #fault(what: string, reason: string, isRefusal = false): RecordStoreFault {
    const isForbidden = FORBIDDEN.test(reason);
    return new RecordStoreFault(`${this.location} ${what}: ${reason}; ${remedyFor(reason, isRefusal)}`, {
      isForbidden,
    });
  }
}

/** How Redis's refusal begins when its user lacks a right, for a command or for one in a script. */
const FORBIDDEN = /^(?:NOPERM\b|ERR The user executing the script)/;

/** What an operator can do, for each beginning of Redis's answer. */
const REMEDIES: readonly (readonly [answer: RegExp, remedy: string])[] = [
  [
    FORBIDDEN,
    'give its user that right; docs/cli.md, control-plane.md, credentials.md and sessions.md list what each needs',
  ],
  [/^OOM\b/, 'raise its maxmemory, or remove something from it, and try again'],
  [/^MISCONF\b/, 'its log says why it cannot write to its disk; make that possible, and try again'],
  [/^READONLY\b/, 'it is a replica: give the address of the primary in the --redis-… options'],
  [/--redis-/, 'then try again'],
];

function remedyFor(reason: string, isRefusal: boolean): string {
  const [, remedy] = REMEDIES.find(([answer]) => answer.test(reason)) ?? [];
  if (isRefusal) return remedy ?? 'do what its answer says, and try again';
  return remedy ?? "start it, or correct the --redis-… options, which must be the dataplane's, and try again";
}
