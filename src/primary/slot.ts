// One slot and the worker process in it: forks it, starts it again when it dies, drains and stops it. The slot's number
// outlives its processes: sessions are owned by slots. Cold.
import { fork, type ChildProcess } from 'node:child_process';
import { receiveFromWorker, sendToWorker } from '../ipc/channel.js';
import type { FromWorker, StartMessage } from '../ipc/messages.js';
import type { limits } from '../shared/limits.js';
import type { Logger } from '../shared/logger.js';
import { slotStateAfter, type SlotEvent, type SlotState } from './slot-state.js';

/** The bounds of shared/limits.ts that a fleet and its slots obey. */
export type FleetBounds = Readonly<
  Record<
    Extract<keyof typeof limits, `worker${'Start' | 'Restart' | 'Settled' | 'Stop'}${string}`> | 'forgetRoundMsMax',
    number
  >
>;

/** What the workers of all slots are started with. */
export interface WorkerPlan {
  readonly module: URL;
  readonly environment: NodeJS.ProcessEnv;
  readonly start: Omit<StartMessage, 'kind' | 'slot'>;
  readonly bounds: FleetBounds;
}

export interface SlotObserver {
  /** Called after each change of the slot's state. */
  onState(): void;
  /** What concerns more than this slot: the rounds of forgetting. */
  onMessage(worker: ChildProcess, message: FromWorker): void;
  /** The process is gone, after all its messages. */
  onExit(worker: ChildProcess): void;
  /** No worker will start in this slot. Called once; the slot stays `waiting` until it is drained or stopped. */
  onGivenUp(reason: string): void;
}

/**
 * For a worker's Node. V8 makes objects old at once where those made before lived long, and the objects of a call live as
 * long as its backend takes. But what is old is not looked at by the frequent collections, and a dead old object keeps
 * the whole call that it refers to: they had half of all memory to copy, and took a third of the worker's time.
 */
const WORKER_NODE_OPTIONS = ['--no-allocation-site-pretenuring'];

/**
 * The heap gets half of a worker's memory; the other half is for bodies, which lie outside it, and for what no collector
 * knows. A worker that is short of memory may collect garbage when it wants (worker/overload-watch.ts).
 */
function memoryNodeOptions({ workerMemoryBytes }: StartMessage['options']): string[] {
  return [`--max-old-space-size=${Math.floor(workerMemoryBytes / 2 ** 21)}`, '--expose-gc'];
}

export class Slot {
  readonly #number: number;
  readonly #plan: WorkerPlan;
  readonly #observer: SlotObserver;
  readonly #logger: Logger;
  #state: SlotState = 'waiting';
  #worker: ChildProcess | undefined;
  /** `waiting`: the fork; `starting` and `stopping`: the kill of a worker that takes too long. Ends with the state. */
  #timer: NodeJS.Timeout | undefined;
  #listeningSinceMs = 0;
  #startFailure: string | undefined;
  #failedStartsInARow = 0;
  #restartsInARow = 0;

  constructor(number: number, plan: WorkerPlan, observer: SlotObserver, logger: Logger) {
    this.#number = number;
    this.#plan = plan;
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

  start(): void {
    if (!this.#advance('fork')) return;
    const { module, environment, start, bounds } = this.#plan;
    // `advanced` carries bytes and `undefined` as they are.
    const worker = fork(module, {
      env: environment,
      execArgv: [...process.execArgv, ...WORKER_NODE_OPTIONS, ...memoryNodeOptions(start.options)],
      serialization: 'advanced',
      stdio: 'inherit',
    });
    this.#worker = worker;
    this.#startFailure = undefined;
    receiveFromWorker(
      worker,
      (message) => this.#onMessage(worker, message),
      () => this.#logger.error('the worker sent a message that is not in the set; it is ignored'),
    );
    // After `close`, unlike `exit`, no message can come any more: the reason of a failed start has arrived.
    worker.once('close', (status, signal) => this.#onClose(worker, signal ?? `exit status ${status}`));
    worker.on('error', (error) => {
      // A process that could not be made has no exit.
      if (worker.pid === undefined) this.#onClose(worker, error.message);
    });
    this.#timer = setTimeout(() => {
      this.#startFailure ??= `not listening after ${bounds.workerStartMsMax} ms`;
      worker.kill('SIGKILL');
    }, bounds.workerStartMsMax);
    sendToWorker(worker, { kind: 'start', slot: this.#number, ...start });
  }

  drain(): void {
    const hasListened = this.#state === 'listening';
    if (this.#advance('drain')) this.#tell(hasListened ? 'drain' : 'stop');
  }

  stop(): void {
    if (this.#advance('stop')) this.#tell('stop');
  }

  /** Ends the worker without a word; it is not replaced. */
  kill(): void {
    this.#advance('stop');
    this.#worker?.kill('SIGKILL');
  }

  #tell(kind: 'drain' | 'stop'): void {
    const worker = this.#worker;
    if (worker === undefined) return;
    sendToWorker(worker, { kind });
    if (kind === 'drain') return; // the fleet's time, for all slots together
    this.#timer = setTimeout(() => {
      this.#logger.warn({ workerPid: worker.pid }, 'worker does not stop: killed');
      worker.kill('SIGKILL');
    }, this.#plan.bounds.workerStopMsMax);
  }

  #onMessage(worker: ChildProcess, message: FromWorker): void {
    switch (message.kind) {
      case 'listening':
        if (!this.#advance('listening')) return;
        this.#listeningSinceMs = performance.now();
        this.#failedStartsInARow = 0;
        this.#logger[this.#restartsInARow === 0 ? 'debug' : 'info']({ workerPid: worker.pid }, 'worker listening');
        return;
      case 'start-failed':
        this.#startFailure = message.reason;
        return;
      case 'drained':
        this.#advance('drained');
        return;
      case 'written':
      case 'forgotten':
        this.#observer.onMessage(worker, message);
    }
  }

  #onClose(worker: ChildProcess, ending: string): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    const before = this.#state;
    this.#advance('exit');
    this.#observer.onExit(worker);
    if (before === 'starting') this.#onFailedStart(this.#startFailure ?? ending);
    else if (before === 'listening') this.#onDeath(worker, ending);
    else if (before !== 'stopping') this.#logger.error({ workerPid: worker.pid, ending }, 'worker died while draining');
  }

  #onFailedStart(reason: string): void {
    this.#failedStartsInARow++;
    const triesLeft = this.#plan.bounds.workerStartTriesMax - this.#failedStartsInARow;
    this.#logger.error({ reason, triesLeft }, 'worker cannot start');
    if (triesLeft > 0) this.#startLater();
    else this.#observer.onGivenUp(reason);
  }

  #onDeath(worker: ChildProcess, ending: string): void {
    const listenedMs = Math.round(performance.now() - this.#listeningSinceMs);
    if (listenedMs >= this.#plan.bounds.workerSettledMs) this.#restartsInARow = 0;
    this.#logger.error({ workerPid: worker.pid, ending, listenedMs }, 'worker died; it is replaced');
    this.#startLater();
  }

  #startLater(): void {
    const delayMs = restartDelayMs(this.#restartsInARow++, this.#plan.bounds);
    this.#timer = setTimeout(() => this.start(), delayMs);
  }

  #advance(event: SlotEvent): boolean {
    const next = slotStateAfter(this.#state, event);
    if (next === undefined) return false;
    clearTimeout(this.#timer);
    this.#state = next;
    this.#observer.onState();
    return true;
  }
}

/** The wait before a restart, when `restartsBefore` others came soon after each other, ms. The first does not wait. */
export function restartDelayMs(restartsBefore: number, bounds: FleetBounds): number {
  if (restartsBefore === 0) return 0;
  return Math.min(bounds.workerRestartDelayMsMin * 2 ** (restartsBefore - 1), bounds.workerRestartDelayMsMax);
}
