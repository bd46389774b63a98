// The parts of a virtual host that decide which items its merged lists contain, and their serialized form for another thread.
import type { AllowedNames, CompiledBackend } from './compiled-config.js';
import { curatedItems, entriesOf, hidesAnything, type CuratedEntry } from './curation.js';

export type RuledBackend = Pick<CompiledBackend, 'name' | 'prefix' | 'uriName' | 'allowedNames' | 'curation'>;

/** Satisfied by a compiled virtual host. */
export interface ListRules {
  /** Longest name first: the first that matches wins. */
  readonly backendsByNameLength: readonly RuledBackend[];
}

/**
 * Whether callers may have tasks at this backend. Calls create tasks, and the allow-list has already admitted or refused the call; the
 * backend itself checks whose task it is. Where no tool may be called, there are no tasks.
 */
export function mayHaveTasks({ allowedNames: { tools } }: Pick<RuledBackend, 'allowedNames'>): boolean {
  return tools?.size !== 0;
}

/** Whether the config withholds anything of this backend from callers; if so, whatever the config cannot judge is not let through. */
export function isLimited({
  allowedNames: { tools, prompts, resources },
  curation,
}: Pick<RuledBackend, 'allowedNames' | 'curation'>): boolean {
  return tools !== undefined || prompts !== undefined || resources !== undefined || hidesAnything(curation);
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

/** Encoded as text, because a string of any length is transferred in one step, but a set is cloned name by name. */
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
