// The yardstick for lists, in a separate process: a bare script that parses and rewrites the lists of all backends, from
// bytes to bytes, without a gateway around it.
import type { LoadReply, RunTimes } from './load-plan.js';
import { MeasuredWindow } from './measured-window.js';
import { listAnswer, toolTexts } from './tool-list.js';
import { virtualHosts } from './virtual-hosts.js';

const { backends, toolsPerBackend } = virtualHosts.lists;
const lists = backends.map((_, id) => Buffer.from(listAnswer(String(id), toolTexts(toolsPerBackend))));

function run({ warmUpMs, measureMs }: RunTimes): LoadReply {
  repeatFor(warmUpMs, () => {});
  // This process is its own target.
  const window = new MeasuredWindow({ targetPids: [process.pid], backendPids: [] });
  window.open();
  repeatFor(measureMs, (ms) => window.record(ms));
  window.close();
  const faults = { errors: 0, non2xx: 0, lost: 0, wrongBodies: 0, sample: undefined };
  return { kind: 'measured', measurement: { ...window.figures(), loadCpuUs: 0, faults } };
}

function repeatFor(lengthMs: number, onRepeated: (ms: number) => void): void {
  const endMs = performance.now() + lengthMs;
  for (let startedMs = performance.now(); startedMs < endMs;) {
    for (const list of lists) {
      const copy = Buffer.from(JSON.stringify(JSON.parse(list.toString())));
      if (copy.length !== list.length) throw new Error('a list was not written as it was read');
    }
    const doneMs = performance.now();
    onRepeated(doneMs - startedMs);
    startedMs = doneMs;
  }
}

process.on('message', (plan: RunTimes) => process.send?.(run(plan)));
process.on('disconnect', () => process.exit());
process.send?.({ kind: 'ready' } satisfies LoadReply);
