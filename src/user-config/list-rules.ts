// The parts of a virtual host that decide which items its merged lists contain.
import type { CompiledBackend } from './compiled-config.js';
import { isGuarding } from './curation.js';

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
  return tools !== undefined || prompts !== undefined || resources !== undefined || isGuarding(curation);
}
