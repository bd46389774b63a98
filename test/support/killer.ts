// Kills or hangs the workers of a gateway one after the other, each when the previous one has its successor; or kills the
// gateway's primary and starts the next gateway.
import { childPids } from './child-pids.js';
import type { Gateway } from './gateway.js';
import type { Death } from './sessions-under-load.js';
import { until } from './until.js';

/** The gateway must log at the level `debug`. */
export class Killer {
  readonly #gateway: Gateway;
  readonly #signal: 'SIGKILL' | 'SIGSTOP';

  /** @param signal with `SIGSTOP` the worker hangs, and the gateway kills it after `--worker-hang-timeout`. */
  constructor(gateway: Gateway, signal: 'SIGKILL' | 'SIGSTOP' = 'SIGKILL') {
    this.#gateway = gateway;
    this.#signal = signal;
  }

  /** Resolves when the slot's next worker listens. */
  async killWorkerOf(slot: number): Promise<Death> {
    const isOfSlot = (line: { readonly [member: string]: unknown }): boolean =>
      line['msg'] === 'worker listening' && line['slot'] === slot;
    const listened = this.#gateway.logs.filter(isOfSlot);
    const pid = listened.at(-1)?.['workerPid'] as number;
    const signalledAtMs = performance.now();
    process.kill(pid, this.#signal);
    await until(() => !childPids(this.#gateway.pid).includes(pid), 'the worker to be gone');
    const death = { signalledAtMs, goneAtMs: performance.now() };
    await until(() => this.#gateway.logs.filter(isOfSlot).length > listened.length, 'the worker in its place');
    return death;
  }
}

/** The gateway must log at the level `debug`, and another one must be able to take its place. */
export class PrimaryKiller {
  readonly #startAgain: () => Promise<Gateway>;
  #gateway: Gateway;

  /** @param startAgain resolves when the next gateway listens at the same address. */
  constructor(gateway: Gateway, startAgain: () => Promise<Gateway>) {
    this.#gateway = gateway;
    this.#startAgain = startAgain;
  }

  /** Kills no worker: the workers notice by themselves. Resolves when the next gateway listens. */
  async killPrimary(): Promise<Death> {
    let isGone = false;
    // The workers write to the primary's output, so its end is the end of the last worker.
    void this.#gateway.exit.then(() => (isGone = true));
    const signalledAtMs = performance.now();
    this.#gateway.signal('SIGKILL');
    await until(() => isGone, 'the workers to be gone with their primary');
    const goneAtMs = performance.now();
    this.#gateway = await this.#startAgain();
    const first = await this.#gateway.waitForLog(({ msg }) => msg === 'worker listening');
    const servedAgainAtMs = Date.parse(String(first['time'])) - performance.timeOrigin;
    return { signalledAtMs, goneAtMs, servedAgainAtMs };
  }
}
