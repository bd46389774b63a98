// All records with a prefix, some at a time: between two reads everybody else has their turn at the store. What is made
// or removed meanwhile may be among them or not.
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
