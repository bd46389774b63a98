// Curation of a registered server: the server's own, and a composition's, which overrides it member by member. Both have the
// form of a curation in a user config.
import { getOrMake, limits } from '../../shared/index.js';
import {
  describeIssues,
  duplicateIssuesOf,
  curatedEntries,
  curationSchema,
  namePrefix,
  readableIssues,
  itemsWithTakenNames,
  type BackendCuration,
  type ItemsByBareName,
  type BackendConfig,
} from '../../user-config/index.js';

/** A curation in the form in which people write it: `{ prefix, tools, prompts }`. */
export type WrittenCuration = Readonly<Record<string, unknown>>;

const NO_CURATION: BackendCuration = {};
/** Half of what a user config may have, because a user config gets the curation of the server and that of the composition. */
const ITEMS_MAX = limits.curatedItemsMax / 2;

/** Parsed curations, so that each record in memory is parsed only once. */
const parsedCurations = new WeakMap<WrittenCuration, BackendCuration>();

/** What is wrong with a curation, as a text that follows the member's name: `must be …`; `undefined` if it is valid. */
export function curationFault(written: WrittenCuration): string | undefined {
  const overfull = (['tools', 'prompts'] as const).find((kind) => Object.keys(written[kind] ?? {}).length > ITEMS_MAX);
  if (overfull !== undefined) return `${overfull}: must be at most ${ITEMS_MAX}`;
  const checked = curationSchema.safeParse(written);
  if (!checked.success) return describeIssues(checked.error.issues.flatMap(readableIssues));
  const entries = [...curatedEntries(checked.data.tools), ...curatedEntries(checked.data.prompts)];
  if (entries.some((entry) => JSON.stringify(entry).length > limits.curatedItemCharsMax / 2))
    return 'is too large for one tool or prompt';
  const bytes = Buffer.byteLength(JSON.stringify(written));
  if (bytes <= limits.curationBytesMax) return undefined;
  return `must be shorter: it has ${bytes} bytes as JSON, at most ${limits.curationBytesMax} are allowed`;
}

/** Parses a curation. @param written must have passed `curationFault`. */
export function parseCuration(written: WrittenCuration | undefined): BackendCuration {
  return written === undefined ? NO_CURATION : getOrMake(parsedCurations, written, () => curationSchema.parse(written));
}

/** The curation of the named tools and prompts only: the rest would fill user configs, and could clash with names in use. */
export function curationOfNamed(
  { tools, prompts, ...others }: BackendCuration,
  named: { readonly tools: readonly string[]; readonly prompts: readonly string[] },
): BackendCuration {
  const ofTools = membersNamed(tools, named.tools);
  const ofPrompts = membersNamed(prompts, named.prompts);
  return { ...others, ...(ofTools && { tools: ofTools }), ...(ofPrompts && { prompts: ofPrompts }) };
}

/** The named members, in the order in which they were written; `undefined` if there are none. @param names bare names; `*` for all. */
function membersNamed<Item>(
  members: ReadonlyMap<string, Item> | undefined,
  names: readonly string[],
): Map<string, Item> | undefined {
  if (members === undefined) return undefined;
  const wanted = new Set(names);
  const found = [...members].filter(([bareName]) => wanted.has('*') || wanted.has(bareName));
  return found.length === 0 ? undefined : new Map(found);
}

export function mergeCuration(general: BackendCuration, special: BackendCuration): BackendCuration {
  return {
    ...general,
    ...special,
    ...mergeMembers('tools', general, special),
    ...mergeMembers('prompts', general, special),
  };
}

function mergeMembers(
  kind: 'tools' | 'prompts',
  { [kind]: general }: BackendCuration,
  { [kind]: special }: BackendCuration,
): BackendCuration {
  if (general === undefined || special === undefined) return {};
  const merged = new Map<string, object>(general);
  for (const [bareName, item] of special) merged.set(bareName, { ...merged.get(bareName), ...item });
  return { [kind]: merged as ItemsByBareName };
}

/** Describes the clashes between the curation of several servers; `''` if there are none. */
export function describeClash(backends: ReadonlyMap<string, BackendConfig>): string {
  return describeIssues(duplicateIssuesOf(backends));
}

/**
 * Resolves clashes, which the dataplane would refuse. They arise because servers and compositions change one by one. Of two servers
 * with one prefix, one loses its curated prefix; of two tools with one name, the later is hidden. Takes one pass, because this runs
 * on the event loop for each composition of a changed server.
 */
export function withoutClashes(backends: ReadonlyMap<string, BackendConfig>): ReadonlyMap<string, BackendConfig> {
  const losers = findPrefixLosers(backends);
  const settled = new Map<string, BackendConfig>();
  for (const [name, config] of backends) {
    const { prefix: _, ...bare } = config;
    settled.set(name, withTakenNamesHidden(losers.has(name) ? bare : config));
  }
  return settled;
}

/** Servers whose curated prefix is the name of another server, or the curated prefix of an earlier one. */
function findPrefixLosers(backends: ReadonlyMap<string, BackendConfig>): ReadonlySet<string> {
  const owners = new Map<string, string>();
  const losers = new Set<string>();
  for (const name of backends.keys()) {
    // A server that loses its prefix gets its name as prefix. If the name is another server's curated prefix, the other loses it.
    for (let next: string | undefined = name; next !== undefined;) {
      const prefix: string | undefined = losers.has(next) ? undefined : backends.get(next)?.prefix;
      const prefixInUse = namePrefix(next, prefix);
      const other = owners.get(prefixInUse);
      const loser: string | undefined = prefix === undefined || other === undefined ? other : next;
      if (loser !== next) owners.set(prefixInUse, next);
      if (loser !== undefined) losers.add(loser);
      next = loser;
    }
  }
  return losers;
}

function withTakenNamesHidden(config: BackendConfig): BackendConfig {
  let settled = config;
  for (const kind of ['tools', 'prompts'] as const) {
    const members = config[kind];
    const repeated = members === undefined ? [] : itemsWithTakenNames(members);
    if (repeated.length === 0) continue;
    const changed = new Map<string, object>(members);
    for (const bareName of repeated) changed.set(bareName, { ...changed.get(bareName), hidden: true });
    settled = { ...settled, [kind]: changed };
  }
  return settled;
}
