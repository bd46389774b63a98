// Before a worker answers the write of a subject's config, it makes every worker drop what it has cached of that subject.
// A round: `written` from one worker → `forget` to all → `forgotten` from each → `all-forgotten` to the first. Cold path.
import type { ToWorker } from '../process/index.js';
import { subjectHash, type Logger } from '../shared/index.js';

/** Changed configs that workers are dropping at once. Beyond it, the oldest round ends as if its time were up. */
export const FORGET_ROUNDS_MAX = 1_024;

interface Round<Worker> {
  readonly announcer: Worker;
  /** The announcer's own ticket. Two workers may use the same number, so the round has a ticket of its own. */
  readonly announcerTicket: number;
  readonly subject: string;
  readonly waitingFor: Set<Worker>;
  readonly timer: NodeJS.Timeout;
}

/** A `Worker` is one process, not a slot: a dead process owes nothing, because its successor starts with an empty cache. */
export class ForgetRounds<Worker> {
  readonly #send: (worker: Worker, message: ToWorker) => void;
  readonly #roundMsMax: number;
  readonly #logger: Logger;
  readonly #rounds = new Map<number, Round<Worker>>();
  #lastTicket = 0;

  constructor(send: (worker: Worker, message: ToWorker) => void, roundMsMax: number, logger: Logger) {
    this.#send = send;
    this.#roundMsMax = roundMsMax;
    this.#logger = logger;
  }

  /** @param workers every worker that serves requests or may soon, including the announcer. */
  begin(announcer: Worker, announcerTicket: number, subject: string, workers: Iterable<Worker>): void {
    this.#makeRoom();
    const ticket = ++this.#lastTicket;
    const timer = setTimeout(() => this.#giveUp(ticket), this.#roundMsMax);
    const round = { announcer, announcerTicket, subject, waitingFor: new Set(workers), timer };
    this.#rounds.set(ticket, round);
    for (const worker of round.waitingFor) this.#send(worker, { kind: 'forget', subject, ticket });
    if (round.waitingFor.size === 0) this.#end(ticket, round);
  }

  forgotten(worker: Worker, ticket: number): void {
    const round = this.#rounds.get(ticket);
    if (round !== undefined) this.#strike(worker, ticket, round);
  }

  /** A dead worker has forgotten everything. */
  gone(worker: Worker): void {
    for (const [ticket, round] of this.#rounds) this.#strike(worker, ticket, round);
  }

  #strike(worker: Worker, ticket: number, round: Round<Worker>): void {
    if (round.waitingFor.delete(worker) && round.waitingFor.size === 0) this.#end(ticket, round);
  }

  #makeRoom(): void {
    if (this.#rounds.size < FORGET_ROUNDS_MAX) return;
    const [oldest] = this.#rounds.keys();
    if (oldest !== undefined) this.#giveUp(oldest);
  }

  /** Ends a round in time: a silent worker must not keep the caller waiting forever. */
  #giveUp(ticket: number): void {
    const round = this.#rounds.get(ticket);
    if (round === undefined) return;
    const fields = { subject: subjectHash(round.subject), silentWorkers: round.waitingFor.size };
    this.#logger.warn(
      fields,
      'not every worker has dropped the changed config: the old one may be used a little longer',
    );
    this.#end(ticket, round);
  }

  #end(ticket: number, round: Round<Worker>): void {
    clearTimeout(round.timer);
    this.#rounds.delete(ticket);
    this.#send(round.announcer, { kind: 'all-forgotten', ticket: round.announcerTicket });
  }
}
