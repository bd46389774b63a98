// How a backend's tools or prompts are shown under other names, with other descriptions and fewer arguments.

/** A config's entry for one tool or prompt, in a form that JSON can express. */
export interface CuratedEntry {
  readonly bareName: string;
  /** The name that callers use, without the prefix. */
  readonly name: string;
  readonly isHidden: boolean;
  readonly title?: string;
  readonly description?: string;
  readonly hiddenArguments: readonly string[];
  /** Arguments that the config fixes: names, with values as JSON. */
  readonly fixedArguments: readonly (readonly [name: string, value: string])[];
}

export interface CuratedItem {
  readonly entry: CuratedEntry;
  /** Arguments that callers neither see nor may give; names normalized with `caseFolded`. */
  readonly withheldArguments: ReadonlySet<string>;
  /** Length of the longest name in `withheldArguments`. */
  readonly withheldCharsMax: number;
  /** The fixed arguments as JSON members to add to a call: `"v":7,"w":8`. */
  readonly fixedMembers: string;
}

interface CuratedItems {
  readonly byBareName: ReadonlyMap<string, CuratedItem>;
  /** The items that are not hidden, by the name that callers use. */
  readonly byName: ReadonlyMap<string, CuratedItem>;
  /** Bare names of items that are hidden or have withheld arguments; normalized with `caseFolded`. */
  readonly guardedNames: ReadonlySet<string>;
}

/** How a backend's tools and prompts are curated; `undefined` for a kind that is not curated. */
export interface Curation {
  readonly tools: CuratedItems | undefined;
  readonly prompts: CuratedItems | undefined;
}

export const NO_CURATION: Curation = Object.freeze({ tools: undefined, prompts: undefined });

export function curatedItems(entries: readonly CuratedEntry[] | undefined): CuratedItems | undefined {
  if (entries === undefined || entries.length === 0) return undefined;
  const items = createItems();
  for (const entry of entries) addEntry(items, entry);
  return items;
}

export interface MutableItems extends CuratedItems {
  readonly byBareName: Map<string, CuratedItem>;
  readonly byName: Map<string, CuratedItem>;
  readonly guardedNames: Set<string>;
}

export function createItems(): MutableItems {
  return { byBareName: new Map(), byName: new Map(), guardedNames: new Set() };
}

export function addEntry({ byBareName, byName, guardedNames }: MutableItems, entry: CuratedEntry): void {
  const item = curatedItem(entry);
  if (entry.isHidden || item.withheldArguments.size > 0) guardedNames.add(caseFolded(entry.bareName));
  byBareName.set(entry.bareName, item);
  // A hidden item leaves its name to other items.
  if (!entry.isHidden) byName.set(entry.name, item);
}

export function entriesOf(items: CuratedItems | undefined): readonly CuratedEntry[] {
  return items === undefined ? [] : Array.from(items.byBareName.values(), ({ entry }) => entry);
}

export function withholdsAnything({ tools, prompts }: Curation): boolean {
  return (tools?.guardedNames.size ?? 0) + (prompts?.guardedNames.size ?? 0) > 0;
}

/** The bare name. @param name as callers know it, without the prefix. @returns `undefined` if no item has this name for callers. */
export function bareNameOf(items: CuratedItems, name: string): string | undefined {
  const { byBareName, byName } = items;
  const item = byName.get(name);
  if (item !== undefined) return item.entry.bareName;
  return byBareName.has(name) || isGuarded(items, name) ? undefined : name;
}

/** The name for callers. @returns `taken` if the config gives this name to another item, or guards a name that differs only in case. */
export function callersNameOf(items: CuratedItems, bareName: string): { readonly name: string } | 'hidden' | 'taken' {
  const { byBareName, byName } = items;
  const item = byBareName.get(bareName);
  if (item !== undefined) return item.entry.isHidden ? 'hidden' : item.entry;
  return byName.has(bareName) || isGuarded(items, bareName) ? 'taken' : { name: bareName };
}

/** Whether a backend might mistake the name for a guarded one. */
function isGuarded({ guardedNames }: CuratedItems, name: string): boolean {
  return guardedNames.size > 0 && guardedNames.has(caseFolded(name));
}

/**
 * Normalizes a name, because a backend may ignore case: a caller could otherwise set a fixed argument, or call a hidden tool,
 * in another spelling. The result is never shorter than the name.
 */
export function caseFolded(name: string): string {
  // Upper case first: it is the same for letters with two lower-case forms, such as `ſ` and `s`.
  return name.toUpperCase().toLowerCase();
}

function curatedItem(entry: CuratedEntry): CuratedItem {
  const { hiddenArguments, fixedArguments } = entry;
  const withheldNames = [...hiddenArguments, ...fixedArguments.map(([name]) => name)].map(caseFolded);
  return {
    entry,
    withheldArguments: new Set(withheldNames),
    withheldCharsMax: withheldNames.reduce((charsMax, { length }) => Math.max(charsMax, length), 0),
    fixedMembers: fixedArguments.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(),
  };
}
