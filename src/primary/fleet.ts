// All slots together: started, watched, drained as one. What happens to a single worker is slot.ts. Cold.
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendToWorker } from '../ipc/channel.js';
import type { FromWorker } from '../ipc/messages.js';
import type { Logger } from '../shared/logger.js';
import { ForgetRounds } from './forget-rounds.js';
import type { SlotState } from './slot-state.js';
import { Slot, type WorkerPlan } from './slot.js';

export class Fleet {
  /** Resolves when every slot listens at once for the first time. */
  readonly allListening: Promise<void>;
  /** Resolves with the reason when the first slot is given up: no worker starts in it. */
  readonly failure: Promise<string>;

  readonly #slots: readonly Slot[];
  readonly #forgetRounds: ForgetRounds<ChildProcess>;
  readonly #logger: Logger;
  /** Called after each change of a slot's state. At most three: the ones of `allListening` and `drain`. */
  readonly #onStateChange = new Set<() => void>();

  constructor(plan: WorkerPlan, logger: Logger) {
    this.#logger = logger;
    this.#forgetRounds = new ForgetRounds(sendToWorker, plan.bounds.forgetRoundMsMax, logger);
    let fail: (reason: string) => void;
    this.failure = new Promise((resolve) => (fail = resolve));
    const observer = {
      onState: () => this.#onStateChange.forEach((check) => check()),
      onMessage: (worker: ChildProcess, message: FromWorker) => this.#onMessage(worker, message),
      onExit: (worker: ChildProcess) => this.#forgetRounds.gone(worker),
      onGivenUp: (reason: string) => fail(reason),
    };
    this.#slots = Array.from({ length: plan.start.slotCount }, (_, n) => new Slot(n, plan, observer, logger));
    this.allListening = this.#untilAllAre('listening');
  }

  start(): void {
    for (const slot of this.#slots) slot.start();
  }

  /**
   * Drains every worker, for `timeoutMs` at most, then stops them all: a drained worker still serves the others' hops.
   * Resolves when no process is left.
   */
  async drain(timeoutMs: number): Promise<void> {
    for (const slot of this.#slots) slot.drain();
    const timer = new AbortController();
    const timeIsUp = sleep(timeoutMs, undefined, { signal: timer.signal }).then(
      () => this.#logUndrained(),
      () => {},
    );
    await Promise.race([this.#untilAllAre('drained', 'stopping', 'stopped'), timeIsUp]);
    timer.abort();
    for (const slot of this.#slots) slot.stop();
    await this.#untilAllAre('stopped');
  }

  /** Ends every worker at once, for good. A drain under way ends with it. */
  kill(): void {
    for (const slot of this.#slots) slot.kill();
  }

  #onMessage(worker: ChildProcess, message: FromWorker): void {
    if (message.kind === 'written') {
      const workers = this.#slots.flatMap((slot) => slot.servingWorker ?? []);
      this.#forgetRounds.begin(worker, message.ticket, message.subject, workers);
    } else if (message.kind === 'forgotten') {
      this.#forgetRounds.forgotten(worker, message.ticket);
    }
  }

  #untilAllAre(...states: readonly SlotState[]): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!this.#slots.every((slot) => states.includes(slot.state))) return;
        this.#onStateChange.delete(check);
        resolve();
      };
      this.#onStateChange.add(check);
      check();
    });
  }

  #logUndrained(): void {
    const workers = this.#slots.filter((slot) => slot.state === 'draining').length;
    this.#logger.warn({ workers }, 'the drain timeout is over: what is in flight is cut off');
  }
}
