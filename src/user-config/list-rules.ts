// What of a virtual host decides which items are in its merged lists, and the form in which that reaches another thread.
import type { AllowedNames, CompiledBackend } from './compiled-config.js';

export type RuledBackend = Pick<CompiledBackend, 'name' | 'uriName' | 'allowedNames'>;

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

/** Whether a list says what of it passes, of whatever kind: then nothing passes that is in none. */
export function isLimited({
  allowedNames: { tools, prompts, resources },
}: Pick<RuledBackend, 'allowedNames'>): boolean {
  return tools !== undefined || prompts !== undefined || resources !== undefined;
}

interface EncodedBackend {
  readonly name: string;
  readonly uriName: string;
  readonly tools: readonly string[] | undefined;
  readonly prompts: readonly string[] | undefined;
  readonly resources: readonly string[] | undefined;
}

/** Text, because a string of any length is handed over at once, and a set of names name by name. */
export function encodeRules({ backendsByNameLength }: ListRules): string {
  return JSON.stringify(
    backendsByNameLength.map(({ name, uriName, allowedNames: { tools, prompts, resources } }): EncodedBackend => ({
      name,
      uriName,
      tools: tools && [...tools],
      prompts: prompts && [...prompts],
      resources: resources && [...resources],
    })),
  );
}

export function decodeRules(text: string): ListRules {
  const backends = JSON.parse(text) as EncodedBackend[];
  return {
    backendsByNameLength: backends.map(({ name, uriName, tools, prompts, resources }) => ({
      name,
      uriName,
      allowedNames: {
        tools: tools && new Set(tools),
        prompts: prompts && new Set(prompts),
        resources: resources && new Set(resources),
      } satisfies AllowedNames,
    })),
  };
}
