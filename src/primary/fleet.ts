// All slots together: started, watched, replaced one by one, drained as one. What happens to a single worker is slot.ts. Cold.
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataplaneOptions } from '../config/dataplane-options.js';
import { sendToWorker } from '../ipc/channel.js';
import type { FromWorker } from '../ipc/messages.js';
import type { Logger, LogLevel } from '../shared/logger.js';
import { ForgetRounds } from './forget-rounds.js';
import { HangWatch } from './hang-watch.js';
import { FleetFigures, type GatheredFigures } from './fleet-figures.js';
import type { SlotStanding } from './readiness.js';
import type { SlotState } from './slot-state.js';
import { Slot, type FleetBounds, type WorkerPlan } from './slot.js';
import { StartTurns } from './start-turns.js';
import { Views, type WorkerAnswer } from './views.js';
import type { ViewQuestion } from '../ipc/view-question.js';

const ENDING = 'the gateway ends';

export class Fleet {
  /**
   * Resolves with the number of workers that listen, when that is every worker that can: a slot whose starts keep failing
   * is not waited for once another serves.
   */
  readonly ready: Promise<number>;
  /** Resolves with the last reason when no worker starts and none has ever listened. */
  readonly failure: Promise<string>;

  readonly #plan: WorkerPlan;
  readonly #createSlot: (slot: number, plan: WorkerPlan) => Slot;
  /** By number. */
  readonly #slots: Slot[];
  /** What a reload adds: the successor that starts, and predecessors that finish what they have. */
  readonly #others = new Set<Slot>();
  readonly #forgetRounds: ForgetRounds<ChildProcess>;
  readonly #figures: FleetFigures;
  readonly #views = new Views(sendToWorker);
  readonly #hangWatch: HangWatch<ChildProcess>;
  readonly #logger: Logger;
  readonly #bounds: FleetBounds;
  /** Called after each change of a slot's state: those of `ready`, `drain` and `onChange`, and two of each slot that is replaced. */
  readonly #onStateChange = new Set<() => void>();
  #deathCount = 0;
  /** As an operator has set it; workers that start have it by their options otherwise. */
  #logLevel: LogLevel | undefined;
  #isDrainAnnounced = false;
  #isEnding = false;
  /** As the workers were told last. */
  #isReady = false;

  constructor(plan: WorkerPlan, logger: Logger) {
    this.#plan = plan;
    this.#logger = logger;
    this.#bounds = plan.bounds;
    this.#forgetRounds = new ForgetRounds(sendToWorker, plan.bounds.forgetRoundMsMax, logger);
    this.#figures = new FleetFigures(sendToWorker, plan.bounds);
    this.#hangWatch = new HangWatch({
      hangTimeoutMs: plan.start.options.workerHangTimeoutMs,
      atOnceMax: plan.bounds.workerStartsAtOnceMax,
      onHung: (worker, silentMs) => this.#killHung(worker, silentMs),
    });
    let fail: (reason: string) => void;
    this.failure = new Promise((resolve) => (fail = resolve));
    const observer = {
      onState: () => this.#onState(),
      onMessage: (worker: ChildProcess, message: FromWorker) => this.#onMessage(worker, message),
      onDeath: () => {
        this.#deathCount += 1;
      },
      onExit: (worker: ChildProcess) => {
        this.#hangWatch.leave(worker);
        this.#forgetRounds.gone(worker);
        this.#figures.gone(worker);
        this.#views.gone(worker);
      },
    };
    const { slotCount } = plan.start;
    const turnsMax = Math.min(slotCount, plan.bounds.workerStartsAtOnceMax);
    const failuresMax = turnsMax * plan.bounds.workerStartTriesMax;
    const turns = new StartTurns({ turnsMax, failuresMax }, (reason) => fail(reason));
    this.#createSlot = (slot, slotPlan) => new Slot(slot, slotPlan, turns, observer, logger);
    this.#slots = Array.from({ length: slotCount }, (_, slot) => this.#createSlot(slot, plan));
    this.ready = this.#untilReady();
  }

  /** Workers that ended unasked after they had listened. */
  get deathCount(): number {
    return this.#deathCount;
  }

  /** The figures of all workers that listen or drain. */
  async figures(): Promise<GatheredFigures> {
    return this.#figures.gather(() => this.#all().flatMap((slot) => slot.answeringWorker ?? []));
  }

  /** Every slot's worker, those that finish after a reload included; `undefined` when too much is asked at once. */
  async ask(question: ViewQuestion): Promise<readonly WorkerAnswer[] | undefined> {
    return this.#views.ask(
      question,
      this.#all().map((slot) => slot.asked),
    );
  }

  /** Of all workers, those included that begin to listen later. */
  setLogLevel(level: LogLevel): void {
    this.#logLevel = level;
    for (const worker of this.#servingWorkers()) sendToWorker(worker, { kind: 'log-level', level });
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
    this.#isReady = isReady;
    for (const slot of this.#all()) slot.tellReadiness(isReady);
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
   * Replaces every worker, one after the other, by one with these options: it starts, listens and has the slot before its
   * predecessor is told to finish. One that cannot start leaves its predecessor where it is, and is the last one tried.
   * One reload at a time.
   * @returns why not all were replaced.
   */
  async reload(options: DataplaneOptions): Promise<string | undefined> {
    const plan = { ...this.#plan, start: { ...this.#plan.start, options } };
    for (const slot of this.#slots.keys()) {
      const failure = await this.#replace(slot, plan);
      if (failure !== undefined) return `slot ${slot}: ${failure}`;
    }
    return undefined;
  }

  async #replace(number: number, plan: WorkerPlan): Promise<string | undefined> {
    // Of an earlier reload: two generations at once are enough for the memory.
    await this.#until(() => this.#isEnding || [...this.#others].every((other) => other.number !== number));
    if (this.#isEnding) return ENDING;
    const successor = this.#createSlot(number, plan);
    this.#others.add(successor);
    successor.start();
    const isDecided = (): boolean => successor.state === 'listening' || successor.startFailure !== undefined;
    await this.#until(() => this.#isEnding || isDecided());
    if (this.#isEnding) return ENDING;
    if (successor.state !== 'listening') {
      const { startFailure } = successor;
      successor.kill();
      await this.#leaveWhenStopped(successor);
      return startFailure;
    }
    const predecessor = this.#slots[number];
    this.#slots[number] = successor;
    this.#others.delete(successor);
    this.#onState();
    if (predecessor === undefined) return undefined;
    void this.#retire(predecessor, plan.start.options.reloadTimeoutMs);
    // Until then a connection may come to it: what is reloaded shows in all of them after that.
    await this.#until(() => this.#isEnding || predecessor.hasLeft);
    return undefined;
  }

  /** Lets a worker that was replaced finish what it has, and then end without ending its sessions. */
  async #retire(predecessor: Slot, timeoutMs: number): Promise<void> {
    this.#others.add(predecessor);
    const worker = predecessor.servingWorker;
    predecessor.retire();
    const timer = new AbortController();
    const timeIsUp = sleep(timeoutMs, undefined, { signal: timer.signal }).then(
      () => this.#logger.warn({ workerPid: worker?.pid }, 'a replaced worker is killed: --reload-timeout is over'),
      () => {},
    );
    await Promise.race([this.#until(() => predecessor.state !== 'draining'), timeIsUp]);
    timer.abort();
    if (!this.#isEnding) {
      const { workerStopMs } = this.#bounds;
      if (worker !== undefined) this.#hangWatch.leave(worker);
      predecessor.stop(workerStopMs, workerStopMs - exitMsOf(0, workerStopMs, this.#bounds));
    }
    await this.#leaveWhenStopped(predecessor);
  }

  async #leaveWhenStopped(slot: Slot): Promise<void> {
    await this.#until(() => slot.state === 'stopped');
    this.#others.delete(slot);
    this.#onState();
  }

  /**
   * Drains every worker, then stops them all: a drained worker still serves the others' hops. Both together have
   * `timeoutMs`; stopping has what the drain left of it, and never less than it needs to tell backends that are well.
   * Resolves when no process is left.
   */
  async drain(timeoutMs: number): Promise<void> {
    const endMs = performance.now() + timeoutMs;
    this.#isEnding = true;
    this.#onState();
    for (const slot of this.#all()) slot.drain();
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
    for (const slot of this.#all()) slot.stop(stopWithinMs, farewellsMs);
    await this.#untilAllAre('stopped');
  }

  /** Ends every worker at once, for good. A drain under way ends with it. */
  kill(): void {
    this.#isEnding = true;
    for (const slot of this.#all()) slot.kill();
  }

  #onMessage(worker: ChildProcess, message: FromWorker): void {
    switch (message.kind) {
      case 'listening':
        this.#hangWatch.watch(worker);
        // The successor of a worker that is told by its place: nothing changes for the gateway.
        if (this.#isReady) this.tellReadiness(true);
        if (this.#logLevel !== undefined) sendToWorker(worker, { kind: 'log-level', level: this.#logLevel });
        if (this.#isDrainAnnounced) sendToWorker(worker, { kind: 'announce-drain' });
        return;
      case 'heartbeat':
        return this.#hangWatch.heard(worker);
      case 'written': {
        return this.#forgetRounds.begin(worker, message.ticket, message.subject, this.#servingWorkers());
      }
      case 'report':
        return this.#figures.onReport(worker, message.ticket, message.series);
      case 'view':
        return this.#views.onAnswer(worker, message.ticket, message.answer);
      case 'forgotten':
        return this.#forgetRounds.forgotten(worker, message.ticket);
      case 'start-failed':
      case 'left':
      case 'drained':
      case 'store':
      case 'keys': // the slot's own
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

  #all(): readonly Slot[] {
    return [...this.#slots, ...this.#others];
  }

  #servingWorkers(): readonly ChildProcess[] {
    return this.#all().flatMap((slot) => slot.servingWorker ?? []);
  }

  #onState(): void {
    for (const check of this.#onStateChange) check();
  }

  #untilAllAre(...states: readonly SlotState[]): Promise<void> {
    return this.#until(() => this.#all().every((slot) => states.includes(slot.state)));
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
    const workers = this.#all().filter((slot) => slot.state === 'draining').length;
    this.#logger.warn({ workers }, 'the drain timeout is over: requests in flight are aborted');
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
