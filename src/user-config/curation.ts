// How a backend's tools or prompts are shown under other names, with other descriptions and fewer arguments: what a config says
// of them, and the look-ups that requests and lists need. Of what no entry names every byte stays.

/** What a config says of one tool or prompt. Plain data, JSON-ready. */
export interface CuratedEntry {
  /** As the backend has it. */
  readonly bareName: string;
  /** As callers have it, behind the prefix. */
  readonly name: string;
  /** Neither listed nor callable. */
  readonly isHidden: boolean;
  readonly title?: string;
  readonly description?: string;
  /** Not shown, and not to be given. */
  readonly hiddenArguments: readonly string[];
  /** The same with the value that each gets, as JSON. */
  readonly fixedArguments: readonly (readonly [name: string, value: string])[];
}

export interface CuratedItem {
  readonly entry: CuratedEntry;
  /** The arguments that callers neither see nor give, each as `folded` has it. */
  readonly closedArguments: ReadonlySet<string>;
  /** The members that go into the arguments, as `"v":7,"w":8`; `''` for none. */
  readonly fixedMembers: string;
}

/** Compiled once for each config. */
export interface CuratedItems {
  readonly byBareName: ReadonlyMap<string, CuratedItem>;
  /** By the name that callers have. */
  readonly byName: ReadonlyMap<string, CuratedItem>;
  /** The bare names of what is hidden, or has arguments that callers do not give, each as `folded` has it. */
  readonly guardedNames: ReadonlySet<string>;
}

/** `undefined`: nothing of that kind is curated. */
export interface Curation {
  readonly tools: CuratedItems | undefined;
  readonly prompts: CuratedItems | undefined;
}

/** Of most backends. */
export const NO_CURATION: Curation = Object.freeze({ tools: undefined, prompts: undefined });

/** @param entries each of another bare name and of another name. */
export function curatedItems(entries: readonly CuratedEntry[] | undefined): CuratedItems | undefined {
  if (entries === undefined || entries.length === 0) return undefined;
  const items = openItems();
  for (const entry of entries) addEntry(items, entry);
  return items;
}

/** Of which more may come. */
export interface OpenItems extends CuratedItems {
  readonly byBareName: Map<string, CuratedItem>;
  readonly byName: Map<string, CuratedItem>;
  readonly guardedNames: Set<string>;
}

export function openItems(): OpenItems {
  return { byBareName: new Map(), byName: new Map(), guardedNames: new Set() };
}

export function addEntry({ byBareName, byName, guardedNames }: OpenItems, entry: CuratedEntry): void {
  const item = curatedItem(entry);
  if (entry.isHidden || item.closedArguments.size > 0) guardedNames.add(folded(entry.bareName));
  byBareName.set(entry.bareName, item);
  // A hidden one has no name, so that another may have it.
  if (!entry.isHidden) byName.set(entry.name, item);
}

export function entriesOf(items: CuratedItems | undefined): readonly CuratedEntry[] {
  return items === undefined ? [] : Array.from(items.byBareName.values(), ({ entry }) => entry);
}

/** Whether callers are kept from something that the backend has. */
export function isGuarding({ tools, prompts }: Curation): boolean {
  return (tools?.guardedNames.size ?? 0) + (prompts?.guardedNames.size ?? 0) > 0;
}

/** @returns `undefined` where callers know nothing by this name. */
export function bareNameOf(items: CuratedItems, name: string): string | undefined {
  const { byBareName, byName } = items;
  const item = byName.get(name);
  if (item !== undefined) return item.entry.bareName;
  return byBareName.has(name) || isGuarded(items, name) ? undefined : name;
}

/** @returns `hidden`, or `taken` where nobody could call it: an entry gives the name to another, or guards one like it. */
export function callersNameOf(items: CuratedItems, bareName: string): { readonly name: string } | 'hidden' | 'taken' {
  const { byBareName, byName } = items;
  const item = byBareName.get(bareName);
  if (item !== undefined) return item.entry.isHidden ? 'hidden' : item.entry;
  return byName.has(bareName) || isGuarded(items, bareName) ? 'taken' : { name: bareName };
}

/** Whether a backend may take a name that no entry has for one that is guarded. */
function isGuarded({ guardedNames }: CuratedItems, name: string): boolean {
  return guardedNames.size > 0 && guardedNames.has(folded(name));
}

/**
 * The same text for names that some backend takes for one: it may read without regard to case, and so a fixed argument could
 * be given, or a hidden tool called, under another spelling.
 */
export function folded(name: string): string {
  // Up first: of the letters that are small in two ways, as `ſ` and `s`, one comes of both.
  return name.toUpperCase().toLowerCase();
}

function curatedItem(entry: CuratedEntry): CuratedItem {
  const { hiddenArguments, fixedArguments } = entry;
  return {
    entry,
    closedArguments: new Set([...hiddenArguments, ...fixedArguments.map(([name]) => name)].map(folded)),
    fixedMembers: fixedArguments.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(),
  };
}
