// What of a virtual host decides which tools are in its merged list, and the form in which that reaches another thread.
import type { CompiledBackend } from '../../store/compiled-config.js';

export type RuledBackend = Pick<CompiledBackend, 'name' | 'allowedToolNames'>;

/** A compiled virtual host is one. */
export interface ListRules {
  /** Longest name first: the first that fits wins. */
  readonly backendsByNameLength: readonly RuledBackend[];
}

/** Text, because a string of any length is handed over at once, and a set of names name by name. */
export function encodeRules({ backendsByNameLength }: ListRules): string {
  return JSON.stringify(
    backendsByNameLength.map(({ name, allowedToolNames }) => ({
      name,
      allowedToolNames: allowedToolNames && [...allowedToolNames],
    })),
  );
}

export function decodeRules(text: string): ListRules {
  const backends = JSON.parse(text) as { name: string; allowedToolNames?: string[] }[];
  return {
    backendsByNameLength: backends.map(({ name, allowedToolNames }) => ({
      name,
      allowedToolNames: allowedToolNames && new Set(allowedToolNames),
    })),
  };
}
