// A composition while somebody puts it together: what is picked of each server, what clients will see of it, and what is different from
// what is published.
import type { ComposedServer, Composition, Server, Tool } from '../api/types.js';

export interface CompositionDraft {
  readonly name: string;
  readonly description: string;
  readonly servers: readonly ComposedServer[];
  /** One a line. */
  readonly subjects: string;
}

export const BLANK_COMPOSITION: CompositionDraft = { name: '', description: '', servers: [], subjects: '' };

export function compositionDraftOf({ name, description, servers, subjects }: Composition): CompositionDraft {
  return { name, description, servers, subjects: subjects.join('\n') };
}

export interface CompositionRequest {
  readonly name: string;
  readonly description: string;
  readonly servers: readonly ComposedServer[];
  /** Left out: the caller alone. */
  readonly subjects?: readonly string[];
}

export function compositionRequest({ name, description, servers, subjects }: CompositionDraft): CompositionRequest {
  const named = subjectsIn(subjects);
  return { name: name.trim(), description, servers, ...(named.length > 0 && { subjects: named }) };
}

export function subjectsIn(text: string): readonly string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== ''))];
}

export function isPicked({ servers }: CompositionDraft, server: string, tool: string): boolean {
  return servers.some(({ name, tools }) => name === server && tools.includes(tool));
}

/** A server of which nothing is picked any more is no part of it; what else is said of one that stays, stays. */
export function withTools(draft: CompositionDraft, server: string, tools: readonly string[]): CompositionDraft {
  const known = draft.servers.find(({ name }) => name === server);
  const changed: ComposedServer = { ...known, name: server, tools };
  const isEmpty = tools.length === 0 && (known?.prompts ?? []).length === 0 && (known?.resources ?? []).length === 0;
  if (known === undefined) return isEmpty ? draft : { ...draft, servers: [...draft.servers, changed] };
  const servers = draft.servers.flatMap((each) => (each !== known ? [each] : isEmpty ? [] : [changed]));
  return { ...draft, servers };
}

export function toolsOf({ servers }: CompositionDraft, server: string): readonly string[] {
  return servers.find(({ name }) => name === server)?.tools ?? [];
}

export interface SeenTool {
  /** As clients see it. */
  readonly name: string;
  readonly server: string;
  readonly tool: string;
  /** What is wrong with it; `''` for nothing. */
  readonly fault: string;
  /** Of its place in the listing. */
  readonly bytes: number;
}

/** What several widespread clients take. */
const NAME_CHARS_MAX = 64;
const NAME = /^[A-Za-z0-9_-]+$/;
/** As models count, roughly: a token is some four bytes of JSON. */
const BYTES_PER_TOKEN = 4;

/** @param toolsByServer of the servers whose tools were read. */
export function seenTools(
  { servers }: CompositionDraft,
  known: readonly Server[],
  toolsByServer: ReadonlyMap<string, readonly Tool[]>,
): readonly SeenTool[] {
  const names = new Set<string>();
  return servers.flatMap(({ name: server, tools }) => {
    const prefix = known.find(({ name }) => name === server)?.curation?.prefix ?? server;
    return tools.map((tool) => {
      const name = prefix === '' ? tool : `${prefix}-${tool}`;
      const read = toolsByServer.get(server);
      const item = read?.find((each) => each.name === tool);
      const isRepeated = names.has(name);
      names.add(name);
      const isMissing = read !== undefined && item === undefined && !tool.includes('*');
      const fault = isRepeated
        ? 'is there twice'
        : isMissing
          ? 'is not there now'
          : tool.includes('*')
            ? ''
            : nameFault(name);
      return { name, server, tool, fault, bytes: JSON.stringify({ ...item, name }).length };
    });
  });
}

function nameFault(name: string): string {
  if (name.length > NAME_CHARS_MAX) return `has ${name.length} characters: some clients take ${NAME_CHARS_MAX}`;
  return NAME.test(name) ? '' : 'has characters that some clients refuse';
}

/** Of the listing that a model is given. */
export function tokensOf(seen: readonly SeenTool[]): number {
  return Math.ceil(seen.reduce((sum, { bytes }) => sum + bytes, 0) / BYTES_PER_TOKEN);
}

export interface Difference {
  readonly sign: '+' | '-' | '~';
  readonly words: string;
}

/** What publishing changes. */
export function differencesOf(before: CompositionDraft, after: CompositionDraft): readonly Difference[] {
  const told: Difference[] = [];
  if (before.name !== after.name) told.push({ sign: '~', words: `name: ${before.name} → ${after.name}` });
  if (before.description !== after.description) told.push({ sign: '~', words: 'the description' });
  for (const [kind, items] of [
    ['tool', itemsOf],
    ['subject', (draft: CompositionDraft) => subjectsIn(draft.subjects)],
  ] as const) {
    const [was, is] = [new Set(items(before)), new Set(items(after))];
    for (const item of is) if (!was.has(item)) told.push({ sign: '+', words: `${kind} ${item}` });
    for (const item of was) if (!is.has(item)) told.push({ sign: '-', words: `${kind} ${item}` });
  }
  return told;
}

function itemsOf({ servers }: CompositionDraft): readonly string[] {
  return servers.flatMap(({ name, tools, prompts = [], resources = [] }) =>
    [...tools, ...prompts, ...resources].map((item) => `${name}: ${item}`),
  );
}
