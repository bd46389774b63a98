// What is curated of a registered server, for everybody who uses it and in one composition: both as user configs have it, the
// composition's in place of the server's, member by member.
import { limits } from '../../shared/limits.js';
import { describeIssues } from '../../user-config/config-issue.js';
import {
  clashesOf,
  curatedEntries,
  curationSchema,
  namePrefix,
  repeatedNames,
  type CuratedBackend,
  type CuratedMembers,
} from '../../user-config/curation-schema.js';
import type { BackendConfig } from '../../user-config/user-config-schema.js';

/** As it was written: `{ prefix, tools, prompts }` of a backend in a user config. Plain data, JSON-ready. */
export type WrittenCuration = Readonly<Record<string, unknown>>;

const NONE: CuratedBackend = {};
/** What a server and a composition say must fit into a user config together. */
const ITEMS_MAX = limits.curatedItemsMax / 2;

/** Read once for each record that is in memory. */
const known = new WeakMap<WrittenCuration, CuratedBackend>();

/** What is wrong with it, in words behind the name of the member; `undefined` when nothing is. */
export function curationFault(written: WrittenCuration): string | undefined {
  const crowded = (['tools', 'prompts'] as const).find((kind) => Object.keys(written[kind] ?? {}).length > ITEMS_MAX);
  if (crowded !== undefined) return `${crowded}: must be at most ${ITEMS_MAX}`;
  const reading = curationSchema.safeParse(written);
  if (!reading.success) return describeIssues(reading.error.issues.map(({ path, message }) => ({ path, message })));
  if (isTooLarge(reading.data)) return 'is too large for one tool or prompt';
  const bytes = Buffer.byteLength(JSON.stringify(written));
  if (bytes <= limits.curationBytesMax) return undefined;
  return `must be shorter: it has ${bytes} bytes as JSON, at most ${limits.curationBytesMax} are allowed`;
}

/** @param written was checked. */
export function readCuration(written: WrittenCuration | undefined): CuratedBackend {
  if (written === undefined) return NONE;
  let curation = known.get(written);
  if (curation === undefined) {
    curation = curationSchema.parse(written);
    known.set(written, curation);
  }
  return curation;
}

/** Of one item, too. */
function isTooLarge({ tools, prompts }: CuratedBackend): boolean {
  const entries = [...curatedEntries(tools), ...curatedEntries(prompts)];
  return entries.some((entry) => JSON.stringify(entry).length > limits.curatedItemCharsMax / 2);
}

/**
 * What is said of these alone. The rest would fill user configs for nothing, and could take the names of those that are there.
 */
export function curationOf(
  { tools, prompts, ...others }: CuratedBackend,
  named: { readonly tools: readonly string[]; readonly prompts: readonly string[] },
): CuratedBackend {
  const ofTools = membersNamed(tools, named.tools);
  const ofPrompts = membersNamed(prompts, named.prompts);
  return { ...others, ...(ofTools && { tools: ofTools }), ...(ofPrompts && { prompts: ofPrompts }) };
}

/** In the order in which they were written; `undefined` for none. */
function membersNamed<Item>(
  members: ReadonlyMap<string, Item> | undefined,
  names: readonly string[],
): Map<string, Item> | undefined {
  if (members === undefined) return undefined;
  const wanted = new Set(names);
  const found = [...members].filter(([bareName]) => wanted.has(bareName));
  return found.length === 0 ? undefined : new Map(found);
}

export function mergedCuration(general: CuratedBackend, special: CuratedBackend): CuratedBackend {
  return {
    ...general,
    ...special,
    ...mergedMembers('tools', general, special),
    ...mergedMembers('prompts', general, special),
  };
}

function mergedMembers(
  kind: 'tools' | 'prompts',
  { [kind]: general }: CuratedBackend,
  { [kind]: special }: CuratedBackend,
): CuratedBackend {
  if (general === undefined || special === undefined) return {};
  const merged = new Map<string, object>(general);
  for (const [bareName, item] of special) merged.set(bareName, { ...merged.get(bareName), ...item });
  return { [kind]: merged as CuratedMembers };
}

/** What of several servers' curation cannot be together, in words; `''` when all can. */
export function clashWords(backends: ReadonlyMap<string, BackendConfig>): string {
  return describeIssues(clashesOf(backends));
}

/**
 * The same backends without what cannot be together, as servers and compositions are changed one by one: a prefix gives way to the
 * server's name, and of two tools with one name the later is hidden. A user config with a clash would be of no use at all.
 * All of it in one pass: it is done on the event loop, for each composition of a server that is changed.
 */
export function withoutClashes(backends: ReadonlyMap<string, BackendConfig>): ReadonlyMap<string, BackendConfig> {
  const yielding = findYielding(backends);
  const settled = new Map<string, BackendConfig>();
  for (const [name, config] of backends) {
    const { prefix: _, ...bare } = config;
    settled.set(name, withoutRepeatedNames(yielding.has(name) ? bare : config));
  }
  return settled;
}

/** Those whose prefix gives way. Of two that have one by their configs it is the later. */
function findYielding(backends: ReadonlyMap<string, BackendConfig>): ReadonlySet<string> {
  const owners = new Map<string, string>();
  const yielding = new Set<string>();
  for (const name of backends.keys()) {
    // One that gives way goes by its name, for which another may have to give way in turn; each does so once.
    for (let next: string | undefined = name; next !== undefined;) {
      const prefix: string | undefined = yielding.has(next) ? undefined : backends.get(next)?.prefix;
      const before = namePrefix(next, prefix);
      const other = owners.get(before);
      const loser: string | undefined = prefix === undefined || other === undefined ? other : next;
      if (loser !== next) owners.set(before, next);
      if (loser !== undefined) yielding.add(loser);
      next = loser;
    }
  }
  return yielding;
}

function withoutRepeatedNames(config: BackendConfig): BackendConfig {
  let settled = config;
  for (const kind of ['tools', 'prompts'] as const) {
    const members = config[kind];
    const repeated = members === undefined ? [] : repeatedNames(members);
    if (repeated.length > 0) settled = { ...settled, [kind]: withHidden(members, repeated) };
  }
  return settled;
}

function withHidden(members: CuratedMembers | undefined, bareNames: readonly string[]): CuratedMembers {
  const changed = new Map<string, object>(members ?? []);
  for (const bareName of bareNames) changed.set(bareName, { ...changed.get(bareName), hidden: true });
  return changed;
}
