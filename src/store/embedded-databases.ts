// How the embedded store's folder is opened, and the name spaces in it: each is a database of its own, so that no
// subject can reach a key of the gateway's.
import { open, type Database, type RootDatabase } from 'lmdb';
import { limits } from '../shared/limits.js';
import { makeDirectory } from '../shared/make-directory.js';

/**
 * Without `noSubdir: false` a path with a dot in its last part would be taken for a file. What one turn of the event loop
 * writes would be committed together, too, by a promise that only lmdb has: when the disk is full it is rejected, and nobody
 * could hear it. And where commits are visible before they are flushed, a process that opens the folder meanwhile has been
 * seen, once in some thirty tries, to make the writer find pages that are none of its own.
 */
const OPENING = {
  ...{ noSubdir: false, eventTurnBatching: false, overlappingSync: false },
  maxReaders: limits.storeReadersMax,
};

/** Opens the folder, and makes it, for its owner alone, when it is not there. Throws when it cannot be used. */
export function openRoot(path: string): RootDatabase {
  makeDirectory(path);
  return open({ path, ...OPENING });
}

/** It comes within a turn or two of the event loop; should it not come, what failed says so without it. */
const REASON_MS_MAX = 100;

type DatabaseName = 'user-configs' | 'records' | 'publications' | 'changes';

export function openDatabase(root: RootDatabase, name: DatabaseName): Database<Buffer, Buffer> {
  return root.openDB({ name, encoding: 'binary', keyEncoding: 'binary' });
}

/**
 * Why lmdb could not commit what it was given, as a full disk: it says so in a promise of its own, a moment later, which somebody must hear.
 * Never rejects; any other error is its own reason.
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
