// Asks several workers at once, and gathers the answers that come in time. A worker that has ended is not waited for. Cold path.
import type { ChildProcess } from 'node:child_process';

export interface WorkerPoll<Answer> {
  readonly answers: ReadonlyMap<ChildProcess, Answer>;
  /** Those that have neither answered nor ended. */
  readonly silent: ReadonlySet<ChildProcess>;
}

interface OpenRound<Answer> {
  readonly answers: Map<ChildProcess, Answer>;
  readonly silent: Set<ChildProcess>;
  readonly end: () => void;
}

export class WorkerPolls<Answer> {
  readonly #open = new Map<number, OpenRound<Answer>>();
  #lastTicket = 0;

  /** How many are open. */
  get count(): number {
    return this.#open.size;
  }

  /** @param send asks a worker, which answers with the ticket. */
  async ask(
    workers: Iterable<ChildProcess>,
    answerMsMax: number,
    send: (worker: ChildProcess, ticket: number) => void,
  ): Promise<WorkerPoll<Answer>> {
    const ticket = ++this.#lastTicket;
    let end = (): void => {};
    const done = new Promise<void>((resolve) => (end = resolve));
    const round: OpenRound<Answer> = { answers: new Map(), silent: new Set(workers), end };
    this.#open.set(ticket, round);
    const timer = setTimeout(end, answerMsMax);
    for (const worker of round.silent) send(worker, ticket);
    if (round.silent.size === 0) end();
    await done;
    clearTimeout(timer);
    this.#open.delete(ticket);
    return round;
  }

  onAnswer(worker: ChildProcess, ticket: number, answer: Answer): void {
    const round = this.#open.get(ticket);
    if (round?.silent.has(worker) !== true) return;
    round.answers.set(worker, answer);
    strike(round, worker);
  }

  gone(worker: ChildProcess): void {
    for (const round of this.#open.values()) strike(round, worker);
  }
}

function strike({ silent, end }: OpenRound<unknown>, worker: ChildProcess): void {
  if (silent.delete(worker) && silent.size === 0) end();
}
