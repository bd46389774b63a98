// Makes a consistent copy of an embedded store while other processes have it open. Cold path.
import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from '../shared/make-directory.js';
import { findObviousDamage, isEmbeddedThere } from './check-embedded.js';
import { openRoot } from './embedded-databases.js';

export type CopyOutcome = 'copied' | 'no-store' | 'not-empty' | { readonly damage: string };

/**
 * @param to a directory that is empty or does not exist; it is created for its owner alone, as the store is. Rejects when it cannot be
 *   written, and then its contents are not a usable store.
 */
export async function copyEmbedded(from: string, to: string): Promise<CopyOutcome> {
  if (!isEmbeddedThere(from)) return 'no-store';
  const damage = findObviousDamage(from);
  if (damage !== undefined) return { damage };
  makeDirectory(to);
  if (readdirSync(to).length > 0) return 'not-empty';
  const root = openRoot(from);
  try {
    await root.backup(to, false);
  } finally {
    await root.close();
  }
  chmodSync(join(to, 'data.mdb'), 0o600);
  return 'copied';
}
