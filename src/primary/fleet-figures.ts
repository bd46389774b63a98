// Gathers the figures of all workers when somebody asks, and adds up what they say. Cold.
//
// A counter must never fall, or its rate would jump. So what a worker has said last counts on for one that does not answer
// in time, and for good after its death: what it had counted since is lost, and no more.
import type { ChildProcess } from 'node:child_process';
import { metricFamilies } from '../metrics/catalogue.js';
import { SeriesSum, type Series } from '../metrics/series.js';
import type { ToWorker } from '../ipc/messages.js';

interface Round {
  readonly ticket: number;
  readonly waitingFor: Set<ChildProcess>;
  readonly done: Promise<void>;
  readonly end: () => void;
}

export interface GatheredFigures {
  readonly series: readonly Series[];
  /** Workers whose figures are those of an earlier time. */
  readonly silentCount: number;
}

/** Of shared/limits. */
export type FigureBounds = Readonly<Record<'metricReportMsMax' | 'metricGatheringAgeMsMax', number>>;

export class FleetFigures {
  readonly #send: (worker: ChildProcess, message: ToWorker) => void;
  readonly #bounds: FigureBounds;
  readonly #latest = new Map<ChildProcess, readonly Series[]>();
  /** What the dead have counted. */
  readonly #retired = new SeriesSum();
  #round: Round | undefined;
  /** Under way, or not old yet. */
  #gathered: Promise<GatheredFigures> | undefined;
  #lastTicket = 0;

  constructor(send: (worker: ChildProcess, message: ToWorker) => void, bounds: FigureBounds) {
    this.#send = send;
    this.#bounds = bounds;
  }

  /**
   * Who asks while others wait, or soon after them, hears the same: every gathering takes the time of every worker.
   * @param workers that can answer.
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
    const round = this.#begin(workers);
    await round.done;
    const sum = new SeriesSum();
    for (const series of this.#retired.all) sum.add(series);
    for (const report of this.#latest.values()) for (const series of report) sum.add(series);
    return { series: [...sum.all], silentCount: round.waitingFor.size };
  }

  onReport(worker: ChildProcess, ticket: number, series: readonly Series[]): void {
    this.#latest.set(worker, series);
    if (ticket === this.#round?.ticket) this.#strike(this.#round, worker);
  }

  /** The worker is no more. Gauges end with it. */
  gone(worker: ChildProcess): void {
    for (const series of this.#latest.get(worker) ?? []) {
      if (metricFamilies[series.name].type !== 'gauge') this.#retired.add(series);
    }
    this.#latest.delete(worker);
    if (this.#round !== undefined) this.#strike(this.#round, worker);
  }

  #begin(workers: Iterable<ChildProcess>): Round {
    let end = (): void => {};
    const done = new Promise<void>((resolve) => (end = resolve));
    const round: Round = { ticket: ++this.#lastTicket, waitingFor: new Set(workers), done, end };
    this.#round = round;
    const timer = setTimeout(end, this.#bounds.metricReportMsMax);
    void done.then(() => {
      clearTimeout(timer);
      this.#round = undefined;
    });
    for (const worker of round.waitingFor) this.#send(worker, { kind: 'report', ticket: round.ticket });
    if (round.waitingFor.size === 0) end();
    return round;
  }

  #strike(round: Round, worker: ChildProcess): void {
    if (round.waitingFor.delete(worker) && round.waitingFor.size === 0) round.end();
  }
}
