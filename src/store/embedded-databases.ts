// Opens the embedded store's folder and the name spaces in it. Each name space is a separate database, so that no subject can reach one of
// the gateway's own keys.
import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { open, type Database, type RootDatabase } from 'lmdb';
import { limits, makeDirectory } from '../shared/index.js';
import { findObviousDamage, isEmbeddedThere } from './check-embedded.js';

/**
 * Without `noSubdir: false`, a path with a dot in its last part would be taken for a file. With `eventTurnBatching`, lmdb commits the
 * writes of one turn of the event loop together through an internal promise, which is rejected when the disk is full and which no caller
 * could handle. With `overlappingSync`, commits are visible before they are flushed, and a process that opens the folder meanwhile made the
 * writer find pages that are not its own (seen about once in thirty tries).
 */
const OPENING = {
  ...{ noSubdir: false, eventTurnBatching: false, overlappingSync: false },
  maxReaders: limits.storeReadersMax,
};

/**
 * Opens the folder, creating it for its owner alone when it does not exist. Throws when it cannot be used.
 * @param isFlushed whether commits are to survive the end of the machine; they survive that of the process in any case.
 */
export function openRoot(path: string, isFlushed = true): RootDatabase {
  makeDirectory(path);
  return open({ path, ...OPENING, noSync: !isFlushed });
}

/** Has a timeout: after a full disk LMDB never closes, because it waits for a write that it has abandoned. Commits are on disk. */
export async function closeRoot(root: RootDatabase): Promise<void> {
  let late: NodeJS.Timeout | undefined;
  const isLate = new Promise<void>((resolve) => (late = setTimeout(resolve, limits.peerAnswerMsMax)));
  await Promise.race([root.close(), isLate]);
  clearTimeout(late);
}

/** How long to wait for lmdb's reason, which arrives within a turn or two of the event loop; without it, the original error is reported. */
const REASON_MS_MAX = 100;

type DatabaseName = 'user-configs' | 'records' | 'publications' | 'changes';

export function openDatabase(root: RootDatabase, name: DatabaseName): Database<Buffer, Buffer> {
  return root.openDB({ name, encoding: 'binary', keyEncoding: 'binary' });
}

/**
 * Why lmdb could not commit, for example a full disk: lmdb gives the reason a moment later in a separate promise, whose rejection must be
 * handled. Never rejects; any other error is returned as it is.
 */
export async function commitReason(error: unknown): Promise<Error> {
  if (!(error instanceof Error)) return new Error(String(error));
  if (!('commitError' in error) || !(error.commitError instanceof Promise)) return error;
  const reason = error.commitError.then(
    () => error,
    (cause: unknown) => (cause instanceof Error ? cause : error),
  );
  let late: NodeJS.Timeout | undefined;
  const isLate = new Promise<Error>((resolve) => (late = setTimeout(resolve, REASON_MS_MAX, error)));
  const known = await Promise.race([reason, isLate]);
  clearTimeout(late);
  return known;
}

// Makes a consistent copy of an embedded store while other processes have it open. Cold path.

type CopyOutcome = 'copied' | 'no-store' | 'not-empty' | { readonly damage: string };

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
