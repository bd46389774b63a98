// One lifetime of the connections to a Redis Cluster: a link to each node that has slots. When one of these links is lost, changes would go
// unnoticed, so all of them end, and the owner opens a new `RedisClusterLink`. When a slot has moved or is being moved, a command goes to
// the node that has the key now.
//   opening ── every node's link is live ──> live
//   opening, live ── a node's link is lost, or slots are at a node without a link, or end() ──> lost
import { ReplyError, type Redis } from 'ioredis';
import { formatAddress, type ListenAddress } from '../config/index.js';
import { safeMessage, type RedisStoreOptions } from './redis-connection.js';
import { RedisLink, type RedisLinkEvents, type ReportedChanges, type StoreLink } from './redis-link.js';
import { findShards, redisSlotOf, SLOT_COUNT } from './redis-location.js';

type State = 'opening' | 'live' | 'lost';

const REDIRECTION = /^(MOVED|ASK) (\d+) (.*):(\d+)$/;
/** How often a command is tried: a slot that is being moved may have left the node that a redirection names. */
const COMMAND_TRIES_MAX = 3;

interface ClusterNode {
  readonly host: string;
  readonly link: RedisLink;
}

export class RedisClusterLink implements StoreLink {
  readonly #options: RedisStoreOptions;
  readonly #events: RedisLinkEvents;
  readonly #reports: ReportedChanges | undefined;
  #state: State = 'opening';
  readonly #nodes = new Map<string, ClusterNode>();
  readonly #nodeOfSlot = new Map<number, ClusterNode>();

  constructor(options: RedisStoreOptions, events: RedisLinkEvents, reports?: ReportedChanges) {
    this.#options = options;
    this.#events = events;
    this.#reports = reports;
  }

  async open(): Promise<void> {
    try {
      const shards = await findShards(this.#options);
      if (this.#state !== 'opening') return;
      for (const { address, first, last } of shards) {
        const node = this.#nodeAt(address);
        for (let slot = first; slot <= last; slot++) this.#nodeOfSlot.set(slot, node);
      }
      if (this.#nodeOfSlot.size < SLOT_COUNT) throw new Error('some slots of the cluster are assigned to no node');
      await Promise.all([...this.#nodes.values()].map(({ link }) => link.open()));
    } catch (error) {
      this.#fail(safeMessage(error));
    }
    if (this.#transition('opening', 'live')) this.#events.onLive();
  }

  async run<Answer>(key: Buffer, command: (data: Redis) => Promise<Answer>): Promise<Answer> {
    const slot = redisSlotOf(key);
    let node = this.#nodeOfSlot.get(slot);
    let isAsking = false;
    for (let tries = 1; node !== undefined; tries++) {
      try {
        return await node.link.run(key, isAsking ? (data) => runAfterAsking(data, command) : command);
      } catch (error: unknown) {
        if (!(error instanceof ReplyError)) throw error;
        const refusal = safeMessage(error);
        if (refusal.startsWith('CLUSTERDOWN')) return this.#giveUp(refusal);
        const redirection = REDIRECTION.exec(refusal);
        if (redirection === null || tries === COMMAND_TRIES_MAX) throw error;
        const [, kind, , host = '', port = ''] = redirection;
        isAsking = kind === 'ASK';
        // An empty host means the node that sent the redirection.
        node = this.#nodes.get(formatAddress({ host: host === '' ? node.host : host, port: Number(port) }));
        if (node !== undefined && !isAsking) this.#nodeOfSlot.set(slot, node);
      }
    }
    // The redirection names a node that did not exist, or had no slots, when this link was opened.
    return this.#giveUp('the slots of the cluster are elsewhere now');
  }

  get masters(): readonly Redis[] {
    return [...this.#nodes.values()].flatMap(({ link }) => link.masters);
  }

  end(): void {
    if (!this.#transition('opening', 'lost') && !this.#transition('live', 'lost')) return;
    for (const { link } of this.#nodes.values()) link.end();
  }

  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }

  #nodeAt(address: ListenAddress): ClusterNode {
    const name = formatAddress(address);
    const known = this.#nodes.get(name);
    if (known !== undefined) return known;
    const events: RedisLinkEvents = {
      onLive: () => {},
      onChanged: (keys) => this.#events.onChanged(keys),
      onFlushed: () => this.#events.onFlushed(),
      onPublished: (message) => this.#events.onPublished?.(message),
      onSubscriptionRefused: (reason) => this.#events.onSubscriptionRefused?.(`${name}: ${reason}`),
      onLost: (reason) => this.#fail(`${name}: ${reason}`),
    };
    const link = new RedisLink({ ...this.#options, location: address }, events, this.#reports);
    const node = { host: address.host, link };
    this.#nodes.set(name, node);
    return node;
  }

  #giveUp(reason: string): never {
    this.#fail(reason);
    throw new Error(reason);
  }

  #fail(reason: string): void {
    if (this.#state === 'lost') return;
    this.end();
    this.#events.onLost(reason);
  }
}

/** Sends ASKING and the command back to back, with no other command in between. */
async function runAfterAsking<Answer>(data: Redis, command: (data: Redis) => Promise<Answer>): Promise<Answer> {
  const [, answer] = await Promise.all([data.asking(), command(data)]);
  return answer;
}
