// The Redis that some gateways of a bench share. It keeps nothing on disk, and runs on the load's core: its time is in no figure.
import type { RedisStoreOptions } from '../src/store/redis-connection.js';
import type { ChildProcesses } from './child-processes.js';
import { freePort, waitUntilListening } from './loopback.js';

const HOST = '127.0.0.1';

export class BenchRedis {
  readonly port: number;

  private constructor(port: number) {
    this.port = port;
  }

  static async start(children: ChildProcesses): Promise<BenchRedis> {
    const port = await freePort();
    await children.start({
      name: 'redis',
      core: 'load',
      command: 'redis-server',
      words: ['--bind', HOST, '--port', String(port), '--save', '', '--appendonly', 'no'],
    });
    await waitUntilListening('redis', port);
    return new BenchRedis(port);
  }

  get storeOptions(): RedisStoreOptions {
    return redisAt(this.port);
  }

  get gatewayWords(): readonly string[] {
    return ['--redis-address', HOST, '--redis-port', String(this.port), '--redis-mode', 'plain-text'];
  }
}

export function redisAt(port: number): RedisStoreOptions {
  return {
    kind: 'redis',
    location: { host: HOST, port },
    tls: { mode: 'plain-text' },
    username: undefined,
    password: undefined,
    staleGraceMs: 0,
  };
}
