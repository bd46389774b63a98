// All slots together: started, watched, drained as one. What happens to a single worker is slot.ts. Cold.
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendToWorker } from '../ipc/channel.js';
import type { FromWorker } from '../ipc/messages.js';
import type { Logger } from '../shared/logger.js';
import { ForgetRounds } from './forget-rounds.js';
import { HangWatch } from './hang-watch.js';
import type { SlotStanding } from './readiness.js';
import type { SlotState } from './slot-state.js';
import { Slot, type FleetBounds, type WorkerPlan } from './slot.js';
import { StartTurns } from './start-turns.js';

export class Fleet {
  /**
   * Resolves with the number of workers that listen, when that is every worker that can: a slot whose starts keep failing
   * is not waited for once another serves.
   */
  readonly ready: Promise<number>;
  /** Resolves with the last reason when no worker starts and none has ever listened. */
  readonly failure: Promise<string>;

  readonly #slots: readonly Slot[];
  readonly #forgetRounds: ForgetRounds<ChildProcess>;
  readonly #hangWatch: HangWatch<ChildProcess>;
  readonly #logger: Logger;
  readonly #bounds: FleetBounds;
  /** Called after each change of a slot's state. At most four: the ones of `ready`, `drain` and `onChange`. */
  readonly #onStateChange = new Set<() => void>();
  #isDrainAnnounced = false;

  constructor(plan: WorkerPlan, logger: Logger) {
    this.#logger = logger;
    this.#bounds = plan.bounds;
    this.#forgetRounds = new ForgetRounds(sendToWorker, plan.bounds.forgetRoundMsMax, logger);
    this.#hangWatch = new HangWatch({
      hangTimeoutMs: plan.start.options.workerHangTimeoutMs,
      atOnceMax: plan.bounds.workerStartsAtOnceMax,
      onHung: (worker, silentMs) => this.#killHung(worker, silentMs),
    });
    let fail: (reason: string) => void;
    this.failure = new Promise((resolve) => (fail = resolve));
    const observer = {
      onState: () => this.#onStateChange.forEach((check) => check()),
      onMessage: (worker: ChildProcess, message: FromWorker) => this.#onMessage(worker, message),
      onExit: (worker: ChildProcess) => {
        this.#hangWatch.leave(worker);
        this.#forgetRounds.gone(worker);
      },
    };
    const { slotCount } = plan.start;
    const turnsMax = Math.min(slotCount, plan.bounds.workerStartsAtOnceMax);
    const failuresMax = turnsMax * plan.bounds.workerStartTriesMax;
    const turns = new StartTurns({ turnsMax, failuresMax }, (reason) => fail(reason));
    this.#slots = Array.from({ length: slotCount }, (_, n) => new Slot(n, plan, turns, observer, logger));
    this.ready = this.#untilReady();
  }

  get standings(): readonly SlotStanding[] {
    return this.#slots.map((slot) => slot.standing);
  }

  /** Calls back after each change of a slot's state, or of what its worker says of the store. */
  onChange(handler: () => void): void {
    this.#onStateChange.add(handler);
  }

  /** Tells every worker that listens, unless it knows. */
  tellReadiness(isReady: boolean): void {
    for (const slot of this.#slots) slot.tellReadiness(isReady);
  }

  start(): void {
    for (const slot of this.#slots) slot.start();
    this.#hangWatch.start();
  }

  /** Every worker's health check says that a drain comes, those included that begin to listen later. */
  announceDrain(): void {
    this.#isDrainAnnounced = true;
    for (const slot of this.#slots)
      if (slot.servingWorker) sendToWorker(slot.servingWorker, { kind: 'announce-drain' });
  }

  /**
   * Drains every worker, then stops them all: a drained worker still serves the others' hops. Both together have
   * `timeoutMs`; stopping has what the drain left of it, and never less than it needs to tell backends that are well.
   * Resolves when no process is left.
   */
  async drain(timeoutMs: number): Promise<void> {
    const endMs = performance.now() + timeoutMs;
    for (const slot of this.#slots) slot.drain();
    const timer = new AbortController();
    const timeIsUp = sleep(timeoutMs, undefined, { signal: timer.signal }).then(
      () => this.#logUndrained(),
      () => {},
    );
    await Promise.race([this.#untilAllAre('drained', 'stopping', 'stopped'), timeIsUp]);
    timer.abort();
    // Whoever stops is killed when its own time is up, and may have very many sessions to end.
    this.#hangWatch.stop();
    const stopWithinMs = Math.max(Math.round(endMs - performance.now()), this.#bounds.workerStopMs);
    const farewellsMs = stopWithinMs - exitMsOf(timeoutMs, stopWithinMs, this.#bounds);
    for (const slot of this.#slots) slot.stop(stopWithinMs, farewellsMs);
    await this.#untilAllAre('stopped');
  }

  /** Ends every worker at once, for good. A drain under way ends with it. */
  kill(): void {
    for (const slot of this.#slots) slot.kill();
  }

  #onMessage(worker: ChildProcess, message: FromWorker): void {
    switch (message.kind) {
      case 'listening':
        this.#hangWatch.watch(worker);
        if (this.#isDrainAnnounced) sendToWorker(worker, { kind: 'announce-drain' });
        return;
      case 'heartbeat':
        return this.#hangWatch.heard(worker);
      case 'written': {
        const workers = this.#slots.flatMap((slot) => slot.servingWorker ?? []);
        return this.#forgetRounds.begin(worker, message.ticket, message.subject, workers);
      }
      case 'forgotten':
        return this.#forgetRounds.forgotten(worker, message.ticket);
      case 'start-failed':
      case 'drained':
      case 'store': // the slot's own
    }
  }

  /** It may hold half of the callers, and nothing in it will ever answer them. */
  #killHung(worker: ChildProcess, silentMs: number): void {
    this.#logger.error({ workerPid: worker.pid, silentMs }, 'worker hangs: killed');
    worker.kill('SIGKILL');
  }

  async #untilReady(): Promise<number> {
    const countListening = (): number => this.#slots.filter(({ state }) => state === 'listening').length;
    await this.#until(
      () => countListening() > 0 && this.#slots.every((slot) => slot.state === 'listening' || slot.isFailing),
    );
    return countListening();
  }

  #untilAllAre(...states: readonly SlotState[]): Promise<void> {
    return this.#until(() => this.#slots.every((slot) => states.includes(slot.state)));
  }

  #until(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!holds()) return;
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

/**
 * What a worker has of its time to stop when telling backends is over: whoever is given long to drain has much to end, and
 * a busy machine needs longer for it. Half of the time at most.
 */
function exitMsOf(drainTimeoutMs: number, stopWithinMs: number, bounds: FleetBounds): number {
  const inProportionMs = Math.round(drainTimeoutMs / bounds.workerExitDivisor);
  return Math.min(Math.max(bounds.workerExitMs, inProportionMs), Math.floor(stopWithinMs / 2));
}
