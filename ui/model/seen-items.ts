// A preview of what clients will see of an unpublished composition: names after prefixes and curation are applied, what is wrong with them,
// and how much of a model's context the listing takes.
import type { ComposedServer, Server } from '../api/types.js';
import { nameFaults } from './client-rules.js';
import { curatedItem, ruleOf, type CuratedItem } from './curation.js';
import type { JsonObject } from './schema-form.js';
import { itemKinds, type ItemKind, type ServerItem, type ServerItems } from './server-items.js';

export interface SeenItem {
  readonly kind: ItemKind;
  /** The name that clients see. */
  readonly name: string;
  readonly server: string;
  /** The name at its server; a pattern while the server's list is not known. */
  readonly item: string;
  readonly faults: readonly string[];
  /** The size of its entry in the listing. */
  readonly bytes: number;
  /** Selected, but left out by its curation. */
  readonly isLeftOut?: true;
}

export interface Seen {
  readonly items: readonly SeenItem[];
  /** What clients will not see although it is selected. */
  readonly left: readonly SeenItem[];
  /** Patterns that match nothing, as far as the lists are known. */
  readonly idle: readonly { readonly server: string; readonly pattern: string }[];
}

/** A rough estimate: a token is about four bytes of JSON. */
const BYTES_PER_TOKEN = 4;
const encoder = new TextEncoder();

/**
 * @param known servers of the registry.
 * @param lists those that were read, by the server's name.
 * @param compositionName the composition's name in clients' settings.
 */
export function seenOf(
  servers: readonly ComposedServer[],
  known: readonly Server[],
  lists: ReadonlyMap<string, ServerItems>,
  compositionName: string,
): Seen {
  const items: SeenItem[] = [];
  const left: SeenItem[] = [];
  const idle: { server: string; pattern: string }[] = [];
  const names = new Set<string>();
  const prefixes = new Set<string>();
  const records = new Map(known.map((server) => [server.name, server]));
  for (const server of servers) {
    const record = records.get(server.name);
    const list = lists.get(server.name);
    const prefix = prefixOf(server, record);
    const isPrefixTaken = prefixes.has(prefix);
    prefixes.add(prefix);
    for (const kind of itemKinds) {
      const { named, unmatched } = resolved(server, kind, list);
      idle.push(...unmatched.map((pattern) => ({ server: server.name, pattern })));
      const byName = new Map(list?.[kind].flatMap((each) => [[each.key, each] as const, ...aliasOf(kind, each)]));
      for (const item of named) {
        const told = byName.get(item);
        const curated = kind === 'resources' ? {} : mergedItem(server, record, kind, item);
        const bare = curated.name ?? item;
        const name = kind === 'resources' ? bare : `${prefix}${bare}`;
        if (curated.hidden === true) {
          left.push({ kind, name, server: server.name, item, faults: [], bytes: 0, isLeftOut: true });
          continue;
        }
        const key = `${kind} ${kind === 'resources' ? `${server.name}+` : ''}${name}`;
        const faults: string[] = [];
        if (isPrefixTaken && kind !== 'resources')
          faults.push(
            'has the same prefix as the names of another server, so it cannot be published: change the prefix',
          );
        else if (names.has(key)) faults.push('is there twice');
        names.add(key);
        if (list !== undefined && told === undefined && !item.includes('*')) faults.push('does not exist at present');
        if (kind !== 'resources' && !item.includes('*')) faults.push(...nameFaults(name, compositionName));
        items.push({ kind, name, server: server.name, item, faults, bytes: bytesOf(kind, name, told, curated) });
      }
    }
  }
  return { items, left, idle };
}

function aliasOf(kind: ItemKind, item: ServerItem): readonly (readonly [string, ServerItem])[] {
  return kind === 'resources' && item.alias !== '' ? [[item.alias, item]] : [];
}

/** An estimate of the tokens that the listing takes of a model's context. */
export function tokensOf(items: readonly SeenItem[]): number {
  return Math.ceil(items.reduce((sum, { bytes }) => sum + bytes, 0) / BYTES_PER_TOKEN);
}

/** What precedes the server's names. */
export function prefixOf({ name, curation }: ComposedServer, record: Server | undefined): string {
  const prefix = curation?.prefix ?? record?.curation?.prefix ?? name;
  return prefix === '' ? '' : `${prefix}-`;
}

/** Whether a pattern among the names matches the name. */
export function isMatched(names: readonly string[], name: string): boolean {
  return names.some((pattern) => pattern.includes('*') && patternOf(pattern).test(name));
}

function patternOf(pattern: string): RegExp {
  const pieces = pattern.split('*').map((piece) => piece.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`^${pieces.join('[^]*')}$`);
}

function resolved(
  server: ComposedServer,
  kind: ItemKind,
  list: ServerItems | undefined,
): { readonly named: Iterable<string>; readonly unmatched: readonly string[] } {
  const said = server[kind] ?? [];
  if (kind !== 'tools' || list === undefined || !said.some((name) => name.includes('*'))) {
    return { named: said, unmatched: [] };
  }
  const patterns = said.filter((name) => name.includes('*'));
  const matched = list.tools.map(({ key }) => key).filter((key) => isMatched(patterns, key));
  const unmatched = patterns.filter((pattern) => !matched.some((key) => isMatched([pattern], key)));
  return { named: new Set([...said.filter((name) => !name.includes('*')), ...matched]), unmatched };
}

function mergedItem(
  server: ComposedServer,
  record: Server | undefined,
  kind: 'tools' | 'prompts',
  item: string,
): CuratedItem {
  return { ...curatedItem(record?.curation, kind, item), ...curatedItem(server.curation, kind, item) };
}

/** The size of an item's entry, without the members that are hidden. */
function bytesOf(kind: ItemKind, name: string, item: ServerItem | undefined, curated: CuratedItem): number {
  const { title, description } = curated;
  const shown: Record<string, unknown> = {
    ...item?.told,
    ...(kind === 'resources' ? {} : { name }),
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
  };
  const isOpen = (argument: string): boolean => ruleOf(curated, argument) === 'open';
  const schema = shown['inputSchema'] as JsonObject | undefined;
  if (kind === 'tools' && typeof schema?.['properties'] === 'object' && schema['properties'] !== null) {
    const properties = Object.entries(schema['properties'] as JsonObject).filter(([argument]) => isOpen(argument));
    shown['inputSchema'] = { ...schema, properties: Object.fromEntries(properties) };
  }
  return encoder.encode(JSON.stringify(shown)).length;
}
