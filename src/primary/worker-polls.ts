// Asks several workers at once, and gathers the answers that come in time. Cold path.
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
  readonly #openPolls = new Map<number, OpenPoll<Answer>>();
  #lastTicket = 0;

  get openCount(): number {
    return this.#openPolls.size;
  }

  /** Resolves when all workers have answered or ended, or after `answerMsMax`. @param send asks one worker; the answer has the ticket. */
  async ask(
    workers: Iterable<ChildProcess>,
    answerMsMax: number,
    send: (worker: ChildProcess, ticket: number) => void,
  ): Promise<WorkerPoll<Answer>> {
    const ticket = ++this.#lastTicket;
    let end = (): void => {};
    const done = new Promise<void>((resolve) => (end = resolve));
    const poll: OpenPoll<Answer> = { answers: new Map(), silent: new Set(workers), end };
    this.#openPolls.set(ticket, poll);
    const timer = setTimeout(end, answerMsMax);
    for (const worker of poll.silent) send(worker, ticket);
    if (poll.silent.size === 0) end();
    await done;
    clearTimeout(timer);
    this.#openPolls.delete(ticket);
    return poll;
  }

  onAnswer(worker: ChildProcess, ticket: number, answer: Answer): void {
    const poll = this.#openPolls.get(ticket);
    if (poll?.silent.has(worker) !== true) return;
    poll.answers.set(worker, answer);
    removeSilent(poll, worker);
  }

  onWorkerGone(worker: ChildProcess): void {
    for (const poll of this.#openPolls.values()) removeSilent(poll, worker);
  }
}

function removeSilent({ silent, end }: OpenPoll<unknown>, worker: ChildProcess): void {
  if (silent.delete(worker) && silent.size === 0) end();
}

// Adds up the figures of all workers. A counter must never fall, or its rate would jump: a worker's last report counts while it does not
// answer, and for ever after its death.

export interface GatheredFigures {
  readonly series: readonly Series[];
  /** How many workers did not answer: their figures are from an earlier report. */
  readonly silentCount: number;
}

type FigureBounds = Readonly<Record<'peerAnswerMsMax' | 'metricGatheringAgeMsMax', number>>;

export class FleetFigures {
  readonly #send: (worker: ChildProcess, message: ToWorker) => void;
  readonly #bounds: FigureBounds;
  readonly #latestReports = new Map<ChildProcess, readonly Series[]>();
  readonly #sumOfDead = new SeriesSum();
  readonly #polls = new WorkerPolls<void>();
  /** A gathering that is under way, or recent enough to be reused. */
  #latestGathering: Promise<GatheredFigures> | undefined;

  constructor(send: (worker: ChildProcess, message: ToWorker) => void, bounds: FigureBounds) {
    this.#send = send;
    this.#bounds = bounds;
  }

  /**
   * Gathers the figures. Requests in quick succession get one result, because each gathering costs every worker time.
   * @param workers returns the workers that can answer.
   */
  async gather(workers: () => Iterable<ChildProcess>): Promise<GatheredFigures> {
    if (this.#latestGathering === undefined) {
      const gathered = this.#gather(workers());
      this.#latestGathering = gathered;
      void gathered.then(() => {
        setTimeout(() => (this.#latestGathering = undefined), this.#bounds.metricGatheringAgeMsMax).unref();
      });
    }
    return this.#latestGathering;
  }

  async #gather(workers: Iterable<ChildProcess>): Promise<GatheredFigures> {
    const { silent } = await this.#polls.ask(workers, this.#bounds.peerAnswerMsMax, (worker, ticket) =>
      this.#send(worker, { kind: 'report', ticket }),
    );
    const sum = new SeriesSum();
    for (const series of this.#sumOfDead.all) sum.add(series);
    for (const report of this.#latestReports.values()) for (const series of report) sum.add(series);
    return { series: [...sum.all], silentCount: silent.size };
  }

  onReport(worker: ChildProcess, ticket: number, series: readonly Series[]): void {
    this.#latestReports.set(worker, series);
    this.#polls.onAnswer(worker, ticket);
  }

  /** Called when a worker is gone. Its counters stay in the sum; its gauges end with it. */
  onWorkerGone(worker: ChildProcess): void {
    for (const series of this.#latestReports.get(worker) ?? []) {
      if (metricFamilies[series.name].type !== 'gauge') this.#sumOfDead.add(series);
    }
    this.#latestReports.delete(worker);
    this.#polls.onWorkerGone(worker);
  }
}
