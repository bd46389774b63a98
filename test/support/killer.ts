// Kills the workers of a gateway, or has them hang, one after the other, each when the one before has its successor.
import { childPids } from './child-pids.js';
import type { Gateway } from './gateway.js';
import type { Death } from './sessions-under-load.js';
import { until } from './until.js';

/** Of a gateway that logs what it does at the level `debug`. */
export class Killer {
  readonly deaths: Death[] = [];
  readonly #gateway: Gateway;
  readonly #signal: 'SIGKILL' | 'SIGSTOP';

  /** @param signal one that hangs is killed by the gateway, after `--worker-hang-timeout`. */
  constructor(gateway: Gateway, signal: 'SIGKILL' | 'SIGSTOP' = 'SIGKILL') {
    this.#gateway = gateway;
    this.#signal = signal;
  }

  /** Resolved when the slot's next worker listens. */
  async killWorkerOf(slot: number): Promise<void> {
    const isOfSlot = (line: { readonly [member: string]: unknown }): boolean =>
      line['msg'] === 'worker listening' && line['slot'] === slot;
    const listened = this.#gateway.logs.filter(isOfSlot);
    const pid = listened.at(-1)?.['workerPid'] as number;
    const signalledAtMs = performance.now();
    process.kill(pid, this.#signal);
    await until(() => !childPids(this.#gateway.pid).includes(pid), 'the worker to be gone');
    this.deaths.push({ signalledAtMs, goneAtMs: performance.now() });
    await until(() => this.#gateway.logs.filter(isOfSlot).length > listened.length, 'the worker in its place');
  }
}
