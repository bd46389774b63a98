// The workers of a gateway as Linux shows them: which live, how much memory they hold, how many files they have open.
import { readdirSync } from 'node:fs';
import { residentBytesOf } from '../../bench/process-usage.js';

const LOOK_EVERY_MS = 100;

export class WorkerWatch {
  readonly #workerPids: () => readonly number[];
  readonly #timer: NodeJS.Timeout;
  #residentBytesMax = 0;

  constructor(workerPids: () => readonly number[]) {
    this.#workerPids = workerPids;
    this.#look();
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
  }

  /** The most memory that any worker has held since the watch began. */
  get residentBytesMax(): number {
    return this.#residentBytesMax;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    for (const pid of this.#workerPids()) this.#residentBytesMax = Math.max(this.#residentBytesMax, residentBytes(pid));
  }
}

/** 0 for a process that has ended. */
export function residentBytes(pid: number): number {
  try {
    return residentBytesOf([pid]);
  } catch {
    return 0;
  }
}

/** Files, sockets and pipes that these processes have open, in total. */
export function openFiles(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + openFilesOf(pid), 0);
}

function openFilesOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}
