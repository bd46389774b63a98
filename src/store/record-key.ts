// Encodes a record key as the bytes under which it is stored in its name space.
import { encodeStoreKey } from './store-key.js';
import { RecordStoreFault, type RecordKey } from './record-store.js';

/** Throws a `RecordStoreFault` for a subject or record key that cannot be a store key. */
export function encodeRecordKey({ key }: RecordKey): Buffer {
  const bytes = encodeStoreKey(key);
  if (bytes === undefined) throw new RecordStoreFault('the key cannot be encoded as a store key');
  return bytes;
}
