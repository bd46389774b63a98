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

type DatabaseName = 'user-configs' | 'records' | 'publications' | 'changes';

export function openDatabase(root: RootDatabase, name: DatabaseName): Database<Buffer, Buffer> {
  return root.openDB({ name, encoding: 'binary', keyEncoding: 'binary' });
}

/** What lmdb has written could not be committed: the reason is a promise of its own, which somebody must hear. */
export function hearReason(error: unknown): void {
  if (!(error instanceof Error) || !('commitError' in error)) return;
  if (error.commitError instanceof Promise) error.commitError.catch(() => {});
}
