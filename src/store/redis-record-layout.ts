// Where the records are in Redis. Each is a key of its own. All of them, the sorted sets that list their keys, and the
// log of changes carry one hash tag, so that a cluster keeps them in one slot; what is known of a user config is kept in
// the slot of that config, so that both can change together however many subjects there are. Every key begins with a
// byte that no subject's key has.
import { encodeRecordKey } from './record-key.js';
import type { RecordKey } from './record-store.js';
import { slotTag } from './redis-slot.js';

const OURS = Buffer.from([0xff]);

function ours(text: string, rest: Buffer | string = ''): Buffer {
  return Buffer.concat([OURS, Buffer.from(text), Buffer.from(rest)]);
}

/** The last position in the log of changes: a number. */
export const POSITION_KEY = ours('{switchyard}position');
/** Made with the first position: positions of another epoch say nothing. */
export const EPOCH_KEY = ours('{switchyard}epoch');
/** A stream: its ids are the positions, its `k` the keys of changed records. */
export const LOG_KEY = ours('{switchyard}changes');
/** There once everything of the earlier layout has been moved. */
export const MOVED_KEY = ours('{switchyard}moved');
/** The earlier layout: one hash, its fields the records. */
export const EARLIER_RECORDS_KEY = ours('switchyard:records');

const RECORD_PREFIX = ours('{switchyard}record/');

/** The key of the record that is kept under this key of Redis; `undefined` when that is no record's. */
export function recordKeyAt(bytes: Buffer): string | undefined {
  const isRecord = bytes.subarray(0, RECORD_PREFIX.length).equals(RECORD_PREFIX);
  return isRecord ? bytes.toString('utf8', RECORD_PREFIX.length) : undefined;
}

export function redisKey(key: RecordKey): Buffer {
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

/** The sorted set of the keys of all records with the same beginning, up to the first slash. */
export function listKeyOf(recordKey: string): Buffer {
  return ours('{switchyard}keys/', familyOf(recordKey));
}

export function familyOf(recordKey: string): string {
  const slash = recordKey.indexOf('/');
  return slash === -1 ? '' : recordKey.slice(0, slash + 1);
}
