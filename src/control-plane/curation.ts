// What is curated of a registered server, for everybody who uses it and in one composition: both as user configs have it, the
// composition's in place of the server's, member by member.
import { limits } from '../shared/limits.js';
import { describeIssues } from '../user-config/config-issue.js';
import {
  clashesOf,
  curatedEntries,
  curationSchema,
  type CuratedBackend,
  type CuratedMembers,
} from '../user-config/curation-schema.js';
import type { BackendConfig } from '../user-config/user-config-schema.js';

/** As it was written: `{ prefix, tools, prompts }` of a backend in a user config. Plain data, JSON-ready. */
export type WrittenCuration = Readonly<Record<string, unknown>>;

const NONE: CuratedBackend = {};

/** Read once for each record that is in memory. */
const known = new WeakMap<WrittenCuration, CuratedBackend>();

/** What is wrong with it, in words behind the name of the member; `undefined` when nothing is. */
export function curationFault(written: WrittenCuration): string | undefined {
  const reading = curationSchema.safeParse(written);
  if (reading.success) return isTooLarge(reading.data) ? 'says too much of one tool or prompt' : undefined;
  return describeIssues(reading.error.issues.map(({ path, message }) => ({ path, message })));
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

/** What a server and a composition say of one item must fit into a user config together. */
function isTooLarge({ tools, prompts }: CuratedBackend): boolean {
  const entries = [...curatedEntries(tools), ...curatedEntries(prompts)];
  return entries.some((entry) => JSON.stringify(entry).length > limits.curatedItemCharsMax / 2);
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
 */
export function withoutClashes(backends: ReadonlyMap<string, BackendConfig>): ReadonlyMap<string, BackendConfig> {
  let settled = backends;
  for (let clashes = clashesOf(settled); clashes.length > 0; clashes = clashesOf(settled)) {
    const [backend = '', member, bareName] = clashes[0]!.path.map(String);
    const { prefix, ...config } = settled.get(backend)!;
    const changed =
      member === 'tools' || member === 'prompts'
        ? { ...config, ...(prefix !== undefined && { prefix }), [member]: withHidden(config[member], bareName!) }
        : config;
    settled = new Map([...settled, [backend, changed]]);
  }
  return settled;
}

function withHidden(members: CuratedMembers | undefined, bareName: string): CuratedMembers {
  const changed = new Map<string, object>(members ?? []);
  changed.set(bareName, { ...changed.get(bareName), hidden: true });
  return changed;
}
