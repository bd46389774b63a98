// Asks several workers at once, and gathers the answers that come in time. A worker that has ended is not waited for. Cold path.
import type { ChildProcess } from 'node:child_process';
import { metricFamilies, SeriesSum, type Series } from '../metrics/index.js';
import type { ToWorker } from '../process/index.js';

export interface WorkerPoll<Answer> {
  readonly answers: ReadonlyMap<ChildProcess, Answer>;
  /** The workers that have neither answered nor ended. */
  readonly silent: ReadonlySet<ChildProcess>;
}

interface OpenPoll<Answer> {
  readonly answers: Map<ChildProcess, Answer>;
  readonly silent: Set<ChildProcess>;
  readonly end: () => void;
}

export class WorkerPolls<Answer> {
  readonly #open = new Map<number, OpenPoll<Answer>>();
  #lastTicket = 0;

  /** How many polls are open. */
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
    const round: OpenPoll<Answer> = { answers: new Map(), silent: new Set(workers), end };
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
    settle(round, worker);
  }

  onGone(worker: ChildProcess): void {
    for (const round of this.#open.values()) settle(round, worker);
  }
}

function settle({ silent, end }: OpenPoll<unknown>, worker: ChildProcess): void {
  if (silent.delete(worker) && silent.size === 0) end();
}

// Gathers the figures of all workers on request, and adds them up. Cold path.
//
// A counter must never fall, or its rate would jump. So a worker's last report still counts when it does not answer in time, and
// forever after its death: only what it counted since that report is lost.

export interface GatheredFigures {
  readonly series: readonly Series[];
  /** How many workers did not answer, so that their figures are from an earlier report. */
  readonly silentCount: number;
}

type FigureBounds = Readonly<Record<'peerAnswerMsMax' | 'metricGatheringAgeMsMax', number>>;

export class FleetFigures {
  readonly #send: (worker: ChildProcess, message: ToWorker) => void;
  readonly #bounds: FigureBounds;
  readonly #latest = new Map<ChildProcess, readonly Series[]>();
  /** The sums of workers that have ended. */
  readonly #retired = new SeriesSum();
  readonly #rounds = new WorkerPolls<void>();
  /** The gathering that is under way, or recent enough to be reused. */
  #gathered: Promise<GatheredFigures> | undefined;

  constructor(send: (worker: ChildProcess, message: ToWorker) => void, bounds: FigureBounds) {
    this.#send = send;
    this.#bounds = bounds;
  }

  /**
   * A request made during a gathering, or soon after it, gets the same result, because each gathering costs every worker time.
   * @param workers returns the workers that can answer.
   */
  async gather(workers: () => Iterable<ChildProcess>): Promise<GatheredFigures> {
    if (this.#gathered === undefined) {
      const gathered = this.#gather(workers());
      this.#gathered = gathered;
      void gathered.then(() => {
        setTimeout(() => (this.#gathered = undefined), this.#bounds.metricGatheringAgeMsMax).unref();
      });
    }
    return this.#gathered;
  }

  async #gather(workers: Iterable<ChildProcess>): Promise<GatheredFigures> {
    const { silent } = await this.#rounds.ask(workers, this.#bounds.peerAnswerMsMax, (worker, ticket) =>
      this.#send(worker, { kind: 'report', ticket }),
    );
    const sum = new SeriesSum();
    for (const series of this.#retired.all) sum.add(series);
    for (const report of this.#latest.values()) for (const series of report) sum.add(series);
    return { series: [...sum.all], silentCount: silent.size };
  }

  onReport(worker: ChildProcess, ticket: number, series: readonly Series[]): void {
    this.#latest.set(worker, series);
    this.#rounds.onAnswer(worker, ticket);
  }

  /** The worker has ended, and its gauges with it. */
  onGone(worker: ChildProcess): void {
    for (const series of this.#latest.get(worker) ?? []) {
      if (metricFamilies[series.name].type !== 'gauge') this.#retired.add(series);
    }
    this.#latest.delete(worker);
    this.#rounds.onGone(worker);
  }
}
