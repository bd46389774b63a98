// Looks up the addresses of host names for connections to backends. Addresses are kept for the TTL of their records, and longer if the
// name servers do not respond. Look-ups are bounded per subject, and queued round robin by subject. Cold path: once per connection.
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

/** Host names in the cache. Beyond that, the least recently used is dropped. */
export const HOST_NAMES_KEPT_MAX = 16_384;
/** A larger `/etc/hosts` or `/etc/resolv.conf` counts as empty. */
export const NAME_FILE_BYTES_MAX = MIB;
export const NAME_LOOK_UP_MS_MAX = 5_000;

/** How long a request waits for new addresses before it uses expired ones, if there are any. */
export const NAME_STALE_AFTER_MS = 500;

export const NAME_KEPT_MS_MIN = 1_000;
export const NAME_KEPT_MS_MAX = 300_000;
export const NAME_FAULT_KEPT_MS = 1_000;
/** How long expired addresses are used while name servers do not respond. */
export const NAME_STALE_MS_MAX = 3_600_000;
const NAME_SERVER_MS_MAX = 1_000;
const NAME_SERVER_TRIES_MAX = 3;

export type NameFault =
  | 'not-found'
  | 'not-answered'
  /** Too many look-ups of this subject are waiting. */
  | 'share-used'
  /** Too many look-ups are waiting. */
  | 'busy';

/** Addresses in the order in which to try them, at least one; or why there are none. */
export type NameOutcome = readonly string[] | NameFault;

export interface NamesOptions {
  /** Name servers, as in `192.0.2.1`, `192.0.2.1:5353` or `[2001:db8::1]:53`; by default those of resolv.conf. */
  readonly nameServers?: readonly string[] | undefined;
  readonly hostsPath?: string;
  readonly resolverSettingsPath?: string;
  readonly nowMs?: () => number;
  readonly lookUpsMax?: number;
  readonly lookUpsPerSubjectMax?: number;
  /** The only networks to connect to; if absent, all are allowed. */
  readonly allowedNetworks?: readonly string[] | undefined;
  readonly proxy?: ProxyOptions | undefined;
}

/** A caller that waits for a look-up. `unlink` cancels the wait. */
export class NameWait extends ListNode {
  readonly onDone: (outcome: NameOutcome) => void;

  constructor(onDone: (outcome: NameOutcome) => void) {
    super();
    this.onDone = onDone;
  }
}

class NameEntry {
  readonly name: string;
  outcome: NameOutcome | undefined = undefined;
  freshUntilMs = 0;
  /** The time until which the addresses may be used if name servers do not respond. */
  staleUntilMs = 0;
  readonly waits = new ListNode();
  readonly queuedFor = new Set<string>();
  isQuerying = false;
  /** Whether a look-up has failed or takes long: until there is an answer, the expired addresses are used at once. */
  isSilent = false;

  constructor(name: string) {
    this.name = name;
  }
}

export class Names {
  readonly guard: AddressGuard;
  readonly proxy: OutboundProxy | undefined;
  readonly #hostsFile;
  readonly #resolverSettings;
  readonly #nowMs: () => number;
  readonly #nameServers: readonly string[] | undefined;
  readonly #entries = new Map<string, NameEntry>();
  readonly #lookUpQuota: Quota;
  readonly #queue = new FairQueue<{ readonly entry: NameEntry; readonly subject: string }>();
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
    this.#lookUpQuota = new Quota(lookUpsMax, lookUpsPerSubjectMax);
  }

  /** The outcome, if no query is needed for it; `undefined` if the name has to be looked up. */
  knownOutcome(name: string): NameOutcome | undefined {
    const local = this.#localAddresses(name);
    if (local !== undefined) return local;
    const entry = this.#entries.get(name);
    if (entry?.outcome === undefined) return undefined;
    if (this.#nowMs() < entry.freshUntilMs) return entry.outcome;
    return entry.isSilent ? this.#staleAddresses(entry) : undefined;
  }

  /** Looks a name up. @param onDone called once, never synchronously; not at all if the returned wait is unlinked before. */
  lookUp(name: string, subject: string, onDone: (outcome: NameOutcome) => void): NameWait {
    const wait = new NameWait(onDone);
    const known = this.knownOutcome(name);
    if (known !== undefined) {
      new ListNode().append(wait);
      process.nextTick(() => this.#settle(wait, known));
      return wait;
    }
    const entry = this.#entryOf(name);
    entry.waits.append(wait);
    if (!entry.isQuerying) {
      const refusal = this.#startOrQueue(entry, subject);
      if (refusal !== undefined) process.nextTick(() => this.#settle(wait, this.#staleAddresses(entry) ?? refusal));
    }
    return wait;
  }

  /** Starts a look-up of a name if its addresses are out of date. @returns the addresses as known now, if any. */
  refresh(name: string, subject: string): readonly string[] | undefined {
    const local = this.#localAddresses(name);
    if (local !== undefined) return local;
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    if (!entry.isQuerying && this.#nowMs() >= entry.freshUntilMs) this.#startOrQueue(entry, subject);
    return typeof entry.outcome === 'object' ? entry.outcome : undefined;
  }

  /** Whether a query for the name is in progress: not while its look-up is queued. */
  isQuerying(name: string): boolean {
    return this.#entries.get(name)?.isQuerying === true;
  }

  /** Watches a file. A file that is missing, unreadable or too large counts as empty. */
  #watch<Content>(path: string, parse: (text: string) => Content): WatchedFile<Content> {
    return new WatchedFile(path, NAME_FILE_BYTES_MAX, ({ text = '' }) => parse(text), this.#nowMs);
  }

  /** Ends all look-ups. Those in progress fail; callers that wait for a queued look-up are never called. */
  close(): void {
    this.#resolver?.queries.cancel();
    this.#resolver = undefined;
    for (const { entry, subject } of this.#queue.takeAll()) entry.queuedFor.delete(subject);
    this.#entries.clear();
  }

  /** Addresses that need no name server: from the hosts file, and of `localhost` (RFC 6761). */
  #localAddresses(name: string): readonly string[] | undefined {
    const bare = name.endsWith('.') ? name.slice(0, -1) : name;
    const listed = this.#hostsFile.content.get(bare);
    if (listed !== undefined) return listed;
    return bare === 'localhost' || bare.endsWith('.localhost') ? ['::1', '127.0.0.1'] : undefined;
  }

  #entryOf(name: string): NameEntry {
    const entry = this.#entries.get(name) ?? new NameEntry(name);
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    if (this.#entries.size > HOST_NAMES_KEPT_MAX) this.#dropLeastRecent();
    return entry;
  }

  #dropLeastRecent(): void {
    for (const [name, entry] of this.#entries) {
      if (entry.isQuerying || entry.queuedFor.size > 0) continue;
      this.#entries.delete(name);
      return;
    }
  }

  /** Starts the look-up, or queues it. @returns the fault if neither is possible. */
  #startOrQueue(entry: NameEntry, subject: string): NameFault | undefined {
    if (entry.queuedFor.has(subject)) return undefined;
    if (this.#lookUpQuota.tryTake(subject)) {
      this.#start(entry, subject);
      return undefined;
    }
    const queueEntry = this.#queue.add(subject, { entry, subject });
    if (!(queueEntry instanceof FairQueueEntry)) return queueEntry === 'subjectMax' ? 'share-used' : 'busy';
    entry.queuedFor.add(subject);
    if (this.#lookUpQuota.isUsedUpBy(subject)) this.#queue.pause(subject);
    // If there are expired addresses, callers do not wait long in the queue, either.
    if (this.#staleAddresses(entry) === undefined) return undefined;
    const serveIfQueued = (): unknown => entry.queuedFor.has(subject) && this.#serveStale(entry);
    setTimeout(serveIfQueued, NAME_STALE_AFTER_MS).unref();
    return undefined;
  }

  /** Starts a look-up. @param subject the one in whose quota it is counted already. */
  #start(entry: NameEntry, subject: string): void {
    entry.isQuerying = true;
    // If there are expired addresses, callers wait only briefly for new ones.
    const staleTimer = setTimeout(() => this.#serveStale(entry), NAME_STALE_AFTER_MS);
    const endTimer = setTimeout(() => finish({ kind: 'failed' }), NAME_LOOK_UP_MS_MAX);
    let isOver = false;
    const finish = (answer: NameAnswer): void => {
      if (!isOver) {
        isOver = true;
        clearTimeout(staleTimer);
        clearTimeout(endTimer);
        entry.isQuerying = false;
        this.#onAnswer(entry, answer);
        this.#onLookUpOver(subject);
      } else if (answer.kind === 'found' && !entry.isQuerying) {
        // A second answer: the addresses of both families, after those of one were used; or an answer after the time limit.
        this.#onAnswer(entry, answer);
      }
    };
    queryName(this.#currentResolver(), candidatesOf(entry.name, this.#resolverSettings.content), finish);
  }

  #onLookUpOver(subject: string): void {
    this.#lookUpQuota.give(subject);
    this.#queue.resume(subject);
    while (this.#lookUpQuota.hasRoom) {
      const next = this.#queue.take();
      if (next === undefined) return;
      next.entry.queuedFor.delete(next.subject);
      // The look-up may be needless now: another subject has made it, or nobody waits for it any more.
      const isWanted = next.entry.waits.isLinked || next.entry.isSilent;
      if (isWanted && !next.entry.isQuerying && this.#lookUpQuota.tryTake(next.subject))
        this.#start(next.entry, next.subject);
      if (this.#lookUpQuota.isUsedUpBy(next.subject)) this.#queue.pause(next.subject);
    }
  }

  #onAnswer(entry: NameEntry, answer: NameAnswer): void {
    const nowMs = this.#nowMs();
    entry.isSilent = answer.kind === 'failed' && this.#staleAddresses(entry) !== undefined;
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

  #staleAddresses({ outcome, staleUntilMs }: NameEntry): readonly string[] | undefined {
    return typeof outcome === 'object' && this.#nowMs() < staleUntilMs ? outcome : undefined;
  }

  #serveStale(entry: NameEntry): void {
    const addresses = this.#staleAddresses(entry);
    if (addresses === undefined) return;
    entry.isSilent = true;
    this.#settleAll(entry, addresses);
  }

  #settleAll(entry: NameEntry, outcome: NameOutcome): void {
    const waits = new ListNode();
    waits.takeAll(entry.waits);
    for (let wait = waits.next; wait instanceof NameWait; wait = waits.next) this.#settle(wait, outcome);
  }

  #settle(wait: NameWait, outcome: NameOutcome): void {
    if (!wait.isLinked) return;
    wait.unlink();
    wait.onDone(outcome);
  }

  /** The resolver for the current name servers, which cannot be changed during a query. */
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

// Parses /etc/hosts, and the settings of /etc/resolv.conf that matter here.

/** Addresses by the name in lower case, in the order in which to try them. */
type HostsTable = ReadonlyMap<string, readonly string[]>;

export function parseHostsFile(text: string): HostsTable {
  const table = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    // Addresses with a zone (fe80::1%eth0) are link-local, and never connected to.
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
  readonly searchDomains: readonly string[];
  /** A name with at least so many dots is first tried as it is. */
  readonly dotsMin: number;
}

/** These limits are those of the system's own resolver. */
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

/** The full names to try for a name, in order. */
export function candidatesOf(name: string, { searchDomains, dotsMin }: ResolverSettings): readonly string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)];
  const completed = searchDomains.map((domain) => `${name}.${domain}`);
  const dots = name.split('.').length - 1;
  return dots >= dotsMin ? [name, ...completed] : [...completed, name];
}
