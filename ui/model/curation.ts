// Curation of a server's tools and prompts: other names and descriptions, arguments that are fixed or hidden. The format is the control
// plane's, in a server's record and in a composition; the composition's takes precedence, member by member.
import type { JsonObject } from './schema-form.js';

export interface CuratedItem {
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly hidden?: boolean;
  readonly hidden_arguments?: readonly string[];
  readonly fixed_arguments?: JsonObject;
}

export type CuratedKind = 'tools' | 'prompts';

export interface Curation {
  readonly prefix?: string;
  readonly tools?: Readonly<Record<string, CuratedItem>>;
  readonly prompts?: Readonly<Record<string, CuratedItem>>;
}

export function curatedItem(curation: Curation | null | undefined, kind: CuratedKind, name: string): CuratedItem {
  const items = curation?.[kind];
  return items !== undefined && Object.hasOwn(items, name) ? (items[name] ?? {}) : {};
}

/** Replaces an item's curation; members that are `undefined` are removed, and so is an item that is left empty. */
export function withCurated(
  curation: Curation | undefined,
  kind: CuratedKind,
  name: string,
  said: { readonly [Member in keyof CuratedItem]: CuratedItem[Member] | undefined },
): Curation | undefined {
  const item = pruned(said);
  const others = Object.entries(curation?.[kind] ?? {}).filter(([each]) => each !== name);
  const items = Object.keys(item).length === 0 ? others : [...others, [name, item] as const];
  return orNone({ ...curation, [kind]: items.length === 0 ? undefined : Object.fromEntries(items) });
}

/** @param prefix `undefined`: the server's own. */
export function withPrefix(curation: Curation | undefined, prefix: string | undefined): Curation | undefined {
  return orNone({ ...curation, prefix });
}

function orNone(curation: { readonly [Member in keyof Curation]: Curation[Member] | undefined }): Curation | undefined {
  const left = pruned(curation);
  return Object.keys(left).length === 0 ? undefined : left;
}

function pruned<Members extends object>(members: Members): { [Name in keyof Members]: NonNullable<Members[Name]> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Members]: NonNullable<Members[Name]>;
  };
}

/** How an argument is treated. */
export type ArgumentRule = 'open' | 'fixed' | 'hidden';

export function ruleOf({ fixed_arguments, hidden_arguments }: CuratedItem, argument: string): ArgumentRule {
  if (fixed_arguments !== undefined && Object.hasOwn(fixed_arguments, argument)) return 'fixed';
  return hidden_arguments?.includes(argument) === true ? 'hidden' : 'open';
}

/** @param value of a fixed argument. */
export function withRule(item: CuratedItem, argument: string, rule: ArgumentRule, value: unknown): CuratedItem {
  const { fixed_arguments: fixedBefore = {}, hidden_arguments: hiddenBefore = [], ...others } = item;
  const fixed = Object.entries(fixedBefore).filter(([name]) => name !== argument);
  if (rule === 'fixed') fixed.push([argument, value]);
  const hidden = hiddenBefore.filter((name) => name !== argument);
  if (rule === 'hidden') hidden.push(argument);
  return {
    ...others,
    ...(fixed.length > 0 && { fixed_arguments: Object.fromEntries(fixed) }),
    ...(hidden.length > 0 && { hidden_arguments: hidden }),
  };
}

/** What differs between the two, in words. */
export function curationWords(before: CuratedItem, after: CuratedItem): readonly string[] {
  const words: string[] = [];
  const isOther = (member: keyof CuratedItem): boolean =>
    JSON.stringify(before[member]) !== JSON.stringify(after[member]);
  if (isOther('name')) words.push(after.name === undefined ? 'has its own name' : `is called ${after.name}`);
  if (isOther('title')) words.push('has another title');
  if (isOther('description')) words.push('has another description');
  if (isOther('hidden')) words.push(after.hidden === true ? 'is left out' : 'is not left out');
  if (isOther('hidden_arguments')) words.push(`hides ${after.hidden_arguments?.join(', ') ?? 'no argument'}`);
  if (isOther('fixed_arguments')) {
    const fixed = Object.entries(after.fixed_arguments ?? {});
    const told = fixed.map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join(', ');
    words.push(`fixes ${told === '' ? 'no argument' : told}`);
  }
  return words;
}
