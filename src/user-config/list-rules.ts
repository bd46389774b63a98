// What of a virtual host decides which items are in its merged lists, and the form in which that reaches another thread.
import type { AllowedNames, CompiledBackend } from './compiled-config.js';
import { curatedItems, entriesOf, isGuarding, type CuratedEntry } from './curation.js';

export type RuledBackend = Pick<CompiledBackend, 'name' | 'prefix' | 'uriName' | 'allowedNames' | 'curation'>;

/** A compiled virtual host is one. */
export interface ListRules {
  /** Longest name first: the first that fits wins. */
  readonly backendsByNameLength: readonly RuledBackend[];
}

/**
 * Tasks are made by calls, which the allow-list lets pass or not; whose a task is, its backend judges. Whoever may call
 * nothing there has none.
 */
export function mayHaveTasks({ allowedNames: { tools } }: Pick<RuledBackend, 'allowedNames'>): boolean {
  return tools?.size !== 0;
}

/** Whether the config keeps something of it from callers, of whatever kind: then nothing passes of which it cannot say anything. */
export function isLimited({
  allowedNames: { tools, prompts, resources },
  curation,
}: Pick<RuledBackend, 'allowedNames' | 'curation'>): boolean {
  return tools !== undefined || prompts !== undefined || resources !== undefined || isGuarding(curation);
}

interface EncodedBackend {
  readonly name: string;
  readonly prefix: string;
  readonly uriName: string;
  readonly tools: readonly string[] | undefined;
  readonly prompts: readonly string[] | undefined;
  readonly resources: readonly string[] | undefined;
  readonly curatedTools: readonly CuratedEntry[];
  readonly curatedPrompts: readonly CuratedEntry[];
}

/** Text, because a string of any length is handed over at once, and a set of names name by name. */
export function encodeRules({ backendsByNameLength }: ListRules): string {
  return JSON.stringify(
    backendsByNameLength.map(
      ({ name, prefix, uriName, allowedNames: { tools, prompts, resources }, curation }): EncodedBackend => ({
        name,
        prefix,
        uriName,
        tools: tools && [...tools],
        prompts: prompts && [...prompts],
        resources: resources && [...resources],
        curatedTools: entriesOf(curation.tools),
        curatedPrompts: entriesOf(curation.prompts),
      }),
    ),
  );
}

export function decodeRules(text: string): ListRules {
  const backends = JSON.parse(text) as EncodedBackend[];
  return {
    backendsByNameLength: backends.map(({ name, prefix, uriName, tools, prompts, resources, ...curated }) => ({
      name,
      prefix,
      uriName,
      allowedNames: {
        tools: tools && new Set(tools),
        prompts: prompts && new Set(prompts),
        resources: resources && new Set(resources),
      } satisfies AllowedNames,
      curation: { tools: curatedItems(curated.curatedTools), prompts: curatedItems(curated.curatedPrompts) },
    })),
  };
}
