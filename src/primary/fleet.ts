// All slots of the gateway: starts, watches, reloads and drains them. Cold path.
import type { ChildProcess } from 'node:child_process';
import type { DataplaneOptions } from '../config/index.js';
import { sendToWorker, type FromWorker, type ViewQuestion, heartbeatPeriodMs } from '../process/index.js';
import { settledWithin, subjectHash, type Logger, type LogLevel } from '../shared/index.js';
import { WorkerPolls, FleetFigures, type GatheredFigures } from './worker-polls.js';
import type { SlotReadiness } from './readiness.js';
import { Slot, type FleetBounds, type WorkerPlan, type SlotState } from './slot.js';
import { StartQueue } from './start-queue.js';
import { askWorkers, type WorkerAnswer } from './view-pages.js';

interface HangWatchOptions<Worker> {
  /** Silence after which a worker counts as hung; 0 disables the watch. */
  readonly hangTimeoutMs: number;
  /** The most workers that are reported as hung at one check. */
  readonly hungAtOnceMax: number;
  /** Called once for each hung worker. */
  readonly onHung: (worker: Worker, silentMs: number) => void;
  readonly nowMs?: () => number;
}

/** A check is late if it comes more than this many periods after the last one: the primary did not run, and the excess does not count. */
const LATE_FACTOR = 1.5;

/**
 * Finds workers whose event loop has sent no heartbeat for too long. Only silence while the primary was awake counts: a suspended or too
 * busy machine keeps workers silent, too. At one check, at most `hungAtOnceMax` workers are reported, so that their successors can start.
 */
export class HangWatch<Worker> {
  readonly #options: HangWatchOptions<Worker>;
  readonly #nowMs: () => number;
  readonly #periodMs: number;
  /** How long the primary has been awake. */
  #awakeMs = 0;
  #checkedAtMs: number;
  /** For each worker, the value of `#awakeMs` when its last heartbeat came. */
  readonly #heardAtMs = new Map<Worker, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HangWatchOptions<Worker>) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? ((): number => performance.now());
    this.#periodMs = heartbeatPeriodMs(options.hangTimeoutMs);
    this.#checkedAtMs = this.#nowMs();
  }

  start(): void {
    if (this.#options.hangTimeoutMs === 0) return;
    this.#checkedAtMs = this.#nowMs();
    this.#timer = setInterval(() => this.checkForHung(), this.#periodMs);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#heardAtMs.clear();
  }

  /** Watches a worker, which must send heartbeats from now on. */
  watch(worker: Worker): void {
    this.#heardAtMs.set(worker, this.#awakeMs);
  }

  onHeartbeat(worker: Worker): void {
    if (this.#heardAtMs.has(worker)) this.#heardAtMs.set(worker, this.#awakeMs);
  }

  /** Stops watching a worker that has ended, or is being ended. */
  unwatch(worker: Worker): void {
    this.#heardAtMs.delete(worker);
  }

  /** Looks for hung workers. Public for tests. */
  checkForHung(): void {
    const nowMs = this.#nowMs();
    this.#awakeMs += Math.min(nowMs - this.#checkedAtMs, this.#periodMs * LATE_FACTOR);
    this.#checkedAtMs = nowMs;
    let killsLeft = this.#options.hungAtOnceMax;
    for (const [worker, heardAtMs] of this.#heardAtMs) {
      const silentMs = this.#awakeMs - heardAtMs;
      if (silentMs < this.#options.hangTimeoutMs) continue;
      if (killsLeft-- === 0) return;
      this.#heardAtMs.delete(worker);
      this.#options.onHung(worker, Math.round(silentMs));
    }
  }
}

const GATEWAY_ENDING = 'the gateway ends';

/** Time for the workers to drop a changed config. After that, the request that changed it is answered, and the log says so. */
const FORGET_MS_MAX = 2_000;

export class Fleet {
  /** Resolves with the number of listening workers once all listen, or one does and the starts of the others keep failing. */
  readonly ready: Promise<number>;
  /** Resolves with a reason when no worker starts and none has ever listened. */
  readonly failure: Promise<string>;

  readonly #plan: WorkerPlan;
  readonly #createSlot: (slot: number, plan: WorkerPlan) => Slot;
  readonly #slots: Slot[];
  /** The slots of a reload: the successor that is starting, and predecessors that finish their work. */
  readonly #reloadingSlots = new Set<Slot>();
  readonly #figures: FleetFigures;
  readonly #viewPolls = new WorkerPolls<string>();
  readonly #forgetPolls = new WorkerPolls<void>();
  readonly #hangWatch: HangWatch<ChildProcess>;
  readonly #logger: Logger;
  readonly #bounds: FleetBounds;
  /** Functions that are called after each change of a slot. */
  readonly #changeHandlers = new Set<() => void>();
  #deathCount = 0;
  /** The log level that an operator has set; if there is none, workers use the level in their options. */
  #logLevel: LogLevel | undefined;
  #isDrainAnnounced = false;
  #isEnding = false;
  /** The readiness that was last sent to the workers. */
  #isReady = false;

  constructor(plan: WorkerPlan, logger: Logger) {
    this.#plan = plan;
    this.#logger = logger;
    this.#bounds = plan.bounds;
    this.#figures = new FleetFigures(sendToWorker, plan.bounds);
    this.#hangWatch = new HangWatch({
      hangTimeoutMs: plan.start.options.workerHangTimeoutMs,
      hungAtOnceMax: plan.bounds.workerStartsAtOnceMax,
      onHung: (worker, silentMs) => this.#killHung(worker, silentMs),
    });
    let fail: (reason: string) => void;
    this.failure = new Promise((resolve) => (fail = resolve));
    const observer = {
      onChange: () => this.#callChangeHandlers(),
      onMessage: (worker: ChildProcess, message: FromWorker) => this.#onMessage(worker, message),
      onDeath: () => {
        this.#deathCount += 1;
      },
      onExit: (worker: ChildProcess) => {
        this.#hangWatch.unwatch(worker);
        this.#figures.onWorkerGone(worker);
        this.#viewPolls.onWorkerGone(worker);
        this.#forgetPolls.onWorkerGone(worker);
      },
    };
    const { slotCount } = plan.start;
    const startsAtOnceMax = Math.min(slotCount, plan.bounds.workerStartsAtOnceMax);
    const failuresMax = startsAtOnceMax * plan.bounds.workerFailedStartsMax;
    const startQueue = new StartQueue({ startsAtOnceMax, failuresMax }, (reason) => fail(reason));
    this.#createSlot = (slot, slotPlan) => new Slot(slot, slotPlan, startQueue, observer, logger);
    this.#slots = Array.from({ length: slotCount }, (_, slot) => this.#createSlot(slot, plan));
    this.ready = this.#waitUntilReady();
  }

  /** How many workers have died after they had listened. */
  get deathCount(): number {
    return this.#deathCount;
  }

  async gatherFigures(): Promise<GatheredFigures> {
    return this.#figures.gather(() => this.#allSlots().flatMap((slot) => slot.reportingWorker ?? []));
  }

  /** Asks all workers, also replaced ones that still drain. @returns their answers; `undefined` if too many questions are open. */
  async ask(question: ViewQuestion): Promise<readonly WorkerAnswer[] | undefined> {
    const asked = this.#allSlots().map((slot) => slot.polledSlot);
    return askWorkers(this.#viewPolls, asked, (worker, ticket) =>
      sendToWorker(worker, { kind: 'view', ticket, question }),
    );
  }

  /** Sets the log level, also of workers that start to listen later. */
  setLogLevel(level: LogLevel): void {
    this.#logLevel = level;
    for (const worker of this.#servingWorkers()) sendToWorker(worker, { kind: 'log-level', level });
  }

  get slotReadiness(): readonly SlotReadiness[] {
    return this.#slots.map((slot) => slot.readiness);
  }

  /** Adds a handler, called after each change of a slot's state, or of what its worker reports about its store or keys. */
  addChangeHandler(handler: () => void): void {
    this.#changeHandlers.add(handler);
  }

  sendReadiness(isReady: boolean): void {
    this.#isReady = isReady;
    for (const slot of this.#allSlots()) slot.sendReadiness(isReady);
  }

  start(): void {
    for (const slot of this.#slots) slot.start();
    this.#hangWatch.start();
  }

  /** Announces a drain, also to workers that start to listen later. */
  announceDrain(): void {
    this.#isDrainAnnounced = true;
    for (const slot of this.#slots) sendToWorker(slot.servingWorker, { kind: 'announce-drain' });
  }

  /**
   * Replaces the workers one by one: a successor listens and has the slot before its predecessor drains. If a successor cannot start, its
   * predecessor stays and the reload ends. Must not be called during another reload.
   * @returns why not all workers were replaced; `undefined` if all were.
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
    // The slot's predecessors of earlier reloads must be gone first: there is memory for two workers of a slot at once, not more.
    await this.#waitUntil(() => this.#isEnding || [...this.#reloadingSlots].every((other) => other.number !== number));
    if (this.#isEnding) return GATEWAY_ENDING;
    const successor = this.#createSlot(number, plan);
    this.#reloadingSlots.add(successor);
    successor.start();
    const isDecided = (): boolean => successor.state === 'listening' || successor.startFailure !== '';
    await this.#waitUntil(() => this.#isEnding || isDecided());
    if (this.#isEnding) return GATEWAY_ENDING;
    if (successor.state !== 'listening') {
      const { startFailure } = successor;
      successor.kill();
      await this.#removeWhenStopped(successor);
      return startFailure;
    }
    const predecessor = this.#slots[number];
    this.#slots[number] = successor;
    this.#reloadingSlots.delete(successor);
    this.#callChangeHandlers();
    const { version, servingWorker } = successor;
    this.#logger.info({ slot: number, workerPid: servingWorker?.pid, version }, 'a new worker has the slot');
    if (predecessor === undefined) return undefined;
    void this.#retire(predecessor, plan.start.options.reloadTimeoutMs);
    // The predecessor may get new connections until it has left.
    await this.#waitUntil(() => this.#isEnding || predecessor.hasLeft);
    return undefined;
  }

  /** Lets a replaced worker finish its requests, then stops it. Its sessions continue in its successor. */
  async #retire(predecessor: Slot, timeoutMs: number): Promise<void> {
    this.#reloadingSlots.add(predecessor);
    const { number: slot, version, servingWorker: worker } = predecessor;
    predecessor.drain('retire');
    await settledWithin(
      this.#waitUntil(() => predecessor.state !== 'draining'),
      timeoutMs,
      () =>
        this.#logger.warn({ slot, workerPid: worker?.pid }, 'a replaced worker is killed: --reload-timeout is over'),
    );
    if (!this.#isEnding) {
      const { workerStopMs } = this.#bounds;
      if (worker !== undefined) this.#hangWatch.unwatch(worker);
      predecessor.stop(workerStopMs, workerStopMs - reservedExitMs(0, workerStopMs, this.#bounds));
    }
    await this.#removeWhenStopped(predecessor);
    this.#logger.info({ slot, workerPid: worker?.pid, version }, 'a replaced worker has ended');
  }

  async #removeWhenStopped(slot: Slot): Promise<void> {
    await this.#waitUntil(() => slot.state === 'stopped');
    this.#reloadingSlots.delete(slot);
    this.#callChangeHandlers();
  }

  /**
   * Drains all workers, and stops none before all are drained: a drained worker still serves hops of the others. `timeoutMs` is for both
   * steps, but stopping gets at least `workerStopMs`, enough to notify responsive backends. Resolves when no process is left.
   */
  async drain(timeoutMs: number): Promise<void> {
    const endMs = performance.now() + timeoutMs;
    this.#isEnding = true;
    this.#callChangeHandlers();
    for (const slot of this.#allSlots()) slot.drain();
    await settledWithin(this.#waitUntilAllAre('drained', 'stopping', 'stopped'), timeoutMs, () => this.#logUndrained());
    // The watch for hung workers ends here: stopping has its own timer, and a worker with many sessions to end may be silent.
    this.#hangWatch.stop();
    const stopWithinMs = Math.max(Math.round(endMs - performance.now()), this.#bounds.workerStopMs);
    const farewellsMs = stopWithinMs - reservedExitMs(timeoutMs, stopWithinMs, this.#bounds);
    for (const slot of this.#allSlots()) slot.stop(stopWithinMs, farewellsMs);
    await this.#waitUntilAllAre('stopped');
  }

  /** Kills every worker and starts no others; this also ends a drain. */
  kill(): void {
    this.#isEnding = true;
    for (const slot of this.#allSlots()) slot.kill();
  }

  #onMessage(worker: ChildProcess, message: FromWorker): void {
    switch (message.kind) {
      case 'listening':
        this.#hangWatch.watch(worker);
        // A successor gets the readiness here: its start does not change the readiness, so nothing else would send it.
        if (this.#isReady) this.sendReadiness(true);
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
        return this.#viewPolls.onAnswer(worker, message.ticket, message.answer);
      case 'forgotten':
        return this.#forgetPolls.onAnswer(worker, message.ticket);
      case 'start-failed':
      case 'left':
      case 'drained':
      case 'store':
      case 'keys': // handled by the slot
    }
  }

  /** Kills a hung worker, which may hold half of the callers' connections and would never answer them. */
  #killHung(worker: ChildProcess, silentMs: number): void {
    const slot = this.#allSlots().find(({ servingWorker }) => servingWorker === worker)?.number;
    this.#logger.error({ slot, workerPid: worker.pid, silentMs }, 'worker hangs: killed');
    worker.kill('SIGKILL');
  }

  async #waitUntilReady(): Promise<number> {
    const countListening = (): number => this.#slots.filter(({ state }) => state === 'listening').length;
    await this.#waitUntil(
      () => countListening() > 0 && this.#slots.every((slot) => slot.state === 'listening' || slot.isFailing),
    );
    return countListening();
  }

  #allSlots(): readonly Slot[] {
    return [...this.#slots, ...this.#reloadingSlots];
  }

  /** Makes every worker drop what it has cached of a config. Then, or after `FORGET_MS_MAX`, lets the announcer answer the write. */
  async #forget(announcer: ChildProcess, { subject, ticket }: Extract<FromWorker, { kind: 'written' }>): Promise<void> {
    const workers = this.#servingWorkers();
    const { silent } = await this.#forgetPolls.ask(workers, FORGET_MS_MAX, (worker, round) =>
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
    return this.#allSlots().flatMap((slot) => slot.servingWorker ?? []);
  }

  #callChangeHandlers(): void {
    for (const check of this.#changeHandlers) check();
  }

  #waitUntilAllAre(...states: readonly SlotState[]): Promise<void> {
    return this.#waitUntil(() => this.#allSlots().every((slot) => states.includes(slot.state)));
  }

  #waitUntil(isMet: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!isMet()) return;
        this.#changeHandlers.delete(check);
        resolve();
      };
      this.#changeHandlers.add(check);
      check();
    });
  }

  #logUndrained(): void {
    const workers = this.#allSlots().filter((slot) => slot.state === 'draining').length;
    this.#logger.warn({ workers }, 'the drain timeout is over: requests in flight are aborted');
  }
}

/** The part of `stopWithinMs` that a worker keeps for its exit, once it has told the backends: more for a longer drain, at most half. */
function reservedExitMs(drainTimeoutMs: number, stopWithinMs: number, bounds: FleetBounds): number {
  const inProportionMs = Math.round(drainTimeoutMs / bounds.workerExitDivisor);
  return Math.min(Math.max(bounds.workerExitMs, inProportionMs), Math.floor(stopWithinMs / 2));
}
