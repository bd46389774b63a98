// A store of user configs on a Redis, and what the tests of it ask and wait for.
import { pino } from 'pino';
import type { Test } from 'tap';
import type { Logger } from '../../src/shared/logger.js';
import { openStore } from '../../src/store/open-store.js';
import type { RedisStoreOptions } from '../../src/store/redis-connection.js';
import { type Store, StoreCounts, type StoreRead } from '../../src/store/store.js';
import { until } from '../support/until.js';

export interface OpenStore {
  readonly store: Store;
  /** The store's log lines, as JSON text. */
  readonly lines: string[];
  readonly counts: StoreCounts;
}

export async function open(t: Test, options: RedisStoreOptions): Promise<OpenStore> {
  const lines: string[] = [];
  const logger: Logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  const counts = new StoreCounts();
  const store = await openStore(options, logger, undefined, counts);
  t.teardown(() => store.close());
  return { store, lines, counts };
}

export function textOf(read: StoreRead): string {
  return read.kind === 'found' ? read.value.toString() : read.kind;
}

/** The text or outcome of a read that returns without a promise; otherwise `undefined`. */
export function readAtOnce(store: Store, subject: string): string | undefined {
  const read = store.read(subject);
  return read instanceof Promise ? undefined : textOf(read);
}

export async function readText(store: Store, subject: string): Promise<string> {
  return textOf(await store.read(subject));
}

export async function untilRead(t: Test, store: Store, subject: string, text: string): Promise<void> {
  await until(async () => (await readText(store, subject)) === text, `${subject} to read ${text}`);
  t.pass(`${subject} reads ${text}`);
}

export async function untilLost(lines: readonly string[]): Promise<void> {
  await until(() => lines.some((line) => line.includes('Redis is lost')), 'Redis to be found lost');
}
