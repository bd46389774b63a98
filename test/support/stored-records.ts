// The contents of a record store, for tests that check them directly.
import { type RecordStore, type StoredRecord, walkRecords } from '../../src/store/record-store.js';

/** All records with the prefix. */
export async function recordsUnder(records: RecordStore, prefix: string): Promise<StoredRecord[]> {
  const found: StoredRecord[] = [];
  for await (const part of walkRecords(records, prefix)) found.push(...part);
  return found;
}
