// A program that reads every entry of the embedded store at the path in its first argument. It is a separate program because a damaged file
// may kill its reader. Changes nothing. If the store is damaged, the program prints the damage, and exits with status 1. Cold path.
import { open, type Database } from 'lmdb';
import { limits } from '../shared/index.js';

const path = process.argv[2];
if (path === undefined) throw new Error('the path of a store is missing');

/** How often a database is checked until no damage is found: another process may write between reading the count and the entries. */
const CHECKS_MAX = 5;

function findDamage(database: Database<Buffer, Buffer>): string | undefined {
  const { entryCount } = database.getStats() as { readonly entryCount: number };
  let count = 0;
  let previous: Buffer | undefined;
  for (const { key, value } of database.getRange()) {
    if (++count > entryCount) break;
    if (previous !== undefined && Buffer.compare(previous, key) >= 0) return 'its keys are out of order';
    if (!Buffer.isBuffer(value)) return 'an entry has no value';
    previous = Buffer.from(key);
  }
  return count === entryCount ? undefined : `it should have ${entryCount} entries, and ${count} were found`;
}

function findDamageInAll(storePath: string): string | undefined {
  const root = open({
    path: storePath,
    noSubdir: false,
    readOnly: true,
    overlappingSync: false,
    maxReaders: limits.storeReadersMax,
  });
  const names = Array.from(root.getKeys(), String);
  // A corrupt root page may read as an empty one.
  const { entryCount } = root.getStats() as { readonly entryCount: number };
  if (names.length < entryCount) return `it should have ${entryCount} databases, and ${names.length} were found`;
  for (const name of names) {
    const database = root.openDB<Buffer, Buffer>({ name, encoding: 'binary', keyEncoding: 'binary' });
    let damage: string | undefined;
    for (let tries = 1; tries <= CHECKS_MAX; tries++) {
      database.resetReadTxn();
      damage = findDamage(database);
      if (damage === undefined) break;
    }
    if (damage !== undefined) return `in ${JSON.stringify(name)} ${damage}`;
  }
  return undefined;
}

let damage: string | undefined;
try {
  damage = findDamageInAll(path);
} catch (error) {
  damage = error instanceof Error ? error.message : String(error);
}
if (damage !== undefined) process.stdout.write(damage);
process.exitCode = damage === undefined ? 0 : 1;
