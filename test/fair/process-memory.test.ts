import t from 'tap';
import { ProcessGauges } from '../../src/fair/overload-watch.js';
import { heapMemory, residentBytes } from '../../src/fair/process-memory.js';

t.test('without a free file descriptor, the last known figure stands, and nothing throws', async (t) => {
  const known = residentBytes();
  t.ok(known > 0);
  const noDescriptor = (): never => {
    throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
  };
  t.intercept(process, 'memoryUsage', { value: Object.assign(noDescriptor, { rss: noDescriptor }) });
  t.equal(residentBytes(), known);
  t.equal(new ProcessGauges().residentBytes(), known);
  t.ok(new ProcessGauges('managed').residentBytes() <= known);
});

t.test('the heap is told as Node.js tells it', async (t) => {
  const told = heapMemory();
  const { heapTotal, external } = process.memoryUsage();
  for (const [name, value] of Object.entries({ heapTotal, external }))
    t.ok(Math.abs(told[name as keyof typeof told] - value) < 0.2 * value + 1024 * 1024, name);
  t.ok(told.heapUsed > 0 && told.heapUsed <= told.heapTotal);
});
