// What runs in the probe thread, in this one.
import t from 'tap';
import run from '../../../src/control-plane/prober/probe-thread-entry.js';
import { startMcpBackend } from '../../support/mcp-backend.js';
import { until } from '../../support/until.js';

t.test('probes run until the thread is closed, which waits for the last of them', async (t) => {
  t.equal(await run('close'), 'closed', 'also before the first');
  const backend = await startMcpBackend({ tools: ['a'] });
  let isSilent = false;
  const silent = await startMcpBackend({ onRequest: () => ((isSilent = true), true) });
  t.teardown(async () => Promise.all([backend.close(), silent.close()]));
  const options = { timeoutMs: 60_000, mode: 'plain-text-or-tls' } as const;
  const task = { options, authHeaders: [], transport: undefined };
  t.match(await run({ ...task, url: backend.url }), { kind: 'reached', findings: { era: 'legacy' } });
  const order: string[] = [];
  const probe = run({ ...task, url: silent.url }).then((found) => (order.push('probe'), found));
  await until(() => isSilent, 'the probe to wait');
  const closed = run('close').then((found) => (order.push('close'), found));
  t.same([await probe, await closed, order], ['closed', 'closed', ['probe', 'close']]);
  t.equal(await run({ ...task, url: backend.url }), 'closed', 'and no other begins');
});
