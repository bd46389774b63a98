// A compiled user config as short lines of JSON. The thread that compiled it sends these rows to the event loop, where they are
// assembled in slices. Cold path.
import type { BackendAuth } from './auth.js';
import type {
  AllowedNames,
  BackendObstacle,
  BackendTransport,
  CompiledBackend,
  CompiledUserConfig,
  CompiledVirtualHost,
  Exposure,
  ListHashes,
} from './compiled-config.js';
import { addEntry, entriesOf, createItems, type CuratedEntry, type Curation, type MutableItems } from './curation.js';

/** A row. Rows after that of a virtual host or backend belong to it, until the next such row. */
type ConfigRow =
  | readonly ['virtual host', id: string, exposure: Exposure]
  | readonly [
      'backend',
      name: string,
      prefix: string,
      uriName: string,
      hasCaseVariant: boolean,
      origin: string,
      path: string,
      transport: BackendTransport,
      obstacle: BackendObstacle | null,
      auth: BackendAuth | null,
      restricted: readonly (keyof AllowedNames)[],
      listHashes: ListHashes,
    ]
  | readonly ['passthrough', ...string[]]
  | readonly ['allowed', keyof AllowedNames, ...string[]]
  | readonly ['curated', keyof Curation, CuratedEntry]
  /** Indexes of backends, in the order by name length; `prefix order`: by prefix length, if that order differs. */
  | readonly ['order' | 'prefix order', ...number[]];

type BackendRow = Extract<ConfigRow, readonly ['backend', ...unknown[]]>;

/** The most values in one row; with `ROW_CHARS_MAX` characters, a row also ends. */
const ROW_VALUES_MAX = 256;
const ROW_CHARS_MAX = 4_096;

const ALLOW_LISTS = ['tools', 'prompts', 'resources'] as const;
const CURATABLE = ['tools', 'prompts'] as const;

export function encodeConfig({ virtualHosts }: CompiledUserConfig): Buffer {
  const lines: string[] = [];
  const add = (row: ConfigRow): void => void lines.push(JSON.stringify(row));
  for (const { id, exposure, backends, ...orders } of virtualHosts.values()) {
    const { backendsByNameLength, backendsByPrefixLength } = orders;
    add(['virtual host', id, exposure]);
    const indexes = new Map<CompiledBackend, number>();
    for (const backend of backends.values()) {
      const { name, prefix, uriName, hasCaseVariant, target, transport, obstacle, auth } = backend;
      const { passthroughHeaders, allowedNames, listHashes } = backend;
      indexes.set(backend, indexes.size);
      const restricted = ALLOW_LISTS.filter((list) => allowedNames[list] !== undefined);
      const { origin, path } = target;
      const location = [origin, path, transport, obstacle ?? null] as const;
      add(['backend', name, prefix, uriName, hasCaseVariant, ...location, auth ?? null, restricted, listHashes]);
      for (const names of splitIntoRows(passthroughHeaders)) add(['passthrough', ...names]);
      for (const list of restricted) {
        for (const names of splitIntoRows(allowedNames[list] ?? [])) add(['allowed', list, ...names]);
      }
      for (const kind of CURATABLE)
        for (const entry of entriesOf(backend.curation[kind])) add(['curated', kind, entry]);
    }
    const indexesOf = (row: readonly CompiledBackend[]): number[] => row.map((backend) => indexes.get(backend)!);
    for (const row of splitIntoRows(backendsByNameLength)) add(['order', ...indexesOf(row)]);
    if (backendsByPrefixLength === backendsByNameLength) continue;
    for (const row of splitIntoRows(backendsByPrefixLength)) add(['prefix order', ...indexesOf(row)]);
  }
  return Buffer.from(lines.join('\n'));
}

function* splitIntoRows<Value>(values: Iterable<Value>): Generator<Value[]> {
  let row: Value[] = [];
  let chars = 0;
  for (const value of values) {
    row.push(value);
    if (typeof value === 'string') chars += value.length;
    if (row.length < ROW_VALUES_MAX && chars < ROW_CHARS_MAX) continue;
    yield row;
    row = [];
    chars = 0;
  }
  if (row.length > 0) yield row;
}

interface UnfinishedVirtualHost extends CompiledVirtualHost {
  readonly backends: Map<string, CompiledBackend>;
  readonly backendsByNameLength: CompiledBackend[];
  backendsByPrefixLength: CompiledBackend[];
  readonly backendsByUriName: Map<string, CompiledBackend>;
  readonly passthroughHeaders: Set<string>;
}

const NOTHING_RESTRICTED = { tools: undefined, prompts: undefined, resources: undefined };

export class ConfigReader {
  readonly #rows: Buffer;
  #position = 0;
  readonly #virtualHosts = new Map<string, CompiledVirtualHost>();
  #virtualHost: UnfinishedVirtualHost | undefined;
  #backends: CompiledBackend[] = [];
  #passthroughHeaders = new Set<string>();
  #allowedNames: Readonly<Record<keyof AllowedNames, Set<string> | undefined>> = NOTHING_RESTRICTED;
  #curation: Record<keyof Curation, MutableItems | undefined> = { tools: undefined, prompts: undefined };

  constructor(rows: Buffer) {
    this.#rows = rows;
  }

  /** Reads one row. @returns false if there are no more rows. */
  readRow(): boolean {
    if (this.#position >= this.#rows.length) return false;
    const next = this.#rows.indexOf(LINE_FEED, this.#position);
    const end = next === -1 ? this.#rows.length : next;
    this.#addRow(JSON.parse(this.#rows.toString('utf8', this.#position, end)) as ConfigRow);
    this.#position = end + 1;
    return true;
  }

  /** The config, which is complete once all rows were read. */
  get config(): CompiledUserConfig {
    return { virtualHosts: this.#virtualHosts };
  }

  #addRow(row: ConfigRow): void {
    switch (row[0]) {
      case 'virtual host':
        this.#openVirtualHost(row[1], row[2]);
        break;
      case 'backend':
        this.#openBackend(row);
        break;
      case 'passthrough':
        for (const name of row.slice(1)) {
          this.#passthroughHeaders.add(name);
          this.#virtualHost?.passthroughHeaders.add(name);
        }
        break;
      case 'allowed':
        for (const name of row.slice(2)) this.#allowedNames[row[1]]?.add(name);
        break;
      case 'curated':
        addEntry((this.#curation[row[1]] ??= createItems()), row[2]);
        break;
      case 'order':
        for (const index of row.slice(1) as number[]) {
          this.#virtualHost?.backendsByNameLength.push(this.#backends[index]!);
        }
        break;
      case 'prefix order':
        for (const index of row.slice(1) as number[]) this.#addToPrefixOrder(this.#backends[index]!);
    }
  }

  #addToPrefixOrder(backend: CompiledBackend): void {
    const host = this.#virtualHost;
    if (host === undefined) return;
    // Until the first row of its own, the order by prefix is the order by name.
    if (host.backendsByPrefixLength === host.backendsByNameLength) host.backendsByPrefixLength = [];
    host.backendsByPrefixLength.push(backend);
  }

  #openVirtualHost(id: string, exposure: Exposure): void {
    const backendsByNameLength: CompiledBackend[] = [];
    this.#virtualHost = {
      id,
      exposure,
      backends: new Map(),
      backendsByNameLength,
      backendsByPrefixLength: backendsByNameLength,
      backendsByUriName: new Map(),
      passthroughHeaders: new Set(),
    };
    this.#virtualHosts.set(id, this.#virtualHost);
    this.#backends = [];
  }

  #openBackend([, name, prefix, uriName, hasCaseVariant, origin, path, ...rest]: BackendRow) {
    const [transport, obstacle, auth, restricted, listHashes] = rest;
    this.#passthroughHeaders = new Set();
    const allowList = (list: keyof AllowedNames) => (restricted.includes(list) ? new Set<string>() : undefined);
    this.#allowedNames = {
      tools: allowList('tools'),
      prompts: allowList('prompts'),
      resources: allowList('resources'),
    };
    this.#curation = { tools: undefined, prompts: undefined };
    const backend: CompiledBackend = {
      name,
      prefix,
      uriName,
      hasCaseVariant,
      target: { origin, path },
      transport,
      obstacle: obstacle ?? undefined,
      passthroughHeaders: this.#passthroughHeaders,
      auth: auth ?? undefined,
      allowedNames: this.#allowedNames,
      curation: this.#curation,
      listHashes,
    };
    if (auth?.type === 'token-exchange') this.#virtualHost?.passthroughHeaders.add('authorization');
    this.#virtualHost?.backends.set(name, backend);
    this.#virtualHost?.backendsByUriName.set(backend.uriName, backend);
    this.#backends.push(backend);
  }
}

const LINE_FEED = 0x0a;
