// Opens and copies the embedded store's folder. Each name space in it is a separate database, so that no subject can reach one of the
// gateway's own keys.
import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { open, type Database, type RootDatabase } from 'lmdb';
import { limits, makeDirectory, settledWithin } from '../shared/index.js';
import { findObviousDamage, hasEmbeddedStore } from './check-embedded.js';

/**
 * By default, lmdb would take a path with a dot in its last segment for a file (`noSubdir`). On a full disk, it would reject an internal
 * promise that no caller can handle (`eventTurnBatching`). It would show commits before they are flushed and, rarely, after another process
 * has opened the folder, find pages in the file that it has not written (`overlappingSync`).
 */
const OPEN_OPTIONS = {
  ...{ noSubdir: false, eventTurnBatching: false, overlappingSync: false },
  maxReaders: limits.storeReadersMax,
};

/**
 * Opens the folder, or creates it for its owner alone. Throws when it cannot be used.
 * @param isFlushed whether commits survive a crash of the machine. They always survive the end of the process.
 */
export function openRoot(path: string, isFlushed = true): RootDatabase {
  makeDirectory(path);
  return open({ path, ...OPEN_OPTIONS, noSync: !isFlushed });
}

/** Closes the store, or gives up after a while, because LMDB never ends a write that failed on a full disk. Loses no commit. */
export async function closeRoot(root: RootDatabase): Promise<void> {
  await settledWithin(root.close(), limits.peerAnswerMsMax, () => undefined);
}

/** How long to wait for lmdb to say why a commit failed, which it does within a turn or two of the event loop. */
const COMMIT_ERROR_MS_MAX = 100;

type DatabaseName = 'user-configs' | 'records' | 'publications' | 'changes';

export function openDatabase(root: RootDatabase, name: DatabaseName): Database<Buffer, Buffer> {
  return root.openDB({ name, encoding: 'binary', keyEncoding: 'binary' });
}

/**
 * Finds why lmdb could not commit, for example a full disk: lmdb's error has the reason as a promise, whose rejection must be handled.
 * Never rejects. @returns the reason, or the given error if it has none.
 */
export async function findCommitError(error: unknown): Promise<Error> {
  if (!(error instanceof Error)) return new Error(String(error));
  if (!('commitError' in error) || !(error.commitError instanceof Promise)) return error;
  const reason = error.commitError.then(
    () => error,
    (cause: unknown) => (cause instanceof Error ? cause : error),
  );
  return settledWithin(reason, COMMIT_ERROR_MS_MAX, () => error);
}

type CopyOutcome = 'copied' | 'no-store' | 'not-empty' | { readonly damage: string };

/**
 * Makes a consistent copy of an embedded store, which other processes may have open. When it rejects, there is no usable store in `to`.
 * @param to a directory that is empty or does not exist; it is created for its owner alone.
 */
export async function copyEmbedded(from: string, to: string): Promise<CopyOutcome> {
  if (!hasEmbeddedStore(from)) return 'no-store';
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
