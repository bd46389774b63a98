// How the records are laid out in Redis. Each record has its own key. All records, the sorted sets that list their keys, and the log of
// changes share one hash tag, so that a cluster keeps them in one slot; what is known of a user config (its publication) is kept in that
// config's slot, so that both can change together however many subjects there are. Every key begins with a byte that no subject's key
// contains.
import { encodeRecordKey, type RecordKey } from './record-store.js';
import { slotTag } from './redis-place.js';

const OURS = Buffer.from([0xff]);

function ours(text: string, rest: Buffer | string = ''): Buffer {
  return Buffer.concat([OURS, Buffer.from(text), Buffer.from(rest)]);
}

/** The last position in the log of changes: a number. */
export const POSITION_KEY = ours('{switchyard}position');
/** Created with the first position: a position of another epoch is meaningless. */
export const EPOCH_KEY = ours('{switchyard}epoch');
/** A stream: entry ids are positions, the field `k` is the key of the changed record. */
export const LOG_KEY = ours('{switchyard}changes');

const RECORD_PREFIX = ours('{switchyard}record/');

/** The record key stored under a Redis key; `undefined` when the Redis key is not that of a record. */
export function recordKeyAt(bytes: Buffer): string | undefined {
  const isRecord = bytes.subarray(0, RECORD_PREFIX.length).equals(RECORD_PREFIX);
  return isRecord ? bytes.toString('utf8', RECORD_PREFIX.length) : undefined;
}

export function redisRecordKey(key: RecordKey): Buffer {
  const bytes = encodeRecordKey(key);
  switch (key.space) {
    case 'records':
      return Buffer.concat([RECORD_PREFIX, bytes]);
    case 'user-configs':
      return bytes;
    case 'publications':
      return Buffer.concat([OURS, Buffer.from('{'), slotTag(bytes), Buffer.from('}published/'), bytes]);
  }
}

/** The sorted set that lists the keys of all records with the same first part, up to and including the first slash. */
export function listKeyOf(recordKey: string): Buffer {
  return ours('{switchyard}keys/', keyFamilyOf(recordKey));
}

function keyFamilyOf(recordKey: string): string {
  const slash = recordKey.indexOf('/');
  return slash === -1 ? '' : recordKey.slice(0, slash + 1);
}
