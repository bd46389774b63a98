// Opens the embedded store's folder and the name spaces in it. Each name space is a separate database, so that no subject can reach one of
// the gateway's own keys.
import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { open, type Database, type RootDatabase } from 'lmdb';
import { limits, makeDirectory } from '../shared/index.js';
import { findObviousDamage, hasEmbeddedStore } from './check-embedded.js';

/**
 * Without `noSubdir: false`, a path with a dot in its last part would be taken for a file. With `eventTurnBatching`, lmdb commits the
 * writes of one turn of the event loop together through an internal promise, which is rejected when the disk is full, and which no caller
 * could handle. With `overlappingSync`, commits are visible before they are flushed, and when another process opened the folder meanwhile,
 * the writer found foreign pages in its file (about once in thirty tries).
 */
const OPEN_OPTIONS = {
  ...{ noSubdir: false, eventTurnBatching: false, overlappingSync: false },
  maxReaders: limits.storeReadersMax,
};

/**
 * Opens the folder, creating it for its owner alone when it does not exist. Throws when it cannot be used.
 * @param isFlushed whether commits are to survive the end of the machine; they survive that of the process in any case.
 */
export function openRoot(path: string, isFlushed = true): RootDatabase {
  makeDirectory(path);
  return open({ path, ...OPEN_OPTIONS, noSync: !isFlushed });
}

/** Closes the store, or gives up after a while: after a full disk LMDB waits for ever for a failed write. All commits are on disk then. */
export async function closeRoot(root: RootDatabase): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, limits.peerAnswerMsMax)));
  await Promise.race([root.close(), timeout]);
  clearTimeout(timer);
}

/** Time to wait for lmdb's reason, which arrives within a turn or two of the event loop. After that, the original error is reported. */
const REASON_MS_MAX = 100;

type DatabaseName = 'user-configs' | 'records' | 'publications' | 'changes';

export function openDatabase(root: RootDatabase, name: DatabaseName): Database<Buffer, Buffer> {
  return root.openDB({ name, encoding: 'binary', keyEncoding: 'binary' });
}

/**
 * The reason for which lmdb could not commit, for example a full disk: the error has it as a promise, whose rejection must be handled.
 * Never rejects; an error without such a promise is returned unchanged.
 */
export async function commitReason(error: unknown): Promise<Error> {
  if (!(error instanceof Error)) return new Error(String(error));
  if (!('commitError' in error) || !(error.commitError instanceof Promise)) return error;
  const reason = error.commitError.then(
    () => error,
    (cause: unknown) => (cause instanceof Error ? cause : error),
  );
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<Error>((resolve) => (timer = setTimeout(resolve, REASON_MS_MAX, error)));
  const known = await Promise.race([reason, timeout]);
  clearTimeout(timer);
  return known;
}

type CopyOutcome = 'copied' | 'no-store' | 'not-empty' | { readonly damage: string };

/**
 * Makes a consistent copy of an embedded store, which other processes may have open. Rejects when the copy cannot be written; what is there
 * then is not a usable store.
 * @param to a directory that is empty or does not exist; it is created for its owner alone, as the store is.
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
