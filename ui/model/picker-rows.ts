// The rows of the list from which a composition is made: each server, and beneath those that are open, what they have.
import type { Server } from '../api/types.js';
import { pickedOf, withPicked, type CompositionDraft } from './composition-draft.js';
import { isMatched } from './seen-items.js';
import { isItemFound, itemKinds, type ItemKind, type ServerItem, type ServerItems } from './server-items.js';

export type PickerRow =
  | {
      readonly kind: 'server';
      readonly server: Server;
      readonly isOpen: boolean;
      readonly found: ServerItems | undefined;
    }
  | { readonly kind: 'item'; readonly server: Server; readonly of: ItemKind; readonly item: ServerItem }
  /** Its lists are being read, or could not be. */
  | { readonly kind: 'state'; readonly server: Server; readonly fault: string };

export interface PickerView {
  readonly servers: readonly Server[];
  readonly lists: ReadonlyMap<string, ServerItems>;
  readonly faults: ReadonlyMap<string, string>;
  /** Lower case; each must occur. */
  readonly words: readonly string[];
  /** Servers that somebody has opened or closed by hand. */
  readonly opened: ReadonlyMap<string, boolean>;
  /** Servers that come first and are open: those that the composition had when the page was opened. */
  readonly used: ReadonlySet<string>;
}

export function pickerRows({ servers, lists, faults, words, opened, used }: PickerView): readonly PickerRow[] {
  const rows: PickerRow[] = [];
  const sorted = [...servers.filter(({ name }) => used.has(name)), ...servers.filter(({ name }) => !used.has(name))];
  for (const server of sorted) {
    const { name } = server;
    const items = lists.get(name);
    const isNamed = words.every((word) => name.toLowerCase().includes(word));
    // A word may name the server, and the others one of its tools.
    const left = words.filter((word) => !name.toLowerCase().includes(word));
    const found = items === undefined || isNamed ? items : foundIn(items, left);
    if (!isNamed && (found === undefined || itemKinds.every((kind) => found[kind].length === 0))) continue;
    const isOpen = opened.get(name) ?? (words.length > 0 ? found !== undefined : used.has(name));
    rows.push({ kind: 'server', server, isOpen, found });
    if (!isOpen) continue;
    if (found === undefined) rows.push({ kind: 'state', server, fault: faults.get(name) ?? '' });
    else for (const of of itemKinds) for (const item of found[of]) rows.push({ kind: 'item', server, of, item });
  }
  return rows;
}

function foundIn(items: ServerItems, words: readonly string[]): ServerItems {
  const found = (kind: ItemKind): readonly ServerItem[] => items[kind].filter((item) => isItemFound(item, words));
  return { tools: found('tools'), prompts: found('prompts'), resources: found('resources') };
}

/** What is picked of one server, for quick questions about many items. */
export interface Picked {
  readonly has: (kind: ItemKind, item: Pick<ServerItem, 'key' | 'alias'>) => boolean;
  /** By a pattern alone. */
  readonly isMatched: (kind: ItemKind, key: string) => boolean;
}

export function pickedIn(draft: CompositionDraft, server: string): Picked {
  const named = Object.fromEntries(itemKinds.map((kind) => [kind, new Set(pickedOf(draft, server, kind))] as const));
  const patterns = pickedOf(draft, server, 'tools').filter((name) => name.includes('*'));
  return {
    has: (kind, { key, alias }) => named[kind]?.has(key) === true || (alias !== '' && named[kind]?.has(alias) === true),
    isMatched: (kind, key) => kind === 'tools' && isMatched(patterns, key),
  };
}

/** Picks all of the tools, or drops them. */
export function withAllTools(
  draft: CompositionDraft,
  server: string,
  tools: readonly ServerItem[],
  isWanted: boolean,
): CompositionDraft {
  const keys = new Set(tools.map(({ key }) => key));
  const others = pickedOf(draft, server, 'tools').filter((name) => !keys.has(name));
  return withPicked(draft, server, 'tools', isWanted ? [...others, ...keys] : others);
}
