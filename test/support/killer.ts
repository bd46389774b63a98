// Kills the workers of a gateway, or has them hang, one after the other, each when the one before has its successor; or the whole
// gateway by its primary, and starts the next.
import { childPids } from './child-pids.js';
import type { Gateway } from './gateway.js';
import type { Death } from './sessions-under-load.js';
import { until } from './until.js';

/** Of a gateway that logs what it does at the level `debug`. */
export class Killer {
  readonly #gateway: Gateway;
  readonly #signal: 'SIGKILL' | 'SIGSTOP';

  /** @param signal one that hangs is killed by the gateway, after `--worker-hang-timeout`. */
  constructor(gateway: Gateway, signal: 'SIGKILL' | 'SIGSTOP' = 'SIGKILL') {
    this.#gateway = gateway;
    this.#signal = signal;
  }

  /** Resolved when the slot's next worker listens. */
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

/** Of a gateway whose place another one can take, and that logs at the level `debug`. */
export class PrimaryKiller {
  readonly #startAgain: () => Promise<Gateway>;
  #gateway: Gateway;

  /** @param startAgain resolved when it listens at the same address. */
  constructor(gateway: Gateway, startAgain: () => Promise<Gateway>) {
    this.#gateway = gateway;
    this.#startAgain = startAgain;
  }

  /** No worker is killed: they notice by themselves. Resolved when the next gateway listens. */
  async killPrimary(): Promise<Death> {
    let isGone = false;
    // The workers write where the primary does: the end of that is the end of the last of them.
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
