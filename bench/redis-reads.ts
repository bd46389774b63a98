// What reading a session's record costs by itself, in a separate process: the gateway's own Redis client, records as long as those of
// the bench's sessions, and no gateway around it.
import { createLogger } from '../src/shared/logger.js';
import { RedisSessions } from '../src/store/redis-sessions.js';
import type { LoadReply, ReadsPlan } from './load-plan.js';
import { MeasuredWindow } from './measured-window.js';
import { redisAt } from './redis.js';

const RECORDS = 256;
/** The size of a record of a session with two backends. */
const RECORD_BYTES = 700;
const LIFE_MS = 600_000;

async function run({ redisPort, atOnce, warmUpMs, measureMs }: ReadsPlan): Promise<LoadReply> {
  const sessions = await RedisSessions.open(redisAt(redisPort), createLogger('warn', { role: 'bench' }));
  try {
    const keys = Array.from({ length: RECORDS }, (_, n) => Buffer.alloc(32, n));
    for (const key of keys) {
      const { version = 0 } = versionOf(await sessions.read(key));
      await sessions.write(key, { version: version + 1, bytes: Buffer.alloc(RECORD_BYTES, 1) }, LIFE_MS);
    }
    await readFor(sessions, keys, atOnce, warmUpMs, () => {});
    // This process is its own target.
    const window = new MeasuredWindow({ targetPids: [process.pid], backendPids: [] });
    window.open();
    await readFor(sessions, keys, atOnce, measureMs, (ms) => window.record(ms));
    window.close();
    const faults = { errors: 0, non2xx: 0, lost: 0, wrongBodies: 0, sample: undefined };
    return { kind: 'measured', measurement: { ...window.figures(), loadCpuUs: 0, faults } };
  } finally {
    await sessions.close();
  }
}

async function readFor(
  sessions: RedisSessions,
  keys: readonly Buffer[],
  atOnce: number,
  lengthMs: number,
  onRead: (ms: number) => void,
): Promise<void> {
  const endMs = performance.now() + lengthMs;
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let startedMs = performance.now(); startedMs < endMs;) {
      const key = keys[next++ % keys.length];
      if (key === undefined || typeof (await sessions.read(key)) !== 'object') throw new Error('a record is not there');
      const doneMs = performance.now();
      onRead(doneMs - startedMs);
      startedMs = doneMs;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

function versionOf(read: Awaited<ReturnType<RedisSessions['read']>>): { readonly version?: number } {
  return typeof read === 'object' ? read : {};
}

function reply(message: LoadReply): void {
  process.send?.(message);
}

process.on('message', (plan: ReadsPlan) => {
  run(plan).then(reply, (error: unknown) =>
    reply({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) }),
  );
});
process.on('disconnect', () => process.exit());
reply({ kind: 'ready' });
