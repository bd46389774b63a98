// One slot and the worker process in it: forks it, starts it again when it dies, drains and stops it. The slot's number
// outlives its processes: sessions are owned by slots. Cold.
import { fork, type ChildProcess } from 'node:child_process';
import { receiveFromWorker, sendToWorker } from '../ipc/channel.js';
import type { FromWorker, StartMessage } from '../ipc/messages.js';
import { delayAfter, spread } from '../shared/backoff.js';
import type { limits } from '../shared/limits.js';
import type { Logger } from '../shared/logger.js';
import type { SlotStanding } from './readiness.js';
import { slotStateAfter, type SlotEvent, type SlotState } from './slot-state.js';
import type { AskedWorker } from './views.js';
import type { StartEnding, StartTurns } from './start-turns.js';

/** The bounds of shared/limits that a fleet and its slots obey. */
export type FleetBounds = Readonly<
  Record<
    | Extract<keyof typeof limits, `worker${'Start' | 'Restart' | 'Settled' | 'Stop' | 'Exit'}${string}`>
    | 'forgetRoundMsMax'
    | 'metricReportMsMax'
    | 'metricGatheringAgeMsMax',
    number
  >
>;

/** What the workers of all slots are started with. */
export interface WorkerPlan {
  /** Rejects, in words for a person, when workers should not open the store. */
  readonly checkStore: () => Promise<void>;
  readonly module: URL;
  /** Comes before Node.js in their commands. */
  readonly launcher: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly start: Omit<StartMessage, 'kind' | 'slot'>;
  readonly bounds: FleetBounds;
}

export interface SlotObserver {
  /** Called after each change of the slot's state. */
  onState(): void;
  /** What concerns more than this slot: that it listens, its heartbeats, the rounds of forgetting. */
  onMessage(worker: ChildProcess, message: FromWorker): void;
  /** The worker has listened, and ended unasked. */
  onDeath(): void;
  /** The process is gone, after all its messages. */
  onExit(worker: ChildProcess): void;
}

/**
 * For a worker's Node: no pretenuring. Where objects made at one place have lived long, V8 puts the next ones into old space at once.
 * Those of a call live as long as its backend takes, so this happens to them; and a dead object in old space keeps alive the whole call
 * that it refers to until the next full collection. Scavenges then copied half of all memory and took a third of a worker's time.
 */
const WORKER_NODE_OPTIONS = ['--no-allocation-site-pretenuring'];

/**
 * The heap gets half of a worker's memory; the other half is for bodies, which lie outside it, and for what no collector
 * knows. A worker that is short of memory may collect garbage when it wants (process/overload-watch.ts).
 */
function memoryNodeOptions({ workerMemoryBytes }: StartMessage['options']): string[] {
  return [`--max-old-space-size=${Math.floor(workerMemoryBytes / 2 ** 21)}`, '--expose-gc'];
}

export class Slot {
  readonly #number: number;
  readonly #plan: WorkerPlan;
  readonly #turns: StartTurns;
  readonly #observer: SlotObserver;
  readonly #logger: Logger;
  #state: SlotState = 'waiting';
  #worker: ChildProcess | undefined;
  /** `waiting`: the fork; `starting` and `stopping`: the kill of a worker that takes too long. Ends with the state. */
  #timer: NodeJS.Timeout | undefined;
  #listeningSinceMs = 0;
  #startFailure: string | undefined;
  #hasLeft = false;
  #failedStartsInARow = 0;
  #restartsInARow = 0;
  /** As the worker has said of itself. */
  #storeObstacle = '';
  #keysObstacle = '';
  #isKeyless = false;
  /** What it was last told of the gateway's readiness. */
  #toldReady: boolean | undefined;
  /** A worker died as one does that reads a damaged store. */
  #isStoreSuspect = false;

  constructor(number: number, plan: WorkerPlan, turns: StartTurns, observer: SlotObserver, logger: Logger) {
    this.#number = number;
    this.#plan = plan;
    this.#turns = turns;
    this.#observer = observer;
    this.#logger = logger.child({ slot: number });
  }

  get state(): SlotState {
    return this.#state;
  }

  /** The process that serves requests, or may soon; `undefined` when there is none. */
  get servingWorker(): ChildProcess | undefined {
    return this.#state === 'stopping' ? undefined : this.#worker;
  }

  /** Whether no more connections come to its worker, which was told to retire. */
  get hasLeft(): boolean {
    return this.#hasLeft || this.#state !== 'draining';
  }

  /** Whether so many starts in a row have failed that nobody should wait for this slot. It is tried on, all the same. */
  get isFailing(): boolean {
    return this.#failedStartsInARow >= this.#plan.bounds.workerStartTriesMax;
  }

  get standing(): SlotStanding {
    const isListening = this.#state === 'listening';
    return {
      slot: this.#number,
      isListening,
      isFailing: this.isFailing,
      storeObstacle: this.#storeObstacle,
      keysObstacle: this.#keysObstacle,
      isKeyless: this.#isKeyless,
    };
  }

  /** The process that can tell its figures; `undefined` when there is none. */
  get answeringWorker(): ChildProcess | undefined {
    return ['listening', 'draining', 'drained'].includes(this.#state) ? this.#worker : undefined;
  }

  get asked(): AskedWorker {
    const [slot, state, worker] = [this.#number, this.#state, this.answeringWorker];
    return { slot, state, worker, storeObstacle: this.#storeObstacle };
  }

  /** For a worker that listens and has not been told the same. */
  tellReadiness(isReady: boolean): void {
    if (this.#state !== 'listening' || this.#worker === undefined || this.#toldReady === isReady) return;
    this.#toldReady = isReady;
    sendToWorker(this.#worker, { kind: 'readiness', isReady });
  }

  /** Why the last start failed; `undefined` once a worker listens. */
  get startFailure(): string | undefined {
    return this.#failedStartsInARow > 0 ? this.#startFailure : undefined;
  }

  get number(): number {
    return this.#number;
  }

  /** Starts a worker when it is this slot's turn. */
  start(): void {
    this.#turns.ask(() => this.#begin());
  }

  /** False when there is nothing to start any more. */
  #begin(): boolean {
    if (!this.#advance('fork')) return false;
    const { module, launcher, environment, start, bounds } = this.#plan;
    const [execPath = process.execPath, ...words] = [...launcher, process.execPath];
    this.#startFailure = undefined;
    this.#storeObstacle = '';
    this.#keysObstacle = '';
    this.#isKeyless = false;
    this.#toldReady = undefined;
    this.#timer = setTimeout(() => {
      this.#startFailure ??= `not listening after ${bounds.workerStartMsMax} ms`;
      this.#worker?.kill('SIGKILL');
    }, bounds.workerStartMsMax);
    try {
      // `advanced` carries bytes and `undefined` as they are.
      const worker = fork(module, {
        env: environment,
        execPath,
        execArgv: [...words, ...process.execArgv, ...WORKER_NODE_OPTIONS, ...memoryNodeOptions(start.options)],
        serialization: 'advanced',
        stdio: 'inherit',
      });
      this.#worker = worker;
      this.#supervise(worker);
    } catch (error) {
      // Some of the system's refusals are thrown, others come as an event. Not within the turn that is just being given.
      const reason = error instanceof Error ? error.message : String(error);
      setImmediate(() => this.#onForkRefused(reason));
    }
    return true;
  }

  #supervise(worker: ChildProcess): void {
    receiveFromWorker(
      worker,
      (message) => this.#onMessage(worker, message),
      () => this.#logger.error('the worker sent an unknown message, which is ignored'),
    );
    // After `close`, unlike `exit`, no message can come any more: the reason of a failed start has arrived.
    worker.once('close', (status, signal) => {
      if (this.#state === 'listening') this.#isStoreSuspect = isMemoryFault(signal);
      this.#onClose(worker, endingInWords(status, signal));
    });
    worker.on('error', (error) => {
      // A process that could not be made has no exit.
      if (worker.pid === undefined) this.#onClose(worker, error.message);
    });
    sendToWorker(worker, { kind: 'start', slot: this.#number, ...this.#plan.start });
  }

  /** A worker that has not listened yet has nothing to finish, and is stopped. */
  drain(): void {
    this.#finish('drain');
  }

  /** As `drain`, for a worker whose sessions go on in another that has the slot now. */
  retire(): void {
    this.#finish('retire');
  }

  #finish(kind: 'drain' | 'retire'): void {
    const hasListened = this.#state === 'listening';
    // One that was retired waits for what might still come: no longer.
    if (kind === 'drain' && this.#state === 'draining' && this.#worker) sendToWorker(this.#worker, { kind });
    if (!this.#advance('drain')) return;
    if (!hasListened) this.#tellToStop(this.#plan.bounds.workerStopMs, 0);
    else if (this.#worker !== undefined) sendToWorker(this.#worker, { kind });
  }

  /**
   * @param withinMs after which the worker is killed.
   * @param farewellsMs what it has of these to tell backends that their sessions have ended.
   */
  stop(withinMs: number, farewellsMs: number): void {
    if (this.#advance('stop')) this.#tellToStop(withinMs, farewellsMs);
  }

  /** Ends the worker without a word; it is not replaced. */
  kill(): void {
    this.#advance('stop');
    this.#worker?.kill('SIGKILL');
  }

  #tellToStop(withinMs: number, farewellsMs: number): void {
    const worker = this.#worker;
    if (worker === undefined) return;
    sendToWorker(worker, { kind: 'stop', withinMs, farewellsMs });
    this.#timer = setTimeout(() => {
      this.#logger.warn({ workerPid: worker.pid, withinMs }, 'worker does not stop: killed');
      worker.kill('SIGKILL');
    }, withinMs);
  }

  #onMessage(worker: ChildProcess, message: FromWorker): void {
    switch (message.kind) {
      case 'listening':
        if (!this.#advance('listening')) return;
        this.#listeningSinceMs = performance.now();
        this.#isStoreSuspect = false;
        this.#failedStartsInARow = 0;
        this.#logger[this.#restartsInARow === 0 ? 'debug' : 'info']({ workerPid: worker.pid }, 'worker listening');
        this.#observer.onMessage(worker, message);
        return;
      case 'start-failed':
        this.#startFailure = message.reason;
        return;
      case 'left':
        this.#hasLeft = true;
        this.#observer.onState();
        return;
      case 'drained':
        this.#advance('drained');
        return;
      case 'store':
        this.#storeObstacle = message.obstacle;
        this.#observer.onState();
        return;
      case 'keys':
        this.#keysObstacle = message.obstacle;
        this.#isKeyless = message.isInTheWay;
        this.#observer.onState();
        return;
      case 'report':
      case 'view':
      case 'heartbeat':
      case 'written':
      case 'forgotten':
        this.#observer.onMessage(worker, message);
    }
  }

  #onClose(worker: ChildProcess, ending: string): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    const before = this.#state;
    this.#startFailure ??= ending;
    this.#advance('exit');
    this.#observer.onExit(worker);
    if (before === 'starting') this.#onFailedStart(this.#startFailure);
    else if (before === 'listening') this.#onDeath(worker, ending);
    else if (before !== 'stopping') this.#logger.error({ workerPid: worker.pid, ending }, 'worker died while draining');
  }

  #onForkRefused(reason: string): void {
    const before = this.#state;
    this.#startFailure = `no process can be started: ${reason}`;
    if (this.#advance('exit') && before === 'starting') this.#onFailedStart(this.#startFailure);
  }

  /** However often: the wait grows, so that the log is not flooded, but what is in the way may be mended at any time. */
  #onFailedStart(reason: string): void {
    const failedStarts = ++this.#failedStartsInARow;
    const delayMs = startRetryDelayMs(failedStarts, this.#plan.bounds);
    this.#logger.error({ reason, failedStarts, nextTryMs: delayMs }, 'worker cannot start');
    this.#timer = setTimeout(() => this.#startAgain(), delayMs);
    this.#observer.onState();
  }

  #onDeath(worker: ChildProcess, ending: string): void {
    this.#observer.onDeath();
    const listenedMs = Math.round(performance.now() - this.#listeningSinceMs);
    if (listenedMs >= this.#plan.bounds.workerSettledMs) this.#restartsInARow = 0;
    this.#logger.error({ workerPid: worker.pid, ending, listenedMs }, 'worker died; replacing it');
    const delayMs = restartDelayMs(this.#restartsInARow++, this.#plan.bounds);
    this.#timer = setTimeout(() => this.#startAgain(), delayMs);
  }

  /** A store that kills its readers would kill the next worker at its first request, and so on for ever. */
  #startAgain(): void {
    if (!this.#isStoreSuspect) {
      this.start();
      return;
    }
    this.#plan.checkStore().then(
      () => this.start(),
      (error: unknown) => {
        if (this.#state === 'waiting') this.#onFailedStart(error instanceof Error ? error.message : String(error));
      },
    );
  }

  #endingOfStart(next: SlotState): StartEnding {
    if (next === 'waiting') return { kind: 'failed', reason: this.#startFailure ?? 'for no known reason' };
    return { kind: next === 'listening' ? 'listening' : 'stopped' };
  }

  #advance(event: SlotEvent): boolean {
    const before = this.#state;
    const next = slotStateAfter(before, event);
    if (next === undefined) return false;
    clearTimeout(this.#timer);
    this.#state = next;
    if (before === 'starting') this.#turns.end(this.#endingOfStart(next));
    this.#observer.onState();
    return true;
  }
}

/** A mapped file that was cut short, or that does not hold what it should. */
function isMemoryFault(signal: NodeJS.Signals | null): boolean {
  return signal === 'SIGBUS' || signal === 'SIGSEGV';
}

function endingInWords(status: number | null, signal: NodeJS.Signals | null): string {
  if (signal === 'SIGBUS') return 'SIGBUS: a file that it reads was truncated, perhaps that of the embedded store';
  return signal ?? `exit status ${status}`;
}

/** The wait before a failed start is tried again, ms; up to a half less, so that slots do not try all at once. */
export function startRetryDelayMs(failedStarts: number, bounds: FleetBounds, random = Math.random()): number {
  const delayMs = delayAfter(failedStarts - 1, bounds.workerRestartDelayMsMin, bounds.workerStartRetryMsMax);
  return Math.round(spread(delayMs, random));
}

/** The wait before a restart, when `restartsBefore` others came soon after each other, ms. The first does not wait. */
export function restartDelayMs(restartsBefore: number, bounds: FleetBounds): number {
  if (restartsBefore === 0) return 0;
  return delayAfter(restartsBefore - 1, bounds.workerRestartDelayMsMin, bounds.workerRestartDelayMsMax);
}
