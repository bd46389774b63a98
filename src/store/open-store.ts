// Opens the store that the options name: for records of sessions, for commands and the control plane, or for the dataplane. The embedded
// store or Redis is loaded only where it is used, because their clients take much of a worker's start-up time.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { StoreOptions, DataplaneOptions } from '../config/index.js';
import { createLogger, type Logger } from '../shared/index.js';
import type { StoreCounts, Store, StoreObstacleListener } from './store.js';
import { checkEmbedded, damageInWords, findObviousDamage, hasEmbeddedStore } from './check-embedded.js';
import { RecordStoreFault, type RecordStore } from './record-store.js';
import type { SealedSessions } from './sealed-sessions.js';

const SESSIONS_FOLDER = 'sessions';

/**
 * Opens the store for records of sessions.
 * @param runDirectory a directory that belongs to this gateway, and is deleted when the gateway ends.
 * @param slot the worker's slot, which has a folder of its own if records are deleted with the gateway.
 * @returns `undefined` when the options turn records off, or when the folder cannot be used, which is logged.
 */
export async function openSealedSessions(
  { sessionDirectory, store }: Pick<DataplaneOptions, 'sessionDirectory' | 'store'>,
  runDirectory: string,
  slot: number,
  logger: Logger,
): Promise<SealedSessions | undefined> {
  if (sessionDirectory === 'none') return undefined;
  if (sessionDirectory === 'process')
    return openEmbedded(join(runDirectory, SESSIONS_FOLDER, String(slot)), false, logger);
  if (store.kind === 'embedded') return openEmbedded(join(store.path, SESSIONS_FOLDER), true, logger);
  return (await import('./redis-sessions.js')).RedisSessions.open(store, logger);
}

async function openEmbedded(path: string, isFlushed: boolean, logger: Logger): Promise<SealedSessions | undefined> {
  const { EmbeddedSessions } = await import('./embedded-sessions.js');
  try {
    const damage = findObviousDamage(path);
    if (damage !== undefined) {
      // A damaged folder is removed, because reading it would kill this worker, and every worker that replaces it.
      logger.error({ path, damage }, 'the stored sessions are damaged: they are removed, and lost');
      rmSync(path, { recursive: true, force: true });
    }
    return new EmbeddedSessions(path, isFlushed);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    logger.error({ path, reason }, 'sessions cannot be stored: they end with their worker');
    return undefined;
  }
}

/**
 * Opens the record store. Rejects when an embedded store cannot be used. Waits for the first attempt to connect to Redis; if that fails,
 * resolves with a store whose methods reject until a later attempt succeeds.
 */
export async function openRecordStore(options: StoreOptions, logger: Logger): Promise<RecordStore> {
  if (options.kind === 'redis') return (await import('./redis-records.js')).RedisRecords.open(options, logger);
  await checkEmbedded(options.path);
  return new (await import('./embedded-store.js')).EmbeddedRecords(options.path);
}

/**
 * Opens the record store for a command, which reports faults itself: faults of Redis are not logged. An embedded store is checked only
 * for obvious damage.
 * @returns `undefined` when there is no store and `mayCreate` is false. Rejects with a `RecordStoreFault`.
 */
export async function openForCommand(options: StoreOptions, mayCreate: boolean): Promise<RecordStore | undefined> {
  if (options.kind === 'redis')
    return (await import('./redis-records.js')).RedisRecords.open(options, createLogger('silent', {}));
  const { path } = options;
  if (!mayCreate && !hasEmbeddedStore(path)) return undefined;
  const { EmbeddedRecords } = await import('./embedded-store.js');
  try {
    const damage = findObviousDamage(path);
    if (damage !== undefined) throw new RecordStoreFault(damageInWords(path, damage));
    return new EmbeddedRecords(path);
  } catch (error) {
    if (error instanceof RecordStoreFault) throw error;
    throw new RecordStoreFault(openingFault(path, error), { cause: error });
  }
}

/** The text for an operator when `openForCommand` has found no store. */
export function noStoreInWords(options: StoreOptions): string {
  const location = options.kind === 'embedded' ? ` in ${options.path}` : '';
  const advice = 'give another --store-path, or a Redis with --redis-address, --redis-sentinels or --redis-cluster';
  return `there is no embedded store${location}; ${advice}`;
}

/**
 * Opens the store. Rejects when an embedded store cannot be used. Waits for the first attempt to connect to Redis; if that fails, resolves
 * with a store whose reads fail until a later attempt succeeds.
 */
export async function openStore(
  options: StoreOptions,
  logger: Logger,
  onObstacle?: StoreObstacleListener,
  counts?: StoreCounts,
): Promise<Store> {
  if (options.kind === 'redis')
    return (await import('./redis-store.js')).RedisStore.open(options, logger, onObstacle, counts);
  const { EmbeddedStore } = await import('./embedded-store.js');
  try {
    return new EmbeddedStore(options.path, counts);
  } catch (error) {
    throw new Error(`${openingFault(options.path, error)}: readers write there, too`, { cause: error });
  }
}

/** Says that a store cannot be opened, with its path, which LMDB's own message lacks. */
function openingFault(path: string, error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return `the embedded store in ${path} cannot be opened: ${reason}; give --store-path a directory that this user may write`;
}
