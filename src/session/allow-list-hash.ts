// Hashes of resource allow-lists: a process that continues subscriptions can tell whether they passed the same list. Cold path.
import { createHash } from 'node:crypto';
import type { CompiledBackend } from '../user-config/index.js';

const hashes = new WeakMap<ReadonlySet<string>, string>();

/** `undefined` when there is no list: everything is allowed. */
export function allowListHash({ allowedNames: { resources } }: CompiledBackend): string | undefined {
  if (resources === undefined) return undefined;
  let hash = hashes.get(resources);
  if (hash === undefined) {
    hash = hashOf([...resources].sort());
    hashes.set(resources, hash);
  }
  return hash;
}

/** So that what decides about a list can be compared, or recorded, without being kept. */
export function hashOf(rules: unknown): string {
  return createHash('sha256').update(JSON.stringify(rules)).digest('base64');
}

/** The hashes of the named backends that have an allow-list, by backend name. */
export function allowListHashes(
  backends: ReadonlyMap<string, CompiledBackend> | undefined,
  names: readonly string[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const backend = backends?.get(name);
      const hash = backend && allowListHash(backend);
      return hash === undefined ? [] : [[name, hash]];
    }),
  );
}
