// The entry of the probe thread: one prober, driven by messages.
import { parentPort, workerData } from 'node:worker_threads';
import type { FromProbeThread, ProbeThreadOptions, ToProbeThread } from './probe-thread.js';
import { Prober, type Probe } from './prober.js';
import { ProberClosedError } from './probe-fault.js';

type ProbeMessage = Extract<ToProbeThread, { readonly kind: 'probe' }>;

const port = parentPort;
if (port === null) throw new Error('to be started as a thread');
const prober = new Prober(workerData as ProbeThreadOptions);

port.on('message', (message: ToProbeThread) => {
  if (message.kind === 'probe') {
    void answer(message);
  } else {
    prober.close();
    // Probes under way are still answered; then nothing keeps the thread alive.
    port.unref();
  }
});

async function answer({ id, url, authHeaders, transport }: ProbeMessage): Promise<void> {
  let probe: Probe | 'closed';
  try {
    probe = await prober.probe(url, authHeaders, transport);
  } catch (error) {
    if (!(error instanceof ProberClosedError)) throw error;
    probe = 'closed';
  }
  port?.postMessage({ id, probe } satisfies FromProbeThread);
}
