// A worker that wrote a subject's config has every worker forget what is cached of it, before it says so to its caller.
// A round: `written` from one worker → `forget` to all → `forgotten` from each → `all-forgotten` to the first. Cold.
import type { ToWorker } from '../ipc/messages.js';
import { limits } from '../shared/limits.js';
import { subjectHash, type Logger } from '../shared/logger.js';

interface Round<Worker> {
  readonly announcer: Worker;
  /** The announcer's own number for it: two workers may use the same one, so the round has another. */
  readonly announcerTicket: number;
  readonly subject: string;
  readonly waitingFor: Set<Worker>;
  readonly timer: NodeJS.Timeout;
}

/** A `Worker` is one process, not a slot: what a dead process owed, its successor never cached. */
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

  /** @param workers every worker that serves or may soon serve requests, the announcer among them. */
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

  /** A worker that died has forgotten everything. */
  gone(worker: Worker): void {
    for (const [ticket, round] of this.#rounds) this.#strike(worker, ticket, round);
  }

  #strike(worker: Worker, ticket: number, round: Round<Worker>): void {
    if (round.waitingFor.delete(worker) && round.waitingFor.size === 0) this.#end(ticket, round);
  }

  #makeRoom(): void {
    if (this.#rounds.size < limits.forgetRoundsMax) return;
    const [oldest] = this.#rounds.keys();
    if (oldest !== undefined) this.#giveUp(oldest);
  }

  /** A worker that does not answer must not keep the caller waiting for ever. */
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
