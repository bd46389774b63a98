import t from 'tap';
import { MeasuredWindow } from '../../bench/measured-window.js';

t.test('requests due before or after the window do not count, whenever they are reported', async (t) => {
  const window = new MeasuredWindow({ targetPids: [process.pid], backendPids: [] });
  window.record(1);
  window.open();
  const insideMs = performance.now();
  window.record(2, insideMs - 1_000);
  window.record(3);
  window.close();
  window.record(5, insideMs);
  window.record(7, performance.now() + 1);
  const { requests, latency, targetResidentBytes } = window.figures();
  t.equal(requests, 2);
  t.ok(latency.p99Us >= 4_900 && latency.p99Us <= 5_100, `${latency.p99Us} µs`);
  t.ok(targetResidentBytes > 0);
});

t.test('a window without answers has no figures', async (t) => {
  const window = new MeasuredWindow({ targetPids: [], backendPids: [] });
  t.throws(() => window.figures(), /not opened and closed/);
  window.open();
  window.close();
  t.throws(() => window.figures(), /no answer came/);
});
