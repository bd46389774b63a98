// A real Redis Sentinel for one test, which fails one Redis over to its replica as soon as the Redis is gone.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { Test } from 'tap';
import type { ListenAddress } from '../../src/config/values.js';
import { findFreePort } from './free-port.js';
import { killWithProcess } from './leftovers.js';
import type { RedisServer } from './redis.js';
import { createScratchDirectory } from './scratch-directory.js';
import { until } from './until.js';

export interface Sentinel extends ListenAddress {
  /** A field of the reply to `SENTINEL MASTER` about the Redis. */
  read(field: string): Promise<string | undefined>;
}

/** Resolves when the sentinel knows the Redis and one replica of it. */
export async function startSentinel(t: Pick<Test, 'teardown'>, name: string, redis: RedisServer): Promise<Sentinel> {
  const address = { host: '127.0.0.1', port: await findFreePort() };
  const path = join(createScratchDirectory(t), 'sentinel.conf');
  const lines = [
    ...[`port ${address.port}`, `bind ${address.host}`],
    `sentinel monitor ${name} ${redis.host} ${redis.port} 1`,
    `sentinel down-after-milliseconds ${name} 500`,
    `sentinel failover-timeout ${name} 3000`,
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);
  const child = spawn('redis-server', [path, '--sentinel'], { stdio: 'ignore' });
  killWithProcess(child);
  const connection = new Redis({ ...address, retryStrategy: () => 50, maxRetriesPerRequest: null });
  connection.on('error', () => {});
  t.teardown(() => {
    connection.disconnect();
    child.kill('SIGKILL');
  });
  const read = async (field: string): Promise<string | undefined> => {
    const words = (await connection.call('SENTINEL', 'MASTER', name)) as readonly string[];
    return words[words.indexOf(field) + 1];
  };
  await until(async () => (await read('num-slaves')) === '1', 'the sentinel to know the replica');
  return { ...address, read };
}
