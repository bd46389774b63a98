// One slot, which forks, restarts, drains and stops its worker process. The slot's number outlives its processes, because sessions belong
// to slots. Cold path.
import { fork, spawnSync, type ChildProcess } from 'node:child_process';
import { receiveFromWorker, sendToWorker, type FromWorker, type StartMessage } from '../process/index.js';
import { delayMsAfter, withJitter, type Logger } from '../shared/index.js';
import type { SlotReadiness } from './readiness.js';
import type { StartEnding, StartQueue } from './start-queue.js';
import type { workerBounds } from './worker-bounds.js';

// The states of one slot, and the only function that defines their transitions.
//
//   state     | fork      listening  exit     drain     drained  stop
//   ----------+----------------------------------------------------------
//   waiting   | starting  .          .        stopped   .        stopped
//   starting  | .         listening  waiting  stopping  .        stopping
//   listening | .         .          waiting  draining  .        stopping
//   draining  | .         .          stopped  .         drained  stopping
//   drained   | .         .          stopped  .         .        stopping
//   stopping  | .         .          stopped  .         .        .
//   stopped   | .         .          .        .         .        .
//
// A dot: the event is too early or too late, and changes nothing. `waiting` has no process but will get one; `stopped` has none and
// never will. A worker that has not listened yet has nothing in flight, so `drain` stops it.

export type SlotState = 'waiting' | 'starting' | 'listening' | 'draining' | 'drained' | 'stopping' | 'stopped';

/** Events of a slot: `fork`, `drain` and `stop` come from the primary, the others from the worker. `exit` is the end of its process. */
export type SlotEvent = 'fork' | 'listening' | 'exit' | 'drain' | 'drained' | 'stop';

const transitions: Readonly<Record<SlotState, Readonly<Partial<Record<SlotEvent, SlotState>>>>> = {
  waiting: { fork: 'starting', drain: 'stopped', stop: 'stopped' },
  starting: { listening: 'listening', exit: 'waiting', drain: 'stopping', stop: 'stopping' },
  listening: { exit: 'waiting', drain: 'draining', stop: 'stopping' },
  draining: { exit: 'stopped', drained: 'drained', stop: 'stopping' },
  drained: { exit: 'stopped', stop: 'stopping' },
  stopping: { exit: 'stopped' },
  stopped: {},
};

/** The next state; `undefined` when the event changes nothing. */
export function slotStateAfter(state: SlotState, event: SlotEvent): SlotState | undefined {
  return transitions[state][event];
}

// Workers must end with the primary: one that hangs does not notice that its IPC channel has closed, and would keep the port from the
// next gateway. On Linux, setpriv(1) of util-linux has the kernel kill it; Node.js has no API for that.

/** Time to find out whether `setpriv` works. After that, workers are started without it, and a hung one may outlive the primary. */
const LAUNCHER_TRY_MS_MAX = 2_000;

const SETPRIV = '/usr/bin/setpriv';
const SETPRIV_ARGUMENTS = ['--pdeathsig', 'KILL', '--'];

/**
 * Finds the words to put before a command, so that its process gets SIGKILL when the thread that started it ends.
 * @returns an empty list where that is unavailable: there, a process ends only when it sees its channel close.
 */
export function findLauncher(): readonly string[] {
  // This fails where setpriv is missing, or does not know the option.
  const { status } = spawnSync(SETPRIV, [...SETPRIV_ARGUMENTS, SETPRIV, '--version'], {
    stdio: 'ignore',
    timeout: LAUNCHER_TRY_MS_MAX,
  });
  return status === 0 ? [SETPRIV, ...SETPRIV_ARGUMENTS] : [];
}

export type FleetBounds = Readonly<Record<keyof typeof workerBounds | 'peerAnswerMsMax', number>>;

export interface WorkerPlan {
  /** Checks the store. Rejects with a message for an operator when workers should not open it. */
  readonly checkStore: () => Promise<void>;
  readonly module: URL;
  /** The words before Node.js in a worker's command (`findLauncher`). */
  readonly launcher: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly start: Omit<StartMessage, 'kind' | 'slot'>;
  readonly bounds: FleetBounds;
}

/** A slot and its process, for questions to the workers. */
export interface PolledSlot {
  readonly slot: number;
  readonly state: SlotState;
  /** The process; `undefined` when none can answer. */
  readonly worker: ChildProcess | undefined;
  readonly storeObstacle: string;
}

interface SlotObserver {
  /** Called after each change of the slot's state, or of what its worker reports. */
  onChange(): void;
  /** Called with the messages that concern more than this slot. */
  onMessage(worker: ChildProcess, message: FromWorker): void;
  /** Called when the worker ended by itself after it had listened. */
  onDeath(): void;
  /** Called when the process is gone, and its messages have arrived. */
  onExit(worker: ChildProcess): void;
}

/**
 * Turns off V8's pretenuring: after objects of an allocation site have lived long, V8 allocates the next in old space. The objects of a
 * call live as long as its backend takes, and one dead object in old space keeps its whole call until the next full collection. Scavenges
 * then copied half of all memory and took a third of a worker's time.
 */
const WORKER_NODE_OPTIONS = ['--no-allocation-site-pretenuring'];

/**
 * The options for V8's memory. The heap gets half of a worker's memory; the rest is for message bodies and memory that no collector
 * manages. `--expose-gc` lets a worker short of memory collect garbage (fair/overload-watch.ts).
 */
function memoryNodeOptions({ workerMemoryBytes }: StartMessage['options']): string[] {
  return [`--max-old-space-size=${Math.floor(workerMemoryBytes / 2 ** 21)}`, '--expose-gc'];
}

const NO_OBSTACLES = { storeObstacle: '', storeStaleness: '', keysObstacle: '', isKeyless: false };

export class Slot {
  readonly number: number;
  readonly #plan: WorkerPlan;
  readonly #startQueue: StartQueue;
  readonly #observer: SlotObserver;
  readonly #logger: Logger;
  #state: SlotState = 'waiting';
  #worker: ChildProcess | undefined;
  /** In `waiting`, forks; in `starting` and `stopping`, kills a worker that takes too long. Cleared when the state changes. */
  #timer: NodeJS.Timeout | undefined;
  #listeningSinceMs = 0;
  /** The version that the worker has reported; `undefined` before a worker listens. */
  #version: string | undefined;
  #startFailure = '';
  #hasLeft = false;
  #failedStartsInARow = 0;
  #restartsInARow = 0;
  /** The obstacles that the worker last reported. */
  #obstacles = NO_OBSTACLES;
  /** The readiness that was last sent to the worker. */
  #sentReadiness: boolean | undefined;
  /** Whether the last worker died in a way that suggests a damaged store. */
  #isStoreSuspect = false;

  constructor(number: number, plan: WorkerPlan, startQueue: StartQueue, observer: SlotObserver, logger: Logger) {
    this.number = number;
    this.#plan = plan;
    this.#startQueue = startQueue;
    this.#observer = observer;
    this.#logger = logger.child({ slot: number });
  }

  get state(): SlotState {
    return this.#state;
  }

  /** The process, unless it is stopping. It may not listen yet. */
  get servingWorker(): ChildProcess | undefined {
    return this.#state === 'stopping' ? undefined : this.#worker;
  }

  /** Whether a retired worker gets no more connections. */
  get hasLeft(): boolean {
    return this.#hasLeft || this.#state !== 'draining';
  }

  /** Whether so many starts in a row have failed that readiness does not wait. Starts continue. */
  get isFailing(): boolean {
    return this.#failedStartsInARow >= this.#plan.bounds.workerFailedStartsMax;
  }

  get readiness(): SlotReadiness {
    const isListening = this.#state === 'listening';
    return {
      slot: this.number,
      isListening,
      isFailing: this.isFailing,
      ...this.#obstacles,
    };
  }

  get reportingWorker(): ChildProcess | undefined {
    return ['listening', 'draining', 'drained'].includes(this.#state) ? this.#worker : undefined;
  }

  get polledSlot(): PolledSlot {
    const [slot, state, worker] = [this.number, this.#state, this.reportingWorker];
    return { slot, state, worker, storeObstacle: this.#obstacles.storeObstacle };
  }

  /** Sends the readiness to a listening worker, unless the worker already has it. */
  sendReadiness(isReady: boolean): void {
    if (this.#state !== 'listening' || this.#sentReadiness === isReady) return;
    this.#sentReadiness = isReady;
    sendToWorker(this.#worker, { kind: 'readiness', isReady });
  }

  /** Why the last start failed; `''` if no failure is known. */
  get startFailure(): string {
    return this.#startFailure;
  }

  get version(): string | undefined {
    return this.#version;
  }

  start(): void {
    this.#startQueue.enqueue(() => this.#tryFork());
  }

  /** Begins a start. @returns false when there is nothing to start any more. */
  #tryFork(): boolean {
    if (!this.#applyEvent('fork')) return false;
    const { module, launcher, environment, start, bounds } = this.#plan;
    const [execPath = process.execPath, ...words] = [...launcher, process.execPath];
    this.#startFailure = '';
    this.#obstacles = NO_OBSTACLES;
    this.#sentReadiness = undefined;
    this.#timer = setTimeout(() => {
      this.#startFailure ||= `not listening after ${bounds.workerStartMsMax} ms`;
      this.#worker?.kill('SIGKILL');
    }, bounds.workerStartMsMax);
    try {
      // The serialization `advanced` keeps byte arrays and `undefined`.
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
      // `fork` throws some errors and emits others. A thrown one is handled later, after `StartQueue` has counted this start.
      setImmediate(() => this.#onClose(undefined, `no process can be started: ${(error as Error).message}`));
    }
    return true;
  }

  #supervise(worker: ChildProcess): void {
    receiveFromWorker(
      worker,
      (message) => this.#onMessage(worker, message),
      () => this.#logger.error('the worker sent an unknown message, which is ignored'),
    );
    // Unlike `exit`, `close` comes after the last message, such as the reason of a failed start.
    worker.once('close', (status, signal) => {
      // These signals suggest that the store's mapped file is truncated or corrupt.
      if (this.#state === 'listening') this.#isStoreSuspect = signal === 'SIGBUS' || signal === 'SIGSEGV';
      this.#onClose(worker, endingInWords(status, signal));
    });
    worker.on('error', (error) => {
      // A process that could not be created has no `close`.
      if (worker.pid === undefined) this.#onClose(worker, error.message);
    });
    sendToWorker(worker, { kind: 'start', slot: this.number, ...this.#plan.start });
  }

  /**
   * Drains the worker; one that has not listened has nothing to finish, and is stopped.
   * @param kind `retire` for a worker whose sessions continue in its successor.
   */
  drain(kind: 'drain' | 'retire' = 'drain'): void {
    const hasListened = this.#state === 'listening';
    // A retired worker waits for late requests; a drain ends that.
    if (kind === 'drain' && this.#state === 'draining') sendToWorker(this.#worker, { kind });
    if (!this.#applyEvent('drain')) return;
    if (hasListened) sendToWorker(this.#worker, { kind });
    else this.#sendStop(this.#plan.bounds.workerStopMs, 0);
  }

  /**
   * Stops the worker. @param withinMs the time after which it is killed.
   * @param farewellsMs how much of that time the worker may spend on telling backends that sessions have ended.
   */
  stop(withinMs: number, farewellsMs: number): void {
    if (this.#applyEvent('stop')) this.#sendStop(withinMs, farewellsMs);
  }

  /** Kills the worker at once, and starts no other. */
  kill(): void {
    this.#applyEvent('stop');
    this.#worker?.kill('SIGKILL');
  }

  #sendStop(withinMs: number, farewellsMs: number): void {
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
        if (!this.#applyEvent('listening')) return;
        this.#listeningSinceMs = performance.now();
        this.#version = message.version;
        this.#isStoreSuspect = false;
        this.#failedStartsInARow = 0;
        this.#logger[this.#restartsInARow === 0 ? 'debug' : 'info'](
          { workerPid: worker.pid, version: this.#version },
          'worker listening',
        );
        this.#observer.onMessage(worker, message);
        return;
      case 'start-failed':
        this.#startFailure = message.reason;
        return;
      case 'left':
        this.#hasLeft = true;
        this.#observer.onChange();
        return;
      case 'drained':
        this.#applyEvent('drained');
        return;
      case 'store': {
        const { obstacle: storeObstacle, staleness: storeStaleness = '' } = message;
        this.#obstacles = { ...this.#obstacles, storeObstacle, storeStaleness };
        return this.#observer.onChange();
      }
      case 'keys': {
        const { obstacle: keysObstacle, isInTheWay: isKeyless } = message;
        this.#obstacles = { ...this.#obstacles, keysObstacle, isKeyless };
        return this.#observer.onChange();
      }
      case 'report':
      case 'view':
      case 'heartbeat':
      case 'written':
      case 'forgotten':
        this.#observer.onMessage(worker, message);
    }
  }

  /** @param worker `undefined` when there was no process. */
  #onClose(worker: ChildProcess | undefined, ending: string): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    const before = this.#state;
    this.#startFailure ||= ending;
    this.#applyEvent('exit');
    if (worker) this.#observer.onExit(worker);
    const workerPid = worker?.pid;
    if (before === 'starting') this.#onFailedStart(this.#startFailure);
    else if (before === 'listening') this.#onDeath(workerPid, ending);
    else if (before !== 'stopping') this.#logger.error({ workerPid, ending }, 'worker died while draining');
  }

  /** Starts again after a failure, without limit, at growing intervals: the cause may be removed at any time. */
  #onFailedStart(reason: string): void {
    const failedStarts = ++this.#failedStartsInARow;
    const delayMs = startRetryDelayMs(failedStarts, this.#plan.bounds);
    this.#logger.error({ reason, failedStarts, nextTryMs: delayMs }, 'worker cannot start');
    this.#timer = setTimeout(() => this.#startAgain(), delayMs);
    this.#observer.onChange();
  }

  #onDeath(workerPid: number | undefined, ending: string): void {
    this.#observer.onDeath();
    const listenedMs = Math.round(performance.now() - this.#listeningSinceMs);
    if (listenedMs >= this.#plan.bounds.workerSettledMs) this.#restartsInARow = 0;
    this.#logger.error({ workerPid, ending, listenedMs }, 'worker died; replacing it');
    const delayMs = restartDelayMs(this.#restartsInARow++, this.#plan.bounds);
    this.#timer = setTimeout(() => this.#startAgain(), delayMs);
  }

  /** Starts a worker again. If the last one's death suggests a damaged store, the store is checked first. */
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
    if (next === 'waiting') return { kind: 'failed', reason: this.#startFailure };
    return { kind: next === 'listening' ? 'listening' : 'stopped' };
  }

  #applyEvent(event: SlotEvent): boolean {
    const before = this.#state;
    const next = slotStateAfter(before, event);
    if (next === undefined) return false;
    clearTimeout(this.#timer);
    this.#state = next;
    if (before === 'starting') this.#startQueue.onStartEnded(this.#endingOfStart(next));
    this.#observer.onChange();
    return true;
  }
}

function endingInWords(status: number | null, signal: NodeJS.Signals | null): string {
  if (signal === 'SIGBUS')
    return 'SIGBUS: a file that it reads was truncated, perhaps that of the embedded store, or its disk is full';
  if (status === 1)
    return 'exit status 1: its error is on standard error; EMFILE there means that `ulimit -n` is too low';
  return signal ?? `exit status ${status}`;
}

/** The delay of a start after failures, in ms; random, so that slots do not all retry at once. */
export function startRetryDelayMs(failedStarts: number, bounds: FleetBounds, random = Math.random()): number {
  const delayMs = delayMsAfter(failedStarts - 1, bounds.workerRestartDelayMsMin, bounds.workerStartRetryMsMax);
  return Math.round(withJitter(delayMs, random));
}

/** The delay of a restart after others in quick succession, in ms. The first restart is immediate. */
export function restartDelayMs(restartsBefore: number, bounds: FleetBounds): number {
  if (restartsBefore === 0) return 0;
  return delayMsAfter(restartsBefore - 1, bounds.workerRestartDelayMsMin, bounds.workerRestartDelayMsMax);
}
