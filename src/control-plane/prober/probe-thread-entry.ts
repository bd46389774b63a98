// Entry of the probe thread; piscina calls it.
import type { ProbeTask } from './probe-thread.js';
import { Prober, type ProbeResult } from './prober.js';
import { ProberClosedError } from './probe-fault.js';

let prober: Prober | undefined;
const runningProbes = new Set<Promise<unknown>>();

/** Runs a probe; `closed` if it was ended early. The task `close` ends all probes, and resolves with `closed` after the last. */
export default async function run(task: ProbeTask | 'close'): Promise<ProbeResult | 'closed'> {
  if (task === 'close') {
    prober?.close();
    await Promise.allSettled(runningProbes);
    return 'closed';
  }
  prober ??= new Prober(task.options);
  const probe = prober.probe(task.url, task.authHeaders, task.transport);
  runningProbes.add(probe);
  try {
    return await probe;
  } catch (error) {
    if (!(error instanceof ProberClosedError)) throw error;
    return 'closed';
  } finally {
    runningProbes.delete(probe);
  }
}
