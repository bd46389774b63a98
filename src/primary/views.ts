// Asks all workers an operator's question, and gathers the answers that come in time. A worker that
// hangs is shown as silent, so that the answers of the others still appear. Cold path.
import type { ChildProcess } from 'node:child_process';
import type { ToWorker } from '../ipc/messages.js';
import type { ViewQuestion } from '../ipc/view-question.js';
import { limits } from '../shared/limits.js';
import type { SlotState } from './slot-state.js';

/** Time for workers to answer an operator's query. After it, a worker that has not answered is reported as silent. */
const ADMIN_VIEW_MS_MAX = 2_000;

/** A slot's process, as it is asked. */
export interface AskedWorker {
  readonly slot: number;
  readonly state: SlotState;
  /** `undefined` when no process can answer. */
  readonly worker: ChildProcess | undefined;
  readonly storeObstacle: string;
}

export interface WorkerAnswer extends Omit<AskedWorker, 'worker'> {
  readonly pid: number | undefined;
  /** `undefined` when the worker did not answer in time, or there is none. */
  readonly answer: unknown;
}

interface Round {
  readonly answers: Map<ChildProcess, unknown>;
  readonly waitingFor: Set<ChildProcess>;
  readonly end: () => void;
}

export class Views {
  readonly #send: (worker: ChildProcess, message: ToWorker) => void;
  readonly #answerMsMax: number;
  readonly #rounds = new Map<number, Round>();
  #lastTicket = 0;

  constructor(send: (worker: ChildProcess, message: ToWorker) => void, answerMsMax: number = ADMIN_VIEW_MS_MAX) {
    this.#send = send;
    this.#answerMsMax = answerMsMax;
  }

  /** @returns `undefined` when too many questions are open. */
  async ask(question: ViewQuestion, asked: readonly AskedWorker[]): Promise<readonly WorkerAnswer[] | undefined> {
    if (this.#rounds.size >= limits.adminViewsAtOnceMax) return undefined;
    const workers = asked.flatMap(({ worker }) => worker ?? []);
    const ticket = ++this.#lastTicket;
    let end = (): void => {};
    const done = new Promise<void>((resolve) => (end = resolve));
    const round: Round = { answers: new Map(), waitingFor: new Set(workers), end };
    this.#rounds.set(ticket, round);
    const timer = setTimeout(end, this.#answerMsMax);
    for (const worker of workers) this.#send(worker, { kind: 'view', ticket, question });
    if (workers.length === 0) end();
    await done;
    clearTimeout(timer);
    this.#rounds.delete(ticket);
    return asked.map(({ worker, ...standing }) => ({
      ...standing,
      pid: worker?.pid,
      answer: worker && round.answers.get(worker),
    }));
  }

  /** @param answer JSON. */
  onAnswer(worker: ChildProcess, ticket: number, answer: string): void {
    const round = this.#rounds.get(ticket);
    if (round?.waitingFor.has(worker) !== true) return;
    round.answers.set(worker, JSON.parse(answer));
    strike(round, worker);
  }

  /** The worker has ended. */
  gone(worker: ChildProcess): void {
    for (const round of this.#rounds.values()) strike(round, worker);
  }
}

function strike({ waitingFor, end }: Round, worker: ChildProcess): void {
  if (waitingFor.delete(worker) && waitingFor.size === 0) end();
}
