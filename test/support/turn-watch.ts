// Preloaded into the processes of a gateway (`--import`): records the cost of long turns of the main thread's event loop, for
// a test to read. The program itself does not know of it.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { threadCpuMs } from './turn-cost.js';

const TOLD_FROM_MS = 15;
const directory = process.env['TURN_WATCH_DIRECTORY'];

if (isMainThread && directory !== undefined) {
  const path = join(directory, `${process.pid}.turns`);
  // An empty entry, by which a test can tell that the process is watched.
  appendFileSync(path, `${Date.now()} 0\n`);
  let beforeMs = threadCpuMs();
  setInterval(() => {
    const nowMs = threadCpuMs();
    if (nowMs - beforeMs >= TOLD_FROM_MS) appendFileSync(path, `${Date.now()} ${nowMs - beforeMs}\n`);
    beforeMs = nowMs;
  }, 1).unref();
}
