// Iterates over all records with a prefix in batches, so that others get their turn at the store between two reads. Records made or removed
// meanwhile may or may not be included.
import { limits } from '../shared/limits.js';
import type { RecordStore, StoredRecord } from './record-store.js';

export async function* walkRecords(
  records: Pick<RecordStore, 'listKeys' | 'readMany'>,
  prefix: string,
): AsyncGenerator<StoredRecord[]> {
  for (let after = ''; ;) {
    const keys = await records.listKeys(prefix, after, limits.recordsAtOnceMax);
    const values = await records.readMany(keys);
    const found = keys.map((key, index) => ({ key, value: values[index] }));
    yield found.filter((record): record is StoredRecord => record.value !== undefined);
    if (keys.length < limits.recordsAtOnceMax) return;
    after = keys.at(-1)!;
  }
}
