// The requests that one session is working on, the latest last. It is in the list of `SlowRequests` while it has any. Hot path:
// a few stores per request.
import type { Account } from '../../shared/accounts.js';
import { limits } from '../../shared/limits.js';
import { ListNode } from '../../shared/list-node.js';
import type { AskingStream } from '../asking/asking-stream.js';
import { RequestInFlight } from './request-in-flight.js';
import type { SlowRequests } from './slow-requests.js';
import { endingTurnRules, Turns } from './turns.js';
import type { BackendMessage } from '../../protocol/json-rpc.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';

/** The turns of this process, shared by all sessions. */
const endingTurns = new Turns<RequestInFlight>(endingTurnRules);

export class RequestsInFlight extends ListNode {
  readonly #account: Account;
  readonly #slow: SlowRequests;
  readonly #head = new ListNode();
  #count = 0;

  constructor(account: Account, slow: SlowRequests) {
    super();
    this.#account = account;
    this.#slow = slow;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  get count(): number {
    return this.#count;
  }

  get isFull(): boolean {
    return this.#count >= limits.sessionRequestsInFlightMax;
  }

  begin(work: RequestInFlight): void {
    if (this.#count === 0) this.#slow.add(this);
    work.begunInTurn = this.#slow.turn;
    this.#head.append(work);
    this.#count += 1;
    this.#account.requests.take(1);
  }

  /** @returns whether nothing is in flight any more, and the request was not a quick one, whose begin is enough as a sign of activity. */
  finish(work: RequestInFlight): boolean {
    if (!work.isLinked) return false;
    work.unlink();
    this.#count -= 1;
    if (this.#count === 0) this.unlink();
    this.#account.requests.give(1);
    return this.#count === 0 && work.begunInTurn !== this.#slow.turn;
  }

  /** The cancellable request whose id has this key; the latest, where a caller has wrongly used the id for several. */
  find(idKey: string): RequestInFlight | undefined {
    for (let work = this.#head.previous; work instanceof RequestInFlight; work = work.previous) {
      if (work.isCancellable && work.idKey === idKey) return work;
    }
    return undefined;
  }

  /** Gives up requests whose callers are gone and that wait for the same as a new one: they would only take up its room. */
  giveUpAbandoned(wait: string): void {
    const abandoned: RequestInFlight[] = [];
    for (let work = this.#head.next; work instanceof RequestInFlight; work = work.next) {
      if (work.abandonedWait === wait) abandoned.push(work);
    }
    // Giving up one may end others too.
    for (const work of abandoned) if (work.isLinked) work.giveUp();
  }

  excuseSilence(upstream: UpstreamSession, isExcused: boolean): void {
    for (let work = this.#head.next; work instanceof RequestInFlight; work = work.next) {
      work.excuseSilence(upstream, isExcused);
    }
  }

  /** @returns whether the progress belongs to one of the requests, of whichever backend. */
  hearProgress(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): boolean {
    for (let work = this.#head.next; work instanceof RequestInFlight; work = work.next) {
      if (work.hearProgress(upstream, bytes, message)) return true;
    }
    return false;
  }

  /** The only request whose client can be asked what the backend asks on its own stream; `undefined` if several could be meant. */
  soleAskable(upstream: UpstreamSession): AskingStream | undefined {
    let sole: AskingStream | undefined;
    for (let work = this.#head.next; work instanceof RequestInFlight; work = work.next) {
      const askable = work.askableBy(upstream);
      if (askable !== undefined && sole !== undefined) return undefined;
      sole ??= askable;
    }
    return sole;
  }

  /** Another process continues the session. */
  retire(): void {
    const works: RequestInFlight[] = [];
    for (let work = this.#head.next; work instanceof RequestInFlight; work = work.next) works.push(work);
    // Each may end others too.
    for (const work of works) if (work.isLinked) work.onRetired();
  }

  /** For `SlowRequests`. @param turn requests that began in this turn or before are slow. */
  tellSlow(turn: number): void {
    const slow: RequestInFlight[] = [];
    for (let work = this.#head.next; work instanceof RequestInFlight; work = work.next) {
      if (work.begunInTurn > turn) break;
      slow.push(work);
    }
    // Each may end others too.
    for (const work of slow) if (work.isLinked) work.onSlow();
  }

  /**
   * The session has ended: ends all its requests. Beyond the first few, those that allow it (`mayEndLater`) end in later turns.
   * @param subject whose turns they use; `undefined` where there are no later turns, and all must end now.
   */
  endAll(subject: string | undefined): void {
    const end = (work: RequestInFlight): void => this.#end(work);
    const later = new ListNode();
    for (const work of linkedTo(this.#takeAll())) {
      if (subject === undefined || !work.mayEndLater) {
        end(work);
      } else {
        work.unlink();
        later.append(work);
      }
    }
    if (subject !== undefined) endingTurns.visitAll(subject, linkedTo(later), { visit: end, onNoRoom: end });
  }

  #takeAll(): ListNode {
    const taken = new ListNode();
    taken.takeAll(this.#head);
    return taken;
  }

  #end(work: RequestInFlight): void {
    this.finish(work);
    work.endWithSession();
  }
}

/** Iterates over the list; each item must be taken out of it before the next is requested. */
function* linkedTo(head: ListNode): IterableIterator<RequestInFlight> {
  for (let work = head.next; work instanceof RequestInFlight; work = head.next) yield work;
}
