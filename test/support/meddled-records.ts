// A record store in whose place another process acts between the steps of the one that is tested.
import type { RecordStore } from '../../src/store/record-store.js';

/** @param instead is called in place of the store's own methods, which it may call. */
export function meddledRecords(
  records: RecordStore,
  instead: Partial<Pick<RecordStore, 'read' | 'swap'>>,
): RecordStore {
  return {
    kind: records.kind,
    location: records.location,
    read: instead.read ?? ((place) => records.read(place)),
    swap: instead.swap ?? ((changes) => records.swap(changes)),
    readMany: (keys) => records.readMany(keys),
    subjects: () => records.subjects(),
    listKeys: (prefix, after, countMax) => records.listKeys(prefix, after, countMax),
    readChanges: (position) => records.readChanges(position),
    ping: () => records.ping(),
    close: () => records.close(),
  };
}
