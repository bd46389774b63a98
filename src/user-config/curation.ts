// How a backend's tools or prompts are shown under other names, with other descriptions and fewer arguments: what a config says about them,
// and the look-ups that requests and lists need. Items without an entry keep every byte.

/** A config's entry for one tool or prompt. Plain data, JSON-ready. */
export interface CuratedEntry {
  /** The name at the backend. */
  readonly bareName: string;
  /** The name that callers use, without the prefix. */
  readonly name: string;
  /** Neither listed nor callable. */
  readonly isHidden: boolean;
  readonly title?: string;
  readonly description?: string;
  /** Arguments that callers neither see nor may give. */
  readonly hiddenArguments: readonly string[];
  /** Arguments that callers neither see nor may give, with the fixed value of each, as JSON. */
  readonly fixedArguments: readonly (readonly [name: string, value: string])[];
}

export interface CuratedItem {
  readonly entry: CuratedEntry;
  /** The arguments that callers neither see nor give, normalized with `caseFolded`. */
  readonly closedArguments: ReadonlySet<string>;
  /** Length of the longest closed name: a longer one cannot match, since normalizing shortens no name. */
  readonly closedCharsMax: number;
  /** The members added to the arguments, as `"v":7,"w":8`; `''` for none. */
  readonly fixedMembers: string;
}

/** The curated tools, or prompts, of one backend. */
interface CuratedItems {
  readonly byBareName: ReadonlyMap<string, CuratedItem>;
  /** The items by the name that callers use. */
  readonly byName: ReadonlyMap<string, CuratedItem>;
  /** Bare names, normalized with `caseFolded`, of items that are hidden or have arguments that callers do not give. */
  readonly guardedNames: ReadonlySet<string>;
}

/** `undefined`: nothing of that kind is curated. */
export interface Curation {
  readonly tools: CuratedItems | undefined;
  readonly prompts: CuratedItems | undefined;
}

/** The curation of most backends. */
export const NO_CURATION: Curation = Object.freeze({ tools: undefined, prompts: undefined });

/** @param entries with distinct bare names and distinct names. */
export function curatedItems(entries: readonly CuratedEntry[] | undefined): CuratedItems | undefined {
  if (entries === undefined || entries.length === 0) return undefined;
  const items = createGrowingItems();
  for (const entry of entries) addEntry(items, entry);
  return items;
}

export interface GrowingItems extends CuratedItems {
  readonly byBareName: Map<string, CuratedItem>;
  readonly byName: Map<string, CuratedItem>;
  readonly guardedNames: Set<string>;
}

export function createGrowingItems(): GrowingItems {
  return { byBareName: new Map(), byName: new Map(), guardedNames: new Set() };
}

export function addEntry({ byBareName, byName, guardedNames }: GrowingItems, entry: CuratedEntry): void {
  const item = curatedItem(entry);
  if (entry.isHidden || item.closedArguments.size > 0) guardedNames.add(caseFolded(entry.bareName));
  byBareName.set(entry.bareName, item);
  // A hidden item's name is not reserved: another item may have it.
  if (!entry.isHidden) byName.set(entry.name, item);
}

export function entriesOf(items: CuratedItems | undefined): readonly CuratedEntry[] {
  return items === undefined ? [] : Array.from(items.byBareName.values(), ({ entry }) => entry);
}

/** Whether the curation withholds something of the backend from callers. */
export function hidesAnything({ tools, prompts }: Curation): boolean {
  return (tools?.guardedNames.size ?? 0) + (prompts?.guardedNames.size ?? 0) > 0;
}

/** The bare name of the item that callers know by this name; `undefined` if they know none. */
export function bareNameOf(items: CuratedItems, name: string): string | undefined {
  const { byBareName, byName } = items;
  const item = byName.get(name);
  if (item !== undefined) return item.entry.bareName;
  return byBareName.has(name) || isGuarded(items, name) ? undefined : name;
}

/** @returns `hidden`; or `taken` if callers cannot have the item, as an entry gives its name to another, or guards a similar name. */
export function callersNameOf(items: CuratedItems, bareName: string): { readonly name: string } | 'hidden' | 'taken' {
  const { byBareName, byName } = items;
  const item = byBareName.get(bareName);
  if (item !== undefined) return item.entry.isHidden ? 'hidden' : item.entry;
  return byName.has(bareName) || isGuarded(items, bareName) ? 'taken' : { name: bareName };
}

/** Whether a backend might mistake a name without an entry for a guarded one. */
function isGuarded({ guardedNames }: CuratedItems, name: string): boolean {
  return guardedNames.size > 0 && guardedNames.has(caseFolded(name));
}

/**
 * Normalizes names that some backend may treat as the same: a backend that ignores case would otherwise let a caller give a fixed argument,
 * or call a hidden tool, under another spelling.
 */
export function caseFolded(name: string): string {
  // Upper case first: letters with two lower-case forms, such as `ſ` and `s`, then become the same.
  return name.toUpperCase().toLowerCase();
}

function curatedItem(entry: CuratedEntry): CuratedItem {
  const { hiddenArguments, fixedArguments } = entry;
  const closed = [...hiddenArguments, ...fixedArguments.map(([name]) => name)].map(caseFolded);
  return {
    entry,
    closedArguments: new Set(closed),
    closedCharsMax: closed.reduce((charsMax, { length }) => Math.max(charsMax, length), 0),
    fixedMembers: fixedArguments.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(),
  };
}
