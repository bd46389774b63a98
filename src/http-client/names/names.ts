// The addresses of host names, for everything that connects to backends. A name is looked up once, however many callers ask; its addresses
// are kept for the TTL of its records, and remain in use for a grace period when its name servers fall silent. Look-ups are bounded per
// subject and served in turns, so no subject delays another. Cold path: asked once per connection.
//
//   entry      asked                     found           not found     failed, silent
//   (none)     starts or joins a query   kept for TTL    kept briefly  kept briefly
//   kept       the answer at once        -               -             -
//   out of     starts or joins a query,  kept for TTL    kept briefly  the old addresses at once until the grace period
//   date       waits a moment for it                                   is over, and a new query from time to time
import { Resolver } from 'node:dns';
import { FairQueueEntry, FairQueue, ListNode, Quota } from '../../fair/index.js';
import { MIB } from '../../shared/index.js';
import { OutboundProxy, type ProxyOptions } from './outbound-proxy.js';
import { WatchedFile } from './watched-file.js';
import { AddressGuard } from './address-guard.js';
import { orderAddresses, queryName, type NameAnswer, ADDRESSES_PER_NAME_MAX } from './name-query.js';
import { isIP } from 'node:net';

/** Host names whose addresses are cached, per process. Beyond that, the least recently used is dropped. */
export const HOST_NAMES_KEPT_MAX = 16_384;
/** Bytes of `/etc/hosts`, and of `/etc/resolv.conf`. A larger file counts as empty. */
export const NAME_FILE_BYTES_MAX = MIB;
/** Time for one look-up, including the search list. After that, it has failed. */
export const NAME_LOOK_UP_MS_MAX = 5_000;

/**
 * Time that a request waits for name servers when there are expired addresses. After that, the expired ones are used, and the new ones once
 * they arrive.
 */
export const NAME_STALE_AFTER_MS = 500;

/** Shortest time that addresses are cached, even if their TTL is shorter. */
export const NAME_KEPT_MS_MIN = 1_000;
/** Longest time that addresses are cached, even if their TTL is longer. */
export const NAME_KEPT_MS_MAX = 300_000;
/** Time that a failed look-up is remembered. After that, the name is looked up again when next needed. */
export const NAME_FAULT_KEPT_MS = 1_000;
/** Time that expired addresses are still used while name servers do not answer. After that, the name counts as having no address. */
export const NAME_STALE_MS_MAX = 3_600_000;
/** Time for one name server to answer. After that, the next one is asked, or the same one again. */
const NAME_SERVER_MS_MAX = 1_000;
/** Queries to each name server before the look-up has failed. */
const NAME_SERVER_TRIES_MAX = 3;

export type NameFault =
  /** There is no such name. */
  | 'not-found'
  /** The name servers do not respond, or respond with nothing usable. */
  | 'not-answered'
  /** Too many look-ups of this subject are waiting. */
  | 'share-used'
  /** Too many look-ups are waiting. */
  | 'busy';

/** Addresses in the order in which to try them, never an empty list; or the reason why there are none. */
export type NameOutcome = readonly string[] | NameFault;

export interface NamesOptions {
  /** As in `192.0.2.1`, `192.0.2.1:5353` or `[2001:db8::1]:53`; those of resolv.conf when absent. */
  readonly nameServers?: readonly string[] | undefined;
  readonly hostsPath?: string;
  readonly resolverSettingsPath?: string;
  readonly nowMs?: () => number;
  readonly lookUpsMax?: number;
  readonly lookUpsPerSubjectMax?: number;
  /** The only networks that may be connected to; all when absent. */
  readonly allowedNetworks?: readonly string[] | undefined;
  /** Looks up the names of the origins behind it. */
  readonly proxy?: ProxyOptions | undefined;
}

/** One caller's wait for a look-up. */
export class NameWait extends ListNode {
  readonly onDone: (outcome: NameOutcome) => void;

  constructor(onDone: (outcome: NameOutcome) => void) {
    super();
    this.onDone = onDone;
  }

  /** Cancels the wait: the outcome is no longer needed. */
  abandon(): void {
    this.unlink();
  }
}

/** What is known of one name, and who waits for its look-up. */
class Entry {
  readonly name: string;
  outcome: NameOutcome | undefined = undefined;
  /** Until this time, `outcome` is used without a query. */
  freshUntilMs = 0;
  /** Until this time, the addresses may be used if the name servers do not answer. */
  staleUntilMs = 0;
  readonly waits = new ListNode();
  /** Subjects whose look-ups of this name are waiting for their turn. */
  readonly queuedFor = new Set<string>();
  isAsking = false;
  /** A look-up has failed or takes long, at the name servers or in the queue: until an answer comes, the old addresses are used at once. */
  isSilent = false;

  constructor(name: string) {
    this.name = name;
  }
}

export class Names {
  /** Checks the addresses to connect to, whether they were looked up or stand in a URL. */
  readonly guard: AddressGuard;
  readonly proxy: OutboundProxy | undefined;
  readonly #hostsFile;
  readonly #resolverSettings;
  readonly #nowMs: () => number;
  readonly #nameServers: readonly string[] | undefined;
  /** By name, the most recently used last. */
  readonly #entries = new Map<string, Entry>();
  /** Look-ups in progress. */
  readonly #asking: Quota;
  readonly #queue = new FairQueue<{ readonly entry: Entry; readonly subject: string }>();
  #resolver: { readonly queries: Resolver; readonly servers: string } | undefined;

  constructor(options: NamesOptions = {}) {
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#nameServers = options.nameServers;
    this.guard = new AddressGuard(options.allowedNetworks);
    this.proxy = options.proxy && new OutboundProxy(options.proxy);
    this.#hostsFile = this.#watch(options.hostsPath ?? '/etc/hosts', parseHostsFile);
    const settingsPath = options.resolverSettingsPath ?? '/etc/resolv.conf';
    this.#resolverSettings = this.#watch(settingsPath, parseResolverSettings);
    const { lookUpsMax = 16_384, lookUpsPerSubjectMax } = options;
    this.#asking = new Quota(lookUpsMax, lookUpsPerSubjectMax);
  }

  /** The outcome that is available without a query; `undefined` when the name has to be looked up. */
  known(name: string): NameOutcome | undefined {
    const own = this.#ownAddresses(name);
    if (own !== undefined) return own;
    const entry = this.#entries.get(name);
    if (entry?.outcome === undefined) return undefined;
    if (this.#nowMs() < entry.freshUntilMs) return entry.outcome;
    return entry.isSilent ? this.#oldAddresses(entry) : undefined;
  }

  /** Looks a name up. @param onDone called once unless the wait is abandoned, and never synchronously. */
  lookUp(name: string, subject: string, onDone: (outcome: NameOutcome) => void): NameWait {
    const wait = new NameWait(onDone);
    const known = this.known(name);
    if (known !== undefined) {
      new ListNode().append(wait);
      process.nextTick(() => this.#settle(wait, known));
      return wait;
    }
    const entry = this.#entryOf(name);
    entry.waits.append(wait);
    if (!entry.isAsking) {
      const refusal = this.#ask(entry, subject);
      if (refusal !== undefined) process.nextTick(() => this.#settle(wait, this.#oldAddresses(entry) ?? refusal));
    }
    return wait;
  }

  /**
   * The addresses of a name that has open connections; starts a look-up when they are out of date.
   * @returns `undefined` when no addresses are known.
   */
  refreshed(name: string, subject: string): readonly string[] | undefined {
    const own = this.#ownAddresses(name);
    if (own !== undefined) return own;
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    if (!entry.isAsking && this.#nowMs() >= entry.freshUntilMs) this.#ask(entry, subject);
    return typeof entry.outcome === 'object' ? entry.outcome : undefined;
  }

  /** Whether a query for the name has been sent; false while its look-up only waits for a turn. */
  isAsking(name: string): boolean {
    return this.#entries.get(name)?.isAsking === true;
  }

  /** Watches a file; one that is missing, unreadable or too large counts as empty. */
  #watch<Content>(path: string, parse: (text: string) => Content): WatchedFile<Content> {
    return new WatchedFile(path, NAME_FILE_BYTES_MAX, ({ text = '' }) => parse(text), this.#nowMs);
  }

  /**
   * Cancels the look-ups in progress, whose waiters get `not-answered`. Those that wait for a turn are dropped, and their waiters get
   * nothing.
   */
  close(): void {
    this.#resolver?.queries.cancel();
    this.#resolver = undefined;
    for (const { entry, subject } of this.#queue.takeAll()) entry.queuedFor.delete(subject);
    this.#entries.clear();
  }

  /** The addresses of a name that needs no name server: of the hosts file, and of `localhost` (RFC 6761). */
  #ownAddresses(name: string): readonly string[] | undefined {
    const bare = name.endsWith('.') ? name.slice(0, -1) : name;
    const listed = this.#hostsFile.content.get(bare);
    if (listed !== undefined) return listed;
    return bare === 'localhost' || bare.endsWith('.localhost') ? ['::1', '127.0.0.1'] : undefined;
  }

  #entryOf(name: string): Entry {
    const entry = this.#entries.get(name) ?? new Entry(name);
    // Moved to the end, so that the first entry is the least recently used.
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    if (this.#entries.size > HOST_NAMES_KEPT_MAX) this.#dropOne();
    return entry;
  }

  /** Drops the least recently used entry without a look-up. */
  #dropOne(): void {
    for (const [name, entry] of this.#entries) {
      if (entry.isAsking || entry.queuedFor.size > 0) continue;
      this.#entries.delete(name);
      return;
    }
  }

  /** Starts the look-up, or queues it until the subject's turn. @returns the fault when it can do neither. */
  #ask(entry: Entry, subject: string): NameFault | undefined {
    if (entry.queuedFor.has(subject)) return undefined;
    if (this.#asking.tryTake(subject)) {
      this.#start(entry, subject);
      return undefined;
    }
    const queueEntry = this.#queue.add(subject, { entry, subject });
    if (!(queueEntry instanceof FairQueueEntry)) return queueEntry === 'subjectMax' ? 'share-used' : 'busy';
    entry.queuedFor.add(subject);
    if (this.#asking.isUsedUpBy(subject)) this.#queue.pause(subject);
    // Where there are old addresses, callers do not wait long for a turn either.
    if (this.#oldAddresses(entry) === undefined) return undefined;
    const serveIfQueued = (): unknown => entry.queuedFor.has(subject) && this.#serveStale(entry);
    setTimeout(serveIfQueued, NAME_STALE_AFTER_MS).unref();
    return undefined;
  }

  /** Starts a look-up that is already counted in its subject's quota. */
  #start(entry: Entry, subject: string): void {
    entry.isAsking = true;
    // Nobody waits long for a silent name server while there are addresses within the grace period.
    const staleTimer = setTimeout(() => this.#serveStale(entry), NAME_STALE_AFTER_MS);
    const endTimer = setTimeout(() => finish({ kind: 'failed' }), NAME_LOOK_UP_MS_MAX);
    let isOver = false;
    const finish = (answer: NameAnswer): void => {
      if (!isOver) {
        isOver = true;
        clearTimeout(staleTimer);
        clearTimeout(endTimer);
        entry.isAsking = false;
        this.#take(entry, answer);
        this.#release(subject);
      } else if (answer.kind === 'found' && !entry.isAsking) {
        // The addresses of both families after those of one, or an answer after the time limit.
        this.#take(entry, answer);
      }
    };
    queryName(this.#currentResolver(), candidatesOf(entry.name, this.#resolverSettings.content), finish);
  }

  #release(subject: string): void {
    this.#asking.give(subject);
    this.#queue.resume(subject);
    while (this.#asking.hasRoom) {
      const next = this.#queue.take();
      if (next === undefined) return;
      next.entry.queuedFor.delete(next.subject);
      // Another subject may have looked the name up first; the waiters may have left or been given old addresses.
      const isWanted = next.entry.waits.isLinked || next.entry.isSilent;
      if (isWanted && !next.entry.isAsking && this.#asking.tryTake(next.subject)) this.#start(next.entry, next.subject);
      if (this.#asking.isUsedUpBy(next.subject)) this.#queue.pause(next.subject);
    }
  }

  #take(entry: Entry, answer: NameAnswer): void {
    const nowMs = this.#nowMs();
    entry.isSilent = answer.kind === 'failed' && this.#oldAddresses(entry) !== undefined;
    if (answer.kind === 'found') {
      entry.outcome = orderAddresses(answer.addresses);
      const keptMs = Math.min(Math.max(answer.ttlMs, NAME_KEPT_MS_MIN), NAME_KEPT_MS_MAX);
      entry.freshUntilMs = nowMs + keptMs;
      entry.staleUntilMs = entry.freshUntilMs + NAME_STALE_MS_MAX;
    } else {
      if (!entry.isSilent) entry.outcome = answer.kind === 'not-found' ? 'not-found' : 'not-answered';
      entry.freshUntilMs = nowMs + NAME_FAULT_KEPT_MS;
    }
    if (entry.outcome !== undefined) this.#settleAll(entry, entry.outcome);
  }

  /** Addresses that are out of date but still within the grace period. */
  #oldAddresses({ outcome, staleUntilMs }: Entry): readonly string[] | undefined {
    return typeof outcome === 'object' && this.#nowMs() < staleUntilMs ? outcome : undefined;
  }

  #serveStale(entry: Entry): void {
    const addresses = this.#oldAddresses(entry);
    if (addresses === undefined) return;
    entry.isSilent = true;
    this.#settleAll(entry, addresses);
  }

  #settleAll(entry: Entry, outcome: NameOutcome): void {
    const waits = new ListNode();
    waits.takeAll(entry.waits);
    for (let wait = waits.next; wait instanceof NameWait; wait = waits.next) this.#settle(wait, outcome);
  }

  #settle(wait: NameWait, outcome: NameOutcome): void {
    if (!wait.isLinked) return;
    wait.unlink();
    wait.onDone(outcome);
  }

  /** The servers of a `Resolver` cannot be changed during a query, so changed settings need a new one. */
  #currentResolver(): Resolver {
    const servers = this.#nameServers ?? this.#resolverSettings.content.nameServers;
    const serversText = servers.join(' ');
    if (this.#resolver?.servers === serversText) return this.#resolver.queries;
    const queries = new Resolver({ timeout: NAME_SERVER_MS_MAX, tries: NAME_SERVER_TRIES_MAX });
    queries.setServers([...servers]);
    this.#resolver = { queries, servers: serversText };
    return queries;
  }
}

// Reads /etc/hosts, and of /etc/resolv.conf (resolv.conf(5)) the name servers, the search domains and `ndots`; c-ares handles the rest.

/** /etc/hosts, which takes precedence over name servers: lower-case names, each with its addresses in the order in which to try them. */
type HostsTable = ReadonlyMap<string, readonly string[]>;

export function parseHostsFile(text: string): HostsTable {
  const table = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    // Addresses with a zone (fe80::1%eth0) are link-local, which the gateway never connects to.
    if (isIP(address) === 0 || address.includes('%')) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      const addresses = table.get(key);
      if (addresses === undefined) table.set(key, [address]);
      else if (addresses.length < ADDRESSES_PER_NAME_MAX && !addresses.includes(address)) addresses.push(address);
    }
  }
  return new Map(Array.from(table, ([name, addresses]) => [name, orderAddresses(addresses)]));
}

interface ResolverSettings {
  readonly nameServers: readonly string[];
  /** Domains appended to complete a short name, in order. */
  readonly searchDomains: readonly string[];
  /** A name with at least this many dots is first tried as it is written. */
  readonly dotsMin: number;
}

/** The same limits as the system's own resolver has. */
const NAME_SERVERS_MAX = 3;
const SEARCH_DOMAINS_MAX = 6;
const DOTS_MAX = 15;

export function parseResolverSettings(text: string): ResolverSettings {
  const nameServers: string[] = [];
  let searchDomains: readonly string[] = [];
  let dotsMin = 1;
  for (const line of text.split('\n')) {
    const [keyword, ...words] = line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/);
    if (keyword === 'nameserver' && words[0] !== undefined && isIP(words[0]) !== 0) nameServers.push(words[0]);
    // The last `domain` or `search` line wins.
    if (keyword === 'domain') searchDomains = words.slice(0, 1);
    if (keyword === 'search') searchDomains = words.slice(0, SEARCH_DOMAINS_MAX);
    if (keyword === 'options') {
      const dots = words.map((word) => /^ndots:(\d+)$/.exec(word)?.[1]).findLast((digits) => digits !== undefined);
      if (dots !== undefined) dotsMin = Math.min(Number(dots), DOTS_MAX);
    }
  }
  return {
    // Without any name server, the local machine's is used.
    nameServers: nameServers.length === 0 ? ['127.0.0.1'] : nameServers.slice(0, NAME_SERVERS_MAX),
    searchDomains: searchDomains.map((domain) => domain.replace(/^\.|\.$/g, '').toLowerCase()).filter(Boolean),
    dotsMin,
  };
}

/** The full names that a name may stand for, in the order in which they are tried. */
export function candidatesOf(name: string, { searchDomains, dotsMin }: ResolverSettings): readonly string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)];
  const completed = searchDomains.map((domain) => `${name}.${domain}`);
  const dots = name.split('.').length - 1;
  return dots >= dotsMin ? [name, ...completed] : [...completed, name];
}
