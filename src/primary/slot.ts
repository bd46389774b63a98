// One slot and its worker process: forks, restarts, drains and stops it. The slot's number outlives its processes, because
// sessions are owned by slots. Cold path.
import { fork, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { receiveFromWorker, sendToWorker, type FromWorker, type StartMessage } from '../process/index.js';
import { delayAfter, withJitter, type Logger } from '../shared/index.js';
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

/** `fork`, `drain` and `stop` come from the primary, `listening` and `drained` from the worker, `exit` from either. */
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

/** The state after `event`; `undefined` when the event changes nothing in this state. */
export function slotStateAfter(state: SlotState, event: SlotEvent): SlotState | undefined {
  return transitions[state][event];
}

// Starts processes that end with their parent, whatever they are doing: a hung or stopped process does not notice that its channel
// has closed, and would keep its port from the next gateway. On Linux a process can ask the kernel for this before its program
// begins; Node.js has no API for it, but setpriv(1) of util-linux does.

/**
 * Time to find out whether `setpriv` can make workers end with their primary. After that, workers are started without it, and one that hangs
 * may outlive the primary.
 */
const LAUNCHER_TRY_MS_MAX = 2_000;

const SETPRIV = '/usr/bin/setpriv';
const SETPRIV_WORDS = ['--pdeathsig', 'KILL', '--'];

/**
 * The words to put before a command, so that its process gets SIGKILL when the thread that started it ends. The process id stays.
 * @returns nothing where that is unavailable: there, a process ends when it sees its channel close.
 */
export function endWithParent(): readonly string[] {
  if (process.platform !== 'linux' || !existsSync(SETPRIV)) return [];
  // Another implementation of setpriv may not know the option.
  const { status } = spawnSync(SETPRIV, [...SETPRIV_WORDS, SETPRIV, '--version'], {
    stdio: 'ignore',
    timeout: LAUNCHER_TRY_MS_MAX,
  });
  return status === 0 ? [SETPRIV, ...SETPRIV_WORDS] : [];
}

/** `workerBounds`, and how long a question to workers may take. */
export type FleetBounds = Readonly<Record<keyof typeof workerBounds | 'peerAnswerMsMax', number>>;

/** The plan that all slots start their workers from. */
export interface WorkerPlan {
  /** Rejects, with a message for an operator, when workers should not open the store. */
  readonly checkStore: () => Promise<void>;
  readonly module: URL;
  /** The words before Node.js in a worker's command (`endWithParent`). */
  readonly launcher: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly start: Omit<StartMessage, 'kind' | 'slot'>;
  readonly bounds: FleetBounds;
}

/** A slot, and the process in it that can be asked. */
export interface AskedWorker {
  readonly slot: number;
  readonly state: SlotState;
  /** `undefined` when no process can answer. */
  readonly worker: ChildProcess | undefined;
  readonly storeObstacle: string;
}

interface SlotObserver {
  /** Called after each change of the slot's state. */
  onState(): void;
  /** Gets the messages that concern more than this slot: listening, heartbeats, reports, answers to views, written and forgotten. */
  onMessage(worker: ChildProcess, message: FromWorker): void;
  /** The worker ended by itself after it had listened. */
  onDeath(): void;
  /** The process is gone, and all its messages have arrived. */
  onExit(worker: ChildProcess): void;
}

/**
 * Turns off V8's pretenuring in workers: if objects from one allocation site have lived long, V8 allocates the next ones in old
 * space. The objects of a call live as long as its backend takes, so this happened to them, and a dead object in old space keeps its
 * whole call alive until the next full collection. Scavenges then copied half of all memory and took a third of a worker's time.
 */
const WORKER_NODE_OPTIONS = ['--no-allocation-site-pretenuring'];

/**
 * The heap gets half of a worker's memory; the other half is for message bodies outside it and for memory that no collector manages.
 * `--expose-gc` lets a worker short of memory collect garbage when it chooses (fair/overload-watch.ts).
 */
function memoryNodeOptions({ workerMemoryBytes }: StartMessage['options']): string[] {
  return [`--max-old-space-size=${Math.floor(workerMemoryBytes / 2 ** 21)}`, '--expose-gc'];
}

export class Slot {
  readonly number: number;
  readonly #plan: WorkerPlan;
  readonly #turns: StartQueue;
  readonly #observer: SlotObserver;
  readonly #logger: Logger;
  #state: SlotState = 'waiting';
  #worker: ChildProcess | undefined;
  /** `waiting`: starts the next fork; `starting`, `stopping`: kills a worker that takes too long. Cleared when the state changes. */
  #timer: NodeJS.Timeout | undefined;
  #listeningSinceMs = 0;
  /** The version of the program that the worker runs, as it says itself; `''` before it listens. */
  #version = '';
  #startFailure: string | undefined;
  #hasLeft = false;
  #failedStartsInARow = 0;
  #restartsInARow = 0;
  /** The obstacles that the worker last reported. */
  #storeObstacle = '';
  #storeStaleness = '';
  #keysObstacle = '';
  #isKeyless = false;
  /** The readiness that the worker was last told. */
  #toldReady: boolean | undefined;
  /** A worker died with a signal that a damaged store would cause. */
  #isStoreSuspect = false;

  constructor(number: number, plan: WorkerPlan, turns: StartQueue, observer: SlotObserver, logger: Logger) {
    this.number = number;
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

  /** Whether a worker that was told to retire gets no more connections. */
  get hasLeft(): boolean {
    return this.#hasLeft || this.#state !== 'draining';
  }

  /** Whether so many starts in a row have failed that readiness does not wait for this slot. Starts continue all the same. */
  get isFailing(): boolean {
    return this.#failedStartsInARow >= this.#plan.bounds.workerStartTriesMax;
  }

  get readiness(): SlotReadiness {
    const isListening = this.#state === 'listening';
    return {
      slot: this.number,
      isListening,
      isFailing: this.isFailing,
      storeObstacle: this.#storeObstacle,
      storeStaleness: this.#storeStaleness,
      keysObstacle: this.#keysObstacle,
      isKeyless: this.#isKeyless,
    };
  }

  /** The process that can report its figures; `undefined` when there is none. */
  get answeringWorker(): ChildProcess | undefined {
    return ['listening', 'draining', 'drained'].includes(this.#state) ? this.#worker : undefined;
  }

  get askedWorker(): AskedWorker {
    const [slot, state, worker] = [this.number, this.#state, this.answeringWorker];
    return { slot, state, worker, storeObstacle: this.#storeObstacle };
  }

  /** Tells a listening worker the readiness, unless it was told the same before. */
  tellReadiness(isReady: boolean): void {
    if (this.#state !== 'listening' || this.#worker === undefined || this.#toldReady === isReady) return;
    this.#toldReady = isReady;
    sendToWorker(this.#worker, { kind: 'readiness', isReady });
  }

  /** Why the last start failed; `undefined` once a worker listens. */
  get startFailure(): string | undefined {
    return this.#failedStartsInARow > 0 ? this.#startFailure : undefined;
  }

  get version(): string {
    return this.#version;
  }

  /** Starts a worker when it is this slot's turn. */
  start(): void {
    this.#turns.ask(() => this.#begin());
  }

  /** @returns false when the slot has nothing to start any more. */
  #begin(): boolean {
    if (!this.#advance('fork')) return false;
    const { module, launcher, environment, start, bounds } = this.#plan;
    const [execPath = process.execPath, ...words] = [...launcher, process.execPath];
    this.#startFailure = undefined;
    this.#storeObstacle = this.#storeStaleness = '';
    this.#keysObstacle = '';
    this.#isKeyless = false;
    this.#toldReady = undefined;
    this.#timer = setTimeout(() => {
      this.#startFailure ??= `not listening after ${bounds.workerStartMsMax} ms`;
      this.#worker?.kill('SIGKILL');
    }, bounds.workerStartMsMax);
    try {
      // The `advanced` serialization keeps byte arrays and `undefined`.
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
      // Some fork errors are thrown, others come as events. Handled after `StartQueue` has finished granting this turn.
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
    // After `close`, unlike `exit`, no message can arrive any more, so the reason of a failed start is known.
    worker.once('close', (status, signal) => {
      if (this.#state === 'listening') this.#isStoreSuspect = isMemoryFault(signal);
      this.#onClose(worker, endingInWords(status, signal));
    });
    worker.on('error', (error) => {
      // A process that could not be created has no exit.
      if (worker.pid === undefined) this.#onClose(worker, error.message);
    });
    sendToWorker(worker, { kind: 'start', slot: this.number, ...this.#plan.start });
  }

  /** Drains the worker; one that has not listened yet has nothing to finish, and is stopped. */
  drain(): void {
    this.#startEnding('drain');
  }

  /** Same as `drain`, for a worker whose sessions continue in its successor. */
  retire(): void {
    this.#startEnding('retire');
  }

  #startEnding(kind: 'drain' | 'retire'): void {
    const hasListened = this.#state === 'listening';
    // A retired worker still waits for late requests; a drain ends that wait.
    if (kind === 'drain' && this.#state === 'draining' && this.#worker) sendToWorker(this.#worker, { kind });
    if (!this.#advance('drain')) return;
    if (!hasListened) this.#tellToStop(this.#plan.bounds.workerStopMs, 0);
    else if (this.#worker !== undefined) sendToWorker(this.#worker, { kind });
  }

  /**
   * @param withinMs the time after which the worker is killed.
   * @param farewellsMs the part of it for telling backends that their sessions have ended.
   */
  stop(withinMs: number, farewellsMs: number): void {
    if (this.#advance('stop')) this.#tellToStop(withinMs, farewellsMs);
  }

  /** Kills the worker, without a message and without replacing it. */
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
        this.#version = message.version ?? '';
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
        this.#observer.onState();
        return;
      case 'drained':
        this.#advance('drained');
        return;
      case 'store':
        this.#storeObstacle = message.obstacle;
        this.#storeStaleness = message.staleness ?? '';
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

  /** Retries without limit: the delay grows, so that the log is not flooded, but the cause may be fixed at any time. */
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

  /** Checks a suspect store first: one that kills its readers would kill each new worker at its first request. */
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

/** Whether the signal is typical of a mapped file that was truncated or is corrupt. */
function isMemoryFault(signal: NodeJS.Signals | null): boolean {
  return signal === 'SIGBUS' || signal === 'SIGSEGV';
}

function endingInWords(status: number | null, signal: NodeJS.Signals | null): string {
  if (signal === 'SIGBUS') return 'SIGBUS: a file that it reads was truncated, perhaps that of the embedded store';
  return signal ?? `exit status ${status}`;
}

/** The delay before a failed start is retried, ms; reduced by up to half, at random, so that slots do not all retry at once. */
export function startRetryDelayMs(failedStarts: number, bounds: FleetBounds, random = Math.random()): number {
  const delayMs = delayAfter(failedStarts - 1, bounds.workerRestartDelayMsMin, bounds.workerStartRetryMsMax);
  return Math.round(withJitter(delayMs, random));
}

/** The delay before a restart, ms, after `restartsBefore` others in quick succession. The first restart is immediate. */
export function restartDelayMs(restartsBefore: number, bounds: FleetBounds): number {
  if (restartsBefore === 0) return 0;
  return delayAfter(restartsBefore - 1, bounds.workerRestartDelayMsMin, bounds.workerRestartDelayMsMax);
}
