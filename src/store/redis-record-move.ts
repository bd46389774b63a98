// Moves the records of an earlier version, where every record was a field of one hash, to the current layout. Works in batches, and several
// control planes may do it at once: a record already moved is left alone, no record is used before all are moved, and a process killed
// half-way leaves the hash intact for the next.
import type { Cluster, Redis } from 'ioredis';
import type { Logger } from '../shared/logger.js';
import { limits } from '../shared/limits.js';
import { EARLIER_RECORDS_KEY, listKeyOf, MOVED_KEY, redisRecordKey } from './redis-record-layout.js';
import { MOVE_SCRIPT } from './redis-record-scripts.js';

/** Prefix of the fields for publications to one subject; the rest of the field's name contains a hash of the subject. */
const EARLIER_PUBLICATIONS = 'published/';

export async function moveEarlierRecords(redis: Redis | Cluster, logger: Logger): Promise<void> {
  if ((await redis.exists(EARLIER_RECORDS_KEY)) === 0) return;
  if ((await redis.exists(MOVED_KEY)) === 1) {
    logger.warn('a control plane of an earlier version has written to Redis: stop it, its records are not read');
    return;
  }
  let moved = 0;
  let cursor = '0';
  do {
    const [next, fields] = (await redis.callBuffer(
      'HSCAN',
      EARLIER_RECORDS_KEY,
      cursor,
      'COUNT',
      String(limits.recordsAtOnceMax),
    )) as [Buffer, Buffer[]];
    for (let index = 0; index + 1 < fields.length; index += 2) {
      await moveRecord(redis, fields[index]!.toString(), fields[index + 1]!);
      moved += 1;
    }
    cursor = next.toString();
  } while (cursor !== '0');
  await redis.set(MOVED_KEY, '1');
  await redis.unlink(EARLIER_RECORDS_KEY);
  logger.info({ records: moved }, 'the records of an earlier version were moved');
}

async function moveRecord(redis: Redis | Cluster, field: string, value: Buffer): Promise<void> {
  if (field.startsWith(EARLIER_PUBLICATIONS)) {
    const { subject } = JSON.parse(value.toString()) as { subject: string };
    await redis.setnx(redisRecordKey({ space: 'publications', key: subject }), value);
    return;
  }
  const key = redisRecordKey({ space: 'records', key: field });
  await redis.call('EVAL', MOVE_SCRIPT, 3, MOVED_KEY, key, listKeyOf(field), field, value);
}
