import { totalmem } from 'node:os';
import t from 'tap';
import {
  defaultWorkerMemoryBytes,
  machineMemoryBytes,
  WORKER_MEMORY_BYTES_MIN,
} from '../../src/config/machine-memory.js';

const GIB = 1024 ** 3;

t.test('the available memory is no more than the machine has', async (t) => {
  t.ok(machineMemoryBytes() > 0);
  t.ok(machineMemoryBytes() <= totalmem());
});

t.test('workers share three quarters of it, and each gets at least its minimum', async (t) => {
  t.equal(defaultWorkerMemoryBytes(1, 8 * GIB), 6 * GIB);
  t.equal(defaultWorkerMemoryBytes(4, 8 * GIB), 1.5 * GIB);
  t.equal(defaultWorkerMemoryBytes(64, 8 * GIB), WORKER_MEMORY_BYTES_MIN);
});
