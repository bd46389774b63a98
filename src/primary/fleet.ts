// All slots of the gateway: starts, watches, reloads and drains them. A single slot's process is the concern of slot.ts. Cold path.
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataplaneOptions } from '../config/index.js';
import { sendToWorker, type FromWorker, type ViewQuestion, heartbeatPeriodMs } from '../process/index.js';
import { subjectHash, type Logger, type LogLevel } from '../shared/index.js';
import { WorkerPolls, FleetFigures, type GatheredFigures } from './worker-polls.js';
import type { SlotReadiness } from './readiness.js';
import { Slot, type FleetBounds, type WorkerPlan, type SlotState } from './slot.js';
import { StartQueue } from './start-queue.js';
import { Views, type WorkerAnswer } from './view-pages.js';

interface HangWatchOptions<Worker> {
  /** Silence after which a worker is considered hung; 0 disables the watch. */
  readonly hangTimeoutMs: number;
  /** How many workers are given up per look, at most. */
  readonly atOnceMax: number;
  /** Called once per hung worker. */
  readonly onHung: (worker: Worker, silentMs: number) => void;
  /** Replaced in tests. */
  readonly nowMs?: () => number;
}

/** If two looks are this many periods apart, the primary itself did not run meanwhile. */
const LATE_FACTOR = 1.5;

/**
 * Finds workers that hang: their event loop has sent no heartbeat for too long, because the process is stopped or caught in a loop.
 * Only silence during which the primary was awake counts: a machine that was suspended, or too busy to run the primary, kept its
 * workers silent too. And no more workers are given up at once than could be started at once.
 */
export class HangWatch<Worker> {
  readonly #options: HangWatchOptions<Worker>;
  readonly #nowMs: () => number;
  readonly #periodMs: number;
  /** How long the primary has been awake so far, in ms. */
  #awakeMs = 0;
  #lookedAtMs: number;
  /** When each worker last sent a heartbeat, in awake time. */
  readonly #heardAtMs = new Map<Worker, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HangWatchOptions<Worker>) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? ((): number => performance.now());
    this.#periodMs = heartbeatPeriodMs(options.hangTimeoutMs);
    this.#lookedAtMs = this.#nowMs();
  }

  start(): void {
    if (this.#options.hangTimeoutMs === 0) return;
    this.#lookedAtMs = this.#nowMs();
    this.#timer = setInterval(() => this.look(), this.#periodMs);
  }

  /** Stops the watch for good. */
  stop(): void {
    clearInterval(this.#timer);
    this.#heardAtMs.clear();
  }

  /** From now on the worker has to send heartbeats. */
  watch(worker: Worker): void {
    this.#heardAtMs.set(worker, this.#awakeMs);
  }

  onHeartbeat(worker: Worker): void {
    if (this.#heardAtMs.has(worker)) this.#heardAtMs.set(worker, this.#awakeMs);
  }

  /** The worker has ended, or is being ended by code that watches it itself. */
  leave(worker: Worker): void {
    this.#heardAtMs.delete(worker);
  }

  /** Called by the timer; public for tests. */
  look(): void {
    const nowMs = this.#nowMs();
    this.#awakeMs += Math.min(nowMs - this.#lookedAtMs, this.#periodMs * LATE_FACTOR);
    this.#lookedAtMs = nowMs;
    let left = this.#options.atOnceMax;
    for (const [worker, heardAtMs] of this.#heardAtMs) {
      const silentMs = this.#awakeMs - heardAtMs;
      if (silentMs < this.#options.hangTimeoutMs) continue;
      if (left-- === 0) return;
      this.#heardAtMs.delete(worker);
      this.#options.onHung(worker, Math.round(silentMs));
    }
  }
}

const ENDING = 'the gateway ends';

/** Time for the workers to drop a changed config. After that, the request that changed it is answered anyway, and the log says so. */
const FORGET_MS_MAX = 2_000;

export class Fleet {
  /**
   * Resolves with the number of listening workers, once every worker that can listen does: a slot whose starts keep failing is not
   * waited for once another worker listens.
   */
  readonly ready: Promise<number>;
  /** Resolves with the reason of the last failed start, when no worker starts and none has ever listened. */
  readonly failure: Promise<string>;

  readonly #plan: WorkerPlan;
  readonly #createSlot: (slot: number, plan: WorkerPlan) => Slot;
  /** Indexed by slot number. */
  readonly #slots: Slot[];
  /** Slots added by a reload: the successor that is starting, and predecessors that finish their work. */
  readonly #others = new Set<Slot>();
  readonly #figures: FleetFigures;
  readonly #views = new Views(sendToWorker);
  readonly #forgetting = new WorkerPolls<void>();
  readonly #hangWatch: HangWatch<ChildProcess>;
  readonly #logger: Logger;
  readonly #bounds: FleetBounds;
  /** Handlers called after each state change of a slot: from `ready`, `drain` and `onChange`, and two per slot being replaced. */
  readonly #onStateChange = new Set<() => void>();
  #deathCount = 0;
  /** The level set by an operator; without one, starting workers use the level in their options. */
  #logLevel: LogLevel | undefined;
  #isDrainAnnounced = false;
  #isEnding = false;
  /** The readiness last announced to the workers. */
  #isReady = false;

  constructor(plan: WorkerPlan, logger: Logger) {
    this.#plan = plan;
    this.#logger = logger;
    this.#bounds = plan.bounds;
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
        this.#figures.onGone(worker);
        this.#views.onGone(worker);
        this.#forgetting.onGone(worker);
      },
    };
    const { slotCount } = plan.start;
    const turnsMax = Math.min(slotCount, plan.bounds.workerStartsAtOnceMax);
    const failuresMax = turnsMax * plan.bounds.workerStartTriesMax;
    const turns = new StartQueue({ turnsMax, failuresMax }, (reason) => fail(reason));
    this.#createSlot = (slot, slotPlan) => new Slot(slot, slotPlan, turns, observer, logger);
    this.#slots = Array.from({ length: slotCount }, (_, slot) => this.#createSlot(slot, plan));
    this.ready = this.#untilReady();
  }

  /** How many workers ended by themselves after they had listened. */
  get deathCount(): number {
    return this.#deathCount;
  }

  /** Gathers the figures of all workers that listen or drain. */
  async figures(): Promise<GatheredFigures> {
    return this.#figures.gather(() => this.#all().flatMap((slot) => slot.answeringWorker ?? []));
  }

  /** Asks every slot's worker, including predecessors that finish after a reload; `undefined` when too many questions are open. */
  async ask(question: ViewQuestion): Promise<readonly WorkerAnswer[] | undefined> {
    return this.#views.ask(
      question,
      this.#all().map((slot) => slot.askedWorker),
    );
  }

  /** Sets the log level of all workers, including those that start to listen later. */
  setLogLevel(level: LogLevel): void {
    this.#logLevel = level;
    for (const worker of this.#servingWorkers()) sendToWorker(worker, { kind: 'log-level', level });
  }

  get slotReadiness(): readonly SlotReadiness[] {
    return this.#slots.map((slot) => slot.readiness);
  }

  /** Calls back after each change of a slot's state, or of what its worker reports about its store or keys. */
  onChange(handler: () => void): void {
    this.#onStateChange.add(handler);
  }

  /** Tells every listening worker, unless it was told the same before. */
  tellReadiness(isReady: boolean): void {
    this.#isReady = isReady;
    for (const slot of this.#all()) slot.tellReadiness(isReady);
  }

  start(): void {
    for (const slot of this.#slots) slot.start();
    this.#hangWatch.start();
  }

  /** Makes every worker's health check announce a drain, including workers that start to listen later. */
  announceDrain(): void {
    this.#isDrainAnnounced = true;
    for (const slot of this.#slots)
      if (slot.servingWorker) sendToWorker(slot.servingWorker, { kind: 'announce-drain' });
  }

  /**
   * Replaces the workers one after the other by workers with these options: a successor starts, listens and has the slot before its
   * predecessor is told to finish. If a successor cannot start, its predecessor stays and the reload ends. One reload at a time.
   * @returns why not all workers were replaced.
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
    // Waits for the predecessor of an earlier reload: memory allows two generations at once, not more.
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
    const { version, servingWorker } = successor;
    this.#logger.info({ slot: number, workerPid: servingWorker?.pid, version }, 'a new worker has the slot');
    if (predecessor === undefined) return undefined;
    void this.#retire(predecessor, plan.start.options.reloadTimeoutMs);
    // Until the predecessor has left, it may get new connections; afterwards every new connection sees the reloaded options.
    await this.#until(() => this.#isEnding || predecessor.hasLeft);
    return undefined;
  }

  /** Lets a replaced worker finish its work, and then ends it without ending its sessions. */
  async #retire(predecessor: Slot, timeoutMs: number): Promise<void> {
    this.#others.add(predecessor);
    const { number: slot, version, servingWorker: worker } = predecessor;
    predecessor.retire();
    const timer = new AbortController();
    const timeIsUp = sleep(timeoutMs, undefined, { signal: timer.signal }).then(
      () =>
        this.#logger.warn({ slot, workerPid: worker?.pid }, 'a replaced worker is killed: --reload-timeout is over'),
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
    this.#logger.info({ slot, workerPid: worker?.pid, version }, 'a replaced worker has ended');
  }

  async #leaveWhenStopped(slot: Slot): Promise<void> {
    await this.#until(() => slot.state === 'stopped');
    this.#others.delete(slot);
    this.#onState();
  }

  /**
   * Drains every worker, then stops them all, because a drained worker still serves the others' hops. Both phases together have
   * `timeoutMs`: stopping gets what the drain left, but never less than it takes to notify responsive backends. Resolves when no
   * process is left.
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
    // Stopping has its own kill timer, and a worker with very many sessions to end may legitimately be silent.
    this.#hangWatch.stop();
    const stopWithinMs = Math.max(Math.round(endMs - performance.now()), this.#bounds.workerStopMs);
    const farewellsMs = stopWithinMs - exitMsOf(timeoutMs, stopWithinMs, this.#bounds);
    for (const slot of this.#all()) slot.stop(stopWithinMs, farewellsMs);
    await this.#untilAllAre('stopped');
  }

  /** Kills every worker, for good. A drain under way ends with it. */
  kill(): void {
    this.#isEnding = true;
    for (const slot of this.#all()) slot.kill();
  }

  #onMessage(worker: ChildProcess, message: FromWorker): void {
    switch (message.kind) {
      case 'listening':
        this.#hangWatch.watch(worker);
        // The gateway's readiness does not change when a successor replaces a worker, so the new worker is told here.
        if (this.#isReady) this.tellReadiness(true);
        if (this.#logLevel !== undefined) sendToWorker(worker, { kind: 'log-level', level: this.#logLevel });
        if (this.#isDrainAnnounced) sendToWorker(worker, { kind: 'announce-drain' });
        return;
      case 'heartbeat':
        return this.#hangWatch.onHeartbeat(worker);
      case 'written':
        return void this.#forget(worker, message);
      case 'report':
        return this.#figures.onReport(worker, message.ticket, message.series);
      case 'view':
        return this.#views.onAnswer(worker, message.ticket, message.answer);
      case 'forgotten':
        return this.#forgetting.onAnswer(worker, message.ticket);
      case 'start-failed':
      case 'left':
      case 'drained':
      case 'store':
      case 'keys': // handled by the slot
    }
  }

  /** A hung worker may hold half of the callers' connections, and will never answer them. */
  #killHung(worker: ChildProcess, silentMs: number): void {
    const slot = this.#all().find(({ servingWorker }) => servingWorker === worker)?.askedWorker.slot;
    this.#logger.error({ slot, workerPid: worker.pid, silentMs }, 'worker hangs: killed');
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

  /** Before a worker answers the write of a subject's config, every worker drops what it has kept of the config, or is too slow. */
  async #forget(announcer: ChildProcess, { subject, ticket }: Extract<FromWorker, { kind: 'written' }>): Promise<void> {
    const workers = this.#servingWorkers();
    const { silent } = await this.#forgetting.ask(workers, FORGET_MS_MAX, (worker, round) =>
      sendToWorker(worker, { kind: 'forget', subject, ticket: round }),
    );
    if (silent.size > 0) {
      this.#logger.warn(
        { subject: subjectHash(subject), silentWorkers: silent.size },
        'not every worker has dropped the changed config: the old one may be used a little longer',
      );
    }
    sendToWorker(announcer, { kind: 'all-forgotten', ticket });
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

  #until(isMet: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!isMet()) return;
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
 * The part of a worker's time to stop that remains after notifying backends. It grows with the drain timeout, because
 * a worker with a long one has much to end, and a busy machine needs longer for it. At most half of the time to stop.
 */
function exitMsOf(drainTimeoutMs: number, stopWithinMs: number, bounds: FleetBounds): number {
  const inProportionMs = Math.round(drainTimeoutMs / bounds.workerExitDivisor);
  return Math.min(Math.max(bounds.workerExitMs, inProportionMs), Math.floor(stopWithinMs / 2));
}
