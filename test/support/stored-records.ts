// The contents of a record store, for tests that check them directly.
import type { RecordStore, StoredRecord } from '../../src/store/record-store.js';
import { walkRecords } from '../../src/store/record-walk.js';

/** All records with the prefix. */
export async function recordsUnder(records: RecordStore, prefix: string): Promise<StoredRecord[]> {
  const found: StoredRecord[] = [];
  for await (const part of walkRecords(records, prefix)) found.push(...part);
  return found;
}
