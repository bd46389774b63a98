// A composition while it is being edited: what is picked of each server, the composition's own settings, and how both differ from what is
// published.
import type { ComposedServer, Composition } from '../api/types.js';
import { counted } from './counted.js';
import { curatedItem, curationWords, withCurated, type Curation } from './curation.js';
import { isMatched } from './seen-items.js';
import { itemKinds, type ItemKind, type ServerItem } from './server-items.js';

export interface CompositionDraft {
  readonly name: string;
  readonly description: string;
  readonly servers: readonly ComposedServer[];
  /** What clients see: all tools, or only two tools, with which they find and call the others. */
  readonly exposure: 'all' | 'search';
  /** One subject a line. */
  readonly subjects: string;
  /** `undefined`: not set by the user. Empty: no team. */
  readonly team: string | undefined;
}

export const BLANK_COMPOSITION: CompositionDraft = {
  ...{ name: '', description: '', servers: [], exposure: 'all', subjects: '', team: undefined },
};

export function compositionDraftOf(composition: Composition): CompositionDraft {
  const { name, description, servers, exposure = 'all', subjects, team } = composition;
  return { name, description, servers, exposure, subjects: subjects.join('\n'), team };
}

export interface CompositionRequest {
  readonly name: string;
  readonly description: string;
  readonly servers: readonly ComposedServer[];
  readonly exposure: 'all' | 'search';
  /** Absent: the caller alone. */
  readonly subjects?: readonly string[];
  readonly team?: string | null;
}

export function compositionRequest(draft: CompositionDraft): CompositionRequest {
  const { name, description, servers, exposure, subjects, team } = draft;
  const named = subjectsIn(subjects);
  const said = { name: name.trim(), description, servers, exposure, ...(named.length > 0 && { subjects: named }) };
  return { ...said, ...(team !== undefined && { team: team.trim() === '' ? null : team.trim() }) };
}

export function subjectsIn(text: string): readonly string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== ''))];
}

/** The draft with one more user. */
export function withUser(draft: CompositionDraft, user: string): CompositionDraft {
  const subjects = subjectsIn(draft.subjects);
  return subjects.includes(user) ? draft : { ...draft, subjects: [...subjects, user].join('\n') };
}

/** The picked names, URIs and patterns. */
export function pickedOf({ servers }: CompositionDraft, server: string, kind: ItemKind): readonly string[] {
  return servers.find(({ name }) => name === server)?.[kind] ?? [];
}

export function curationOf({ servers }: CompositionDraft, server: string): Curation | undefined {
  return servers.find(({ name }) => name === server)?.curation;
}

type PickedItem = Pick<ServerItem, 'key' | 'alias'>;

export function isPicked(draft: CompositionDraft, server: string, kind: ItemKind, { key, alias }: PickedItem): boolean {
  const picked = pickedOf(draft, server, kind);
  return picked.includes(key) || (alias !== '' && picked.includes(alias));
}

/** Picks or drops an item. Dropping one also drops its curation, unless a pattern still matches it. */
export function withItem(
  draft: CompositionDraft,
  server: string,
  kind: ItemKind,
  { key, alias }: PickedItem,
  isWanted: boolean,
): CompositionDraft {
  const others = pickedOf(draft, server, kind).filter((each) => each !== key && (alias === '' || each !== alias));
  const changed = withPicked(draft, server, kind, isWanted ? [...others, key] : others);
  if (isWanted || kind === 'resources' || isMatched(others, key)) return changed;
  return withCuration(changed, server, withCurated(curationOf(changed, server), kind, key, {}));
}

/** Removes a server of which nothing is picked any more; everything else about a server that stays is kept. */
export function withPicked(
  draft: CompositionDraft,
  server: string,
  kind: ItemKind,
  names: readonly string[],
): CompositionDraft {
  const known = draft.servers.find(({ name }) => name === server);
  const changed: ComposedServer = { tools: [], ...known, name: server, [kind]: names };
  const isEmpty = itemKinds.every((each) => (changed[each] ?? []).length === 0);
  if (known === undefined) return isEmpty ? draft : { ...draft, servers: [...draft.servers, changed] };
  const servers = draft.servers.flatMap((each) => (each !== known ? [each] : isEmpty ? [] : [changed]));
  return { ...draft, servers };
}

/** Sets the curation of a server that is part of the draft. */
export function withCuration(
  draft: CompositionDraft,
  server: string,
  curation: Curation | undefined,
): CompositionDraft {
  const servers = draft.servers.map((each) => {
    if (each.name !== server) return each;
    const { curation: _, ...others } = each;
    return { ...others, ...(curation !== undefined && { curation }) };
  });
  return { ...draft, servers };
}

/**
 * What somebody has changed of a composition, on top of what somebody else has changed in the meantime: where both have changed the same
 * member, it is the first one's.
 * @param before what both began with.
 */
export function mergedDraft(
  before: CompositionDraft,
  mine: CompositionDraft,
  theirs: CompositionDraft,
): CompositionDraft {
  const member = <Name extends keyof CompositionDraft>(name: Name): CompositionDraft[Name] =>
    mine[name] === before[name] ? theirs[name] : mine[name];
  const subjects = mergedList(
    ...([before, mine, theirs].map((draft) => subjectsIn(draft.subjects)) as Three<readonly string[]>),
  );
  return {
    ...{ name: member('name'), description: member('description'), exposure: member('exposure') },
    // A draft has a team only if somebody has typed one.
    team: mine.team === undefined || mine.team === before.team ? theirs.team : mine.team,
    subjects: mine.subjects === before.subjects ? theirs.subjects : subjects.join('\n'),
    servers: mergedServers(before, mine, theirs),
  };
}

type Three<Value> = [Value, Value, Value];

/** Theirs, without what I have taken away, and with what I have added. */
function mergedList(before: readonly string[], mine: readonly string[], theirs: readonly string[]): readonly string[] {
  const gone = before.filter((each) => !mine.includes(each));
  const added = mine.filter((each) => !before.includes(each));
  return [...new Set([...theirs.filter((each) => !gone.includes(each)), ...added])];
}

function mergedServers(...drafts: Three<CompositionDraft>): readonly ComposedServer[] {
  const names = new Set(drafts.toReversed().flatMap(({ servers }) => servers.map(({ name }) => name)));
  return [...names].flatMap((name) => {
    const [before, mine, theirs] = drafts.map(({ servers }) => servers.find((each) => each.name === name)) as Three<
      ComposedServer | undefined
    >;
    const lists = Object.fromEntries(
      itemKinds
        .map((kind) => [kind, mergedList(before?.[kind] ?? [], mine?.[kind] ?? [], theirs?.[kind] ?? [])] as const)
        .filter(([kind, list]) => kind === 'tools' || list.length > 0 || theirs?.[kind] !== undefined),
    );
    if (Object.values(lists).every((list) => list.length === 0)) return [];
    const isMine = JSON.stringify(mine?.curation) !== JSON.stringify(before?.curation);
    const { curation } = (isMine ? mine : theirs) ?? {};
    const { curation: _, ...others } = theirs ?? {};
    return [{ ...others, tools: [], ...lists, name, ...(curation !== undefined && { curation }) }];
  });
}

export interface Difference {
  readonly sign: '+' | '-' | '~';
  readonly words: string;
}

const KIND_WORDS = { tools: 'tool', prompts: 'prompt', resources: 'resource' } as const;

/** The differences that publishing will make. */
export function differencesOf(before: CompositionDraft, after: CompositionDraft): readonly Difference[] {
  const told: Difference[] = [];
  if (before.name !== after.name)
    told.push({
      sign: '~',
      words: before.name === '' ? `name: ${after.name}` : `name: ${before.name} → ${after.name}`,
    });
  if (before.description !== after.description) told.push({ sign: '~', words: 'the description' });
  if (before.exposure !== after.exposure) {
    const words = after.exposure === 'search' ? 'its tools are searched' : 'all of its tools are listed';
    told.push({ sign: '~', words });
  }
  if (after.team !== undefined && (before.team ?? '') !== after.team.trim()) {
    const [was, is] = [before.team ?? '', after.team.trim()];
    told.push({ sign: '~', words: `team: ${was === '' ? 'none' : was} → ${is === '' ? 'none' : is}` });
  }
  const kinds = itemKinds.map((kind) => [KIND_WORDS[kind], (draft: CompositionDraft) => itemsOf(draft, kind)] as const);
  for (const [kind, items] of [...kinds, ['user', (draft: CompositionDraft) => subjectsIn(draft.subjects)] as const]) {
    const [was, is] = [new Set(items(before)), new Set(items(after))];
    for (const item of is) if (!was.has(item)) told.push({ sign: '+', words: `${kind} ${item}` });
    for (const item of was) if (!is.has(item)) told.push({ sign: '-', words: `${kind} ${item}` });
  }
  for (const server of after.servers) {
    const known = curationOf(before, server.name);
    for (const words of curationDifferences(known, server.curation)) {
      told.push({ sign: '~', words: `${server.name}: ${words}` });
    }
  }
  return told;
}

function itemsOf({ servers }: CompositionDraft, kind: ItemKind): readonly string[] {
  return servers.flatMap((server) => (server[kind] ?? []).map((item) => `${server.name}: ${item}`));
}

function curationDifferences(before: Curation | undefined, after: Curation | undefined): readonly string[] {
  const words: string[] = [];
  if (before?.prefix !== after?.prefix) {
    const { prefix } = after ?? {};
    words.push(
      prefix === undefined
        ? 'its names have the default prefix'
        : `its names begin with ${prefix === '' ? 'nothing' : prefix}`,
    );
  }
  for (const kind of ['tools', 'prompts'] as const) {
    const names = new Set([...Object.keys(before?.[kind] ?? {}), ...Object.keys(after?.[kind] ?? {})]);
    for (const name of names) {
      const told = curationWords(curatedItem(before, kind, name), curatedItem(after, kind, name));
      if (told.length > 0) words.push(`${KIND_WORDS[kind]} ${name} ${told.join(', ')}`);
    }
  }
  return words;
}

/** What a composition has, in words. How many tools a pattern matches changes with the server, so patterns are counted themselves. */
export function contentWords(servers: readonly ComposedServer[]): string {
  const whole = servers.filter(({ tools }) => tools.includes('*'));
  const tools = servers.flatMap((server) => (whole.includes(server) ? [] : server.tools));
  const patterns = tools.filter((name) => name.includes('*')).length;
  const sumOf = (kind: 'prompts' | 'resources'): number =>
    servers.reduce((sum, each) => sum + (each[kind] ?? []).length, 0);
  const counts = [
    [tools.length - patterns, 'tools'],
    [patterns, 'patterns of tools'],
    [sumOf('prompts'), 'prompts'],
    [sumOf('resources'), 'resources'],
  ] as const;
  const all = whole.length === 1 ? `all of ${whole[0]?.name ?? ''}` : `all of ${whole.length} servers`;
  const told = counts.filter(([count]) => count > 0).map(([count, kind]) => counted(count, kind));
  return [...(whole.length > 0 ? [all] : []), ...told].join(', ') || 'nothing yet';
}
