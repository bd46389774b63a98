// The requests that one session is working on. Hot path: a few assignments per request.
import {
  type Account,
  ListNode,
  type Deadline,
  type DeadlineWheel,
  FairQueueEntry,
  TurnScheduler,
} from '../../fair/index.js';
import { limits } from '../../shared/index.js';
import type { AskingStream } from '../asking/backend-requests.js';
import type { BackendMessage, ClientMessage } from '../../mcp/index.js';
import type { UpstreamSession, IdSpan } from '../../upstream/index.js';
import { idKey, ambiguousIdKey } from '../../bytes/index.js';
import type { Exchange } from '../../exchange/index.js';

interface WaitingCancellation {
  /** The number of the last large message that came before the cancellation. */
  readonly lastNumberBefore: number;
  /** How many of the large messages up to that one are still being parsed. */
  scansLeft: number;
  readonly tryCancel: () => boolean;
}

export const BATCH_PART_NUMBER = 0;

/**
 * The large messages of a session that are being parsed, slice by slice, while other messages overtake them. A cancellation that finds no
 * request waits until the messages that came before it have been parsed.
 */
export class ScansInProgress {
  #count = 0;
  #lastNumber = 0;
  #cancellations: WaitingCancellation[] = [];

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Notes a large message. @param isPart whether it is part of a batch, for which waiting cancellations wait, too. @returns its number. */
  begin(isPart = false): number {
    this.#count += 1;
    if (!isPart) return ++this.#lastNumber;
    for (const cancellation of this.#cancellations) cancellation.scansLeft += 1;
    return BATCH_PART_NUMBER;
  }

  /** Called when a message has been parsed. Its request, if any, is in flight. */
  end(number: number): void {
    this.#count -= 1;
    if (this.#cancellations.length === 0) return;
    this.#cancellations = this.#cancellations.filter((cancellation) => {
      if (number > cancellation.lastNumberBefore) return true;
      cancellation.scansLeft -= 1;
      return !cancellation.tryCancel() && cancellation.scansLeft > 0;
    });
  }

  /** Lets a cancellation wait. @param tryCancel called whenever an earlier message has been parsed, until it returns true or none is left. */
  deferCancellation(tryCancel: () => boolean): void {
    if (this.#count === 0 || this.#cancellations.length >= limits.sessionRequestsInFlightMax) return;
    this.#cancellations.push({ lastNumberBefore: this.#lastNumber, scansLeft: this.#count, tryCancel });
  }
}

export abstract class RequestInFlight extends ListNode {
  abstract readonly id: IdSpan;
  #idKey: string | undefined;
  beganInTick = 0;
  /** Whether the request can be cancelled; false where no backend works on it. */
  abstract readonly isCancellable: boolean;

  /** The key of the caller's id, computed on first use: few requests are looked up. */
  get idKey(): string {
    const { bytes, start, end } = this.id;
    return (this.#idKey ??= idKey(bytes, start, end));
  }

  cancel?(exchange: Exchange, notification: ClientMessage): void;

  /** A key of what the request waits for, if its caller is gone and a later request can wait for it instead. */
  abandonedTaskId?(): string | undefined;

  /** Ends the request, because nobody waits for the answer. Absent for requests that soon end by themselves. */
  giveUp?(): void;

  /** Called once per tick when the request has been in flight for long: the caller may be sent a sign of life. */
  onSlow?(): void;

  /** Called when the session is left to another process, which gets the client's responses to backends from now on. */
  onSessionHandedOver?(): void;

  /** @param isExcused whether the backend's silence does not count, because it waits for an answer to a request on its own stream. */
  excuseSilence?(upstream: UpstreamSession, isExcused: boolean): void;

  /** Where the client gets requests that the backend sends on its own stream during this request; `undefined` if it cannot get any. */
  askingStreamFor?(upstream: UpstreamSession): AskingStream | undefined;

  /** Takes progress from the backend's own stream. @returns whether it belongs to this request. */
  takeProgress?(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): boolean;

  /** The progress token in the form of `ambiguousIdKey`, if there is one. */
  get ambiguousProgressKey(): string | undefined {
    return undefined;
  }

  /** Whether this request is at another backend than the given one. */
  isForOtherBackend?(upstream: UpstreamSession): boolean;

  /** Whether `endWithSession` may be called a few turns of the event loop later. */
  get mayEndLater(): boolean {
    return false;
  }

  abstract endWithSession(): void;
}

export class RequestsInFlight extends ListNode {
  readonly #account: Account;
  readonly #slow: SlowRequests;
  readonly #head = new ListNode();
  /** The number of requests. Changed only here. */
  count = 0;

  constructor(account: Account, slow: SlowRequests) {
    super();
    this.#account = account;
    this.#slow = slow;
  }

  get isEmpty(): boolean {
    return this.count === 0;
  }

  get isFull(): boolean {
    return this.count >= limits.sessionRequestsInFlightMax;
  }

  begin(work: RequestInFlight): void {
    if (this.count === 0) this.#slow.add(this);
    work.beganInTick = this.#slow.tick;
    this.#head.append(work);
    this.count += 1;
    this.#account.requests.take(1);
  }

  /** Removes a request. @returns whether no request is left and this one took long: then its end counts as use of the session. */
  finish(work: RequestInFlight): boolean {
    if (!work.isLinked) return false;
    work.unlink();
    this.count -= 1;
    if (this.count === 0) this.unlink();
    this.#account.requests.give(1);
    return this.count === 0 && work.beganInTick !== this.#slow.tick;
  }

  /** The latest cancellable request with this id: a caller may have used it wrongly for several. */
  find(idKey: string): RequestInFlight | undefined {
    for (let work = this.#head.previous; work instanceof RequestInFlight; work = work.previous) {
      if (work.isCancellable && work.idKey === idKey) return work;
    }
    return undefined;
  }

  /** Gives up the requests whose callers are gone and whose `abandonedTaskId` is that of a new request. */
  giveUpAbandoned(waitKey: string): void {
    for (const work of this.#chosen((each) => each.abandonedTaskId?.() === waitKey)) work.giveUp?.();
  }

  excuseSilence(upstream: UpstreamSession, isExcused: boolean): void {
    for (let work = this.#head.next; work instanceof RequestInFlight; work = work.next) {
      work.excuseSilence?.(upstream, isExcused);
    }
  }

  /** Delivers progress to its request. @returns whether it has a request here, or the token of a request at another backend. */
  takeProgress(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): boolean {
    let isForOtherBackend = false;
    for (const work of this.#alike(bytes, message)) {
      if (work.takeProgress?.(upstream, bytes, message)) return true;
      isForOtherBackend ||= work.isForOtherBackend?.(upstream) === true;
    }
    return isForOtherBackend;
  }

  /** Whether a client could mistake this progress for the progress of a request at another backend. */
  isMistakable(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): boolean {
    for (const work of this.#alike(bytes, message)) if (work.isForOtherBackend?.(upstream)) return true;
    return false;
  }

  /** The requests whose token a client could confuse with that of the progress. Each costs one comparison: progress may be frequent. */
  *#alike(bytes: Buffer, { progressTokenStart, progressTokenEnd }: BackendMessage): IterableIterator<RequestInFlight> {
    if (progressTokenStart === -1) return;
    const ambiguousKey = ambiguousIdKey(bytes, progressTokenStart, progressTokenEnd);
    for (let work = this.#head.next; work instanceof RequestInFlight; work = work.next)
      if (work.ambiguousProgressKey === ambiguousKey) yield work;
  }

  /** The stream of the only request during which the backend can be asking; `undefined` if there are several. */
  soleAskingStream(upstream: UpstreamSession): AskingStream | undefined {
    let sole: AskingStream | undefined;
    for (let work = this.#head.next; work instanceof RequestInFlight; work = work.next) {
      const askable = work.askingStreamFor?.(upstream);
      if (askable !== undefined && sole !== undefined) return undefined;
      sole ??= askable;
    }
    return sole;
  }

  retire(): void {
    for (const work of this.#chosen(() => true)) work.onSessionHandedOver?.();
  }

  /** Notifies slow requests: those that began in this tick or before. */
  notifySlow(tick: number): void {
    for (const work of this.#chosen((each) => each.beganInTick <= tick)) work.onSlow?.();
  }

  /** The chosen requests, without those that end while others are visited. */
  *#chosen(isChosen: (work: RequestInFlight) => boolean): IterableIterator<RequestInFlight> {
    const chosen: RequestInFlight[] = [];
    for (let work = this.#head.next; work instanceof RequestInFlight; work = work.next)
      if (isChosen(work)) chosen.push(work);
    for (const work of chosen) if (work.isLinked) yield work;
  }

  /** Ends all requests; if they are many, some later (`mayEndLater`), round robin. @param subject `undefined` to end all at once. */
  endAll(subject: string | undefined): void {
    const end = (work: RequestInFlight): void => {
      this.finish(work);
      work.endWithSession();
    };
    const all = new ListNode();
    all.takeAll(this.#head);
    const later = new ListNode();
    for (const work of itemsOf(all)) {
      if (subject === undefined || !work.mayEndLater) {
        end(work);
      } else {
        work.unlink();
        later.append(work);
      }
    }
    if (subject !== undefined) visitAll(subject, itemsOf(later), { visit: end, onNoRoom: end });
  }
}

/** The items of a list. Each must be removed from the list before the next is requested. */
function* itemsOf(head: ListNode): IterableIterator<RequestInFlight> {
  for (let work = head.next; work instanceof RequestInFlight; work = head.next) yield work;
}

// Notifies requests that have been in flight for long, so that clients and proxies receive something before they give up. Counts ticks
// instead of reading a clock or setting a timer for each request. Hot path: a few assignments per request.

/** A request is slow after so many whole ticks: after the configured time, or at most a quarter of it later. */
const TICKS_UNTIL_SLOW = 4;

export class SlowRequests {
  readonly #busy = new ListNode();
  readonly #nextTick: Deadline;
  #isTicking = false;
  /** The number of the current tick. Changed only here. */
  tick = 0;

  constructor(deadlines: DeadlineWheel, slowMs: number) {
    this.#nextTick = deadlines.after(slowMs / TICKS_UNTIL_SLOW, () => this.#onTick());
    this.#nextTick.cancel();
  }

  /** Adds a session, which unlinks itself when it has no requests left. */
  add(requests: RequestsInFlight): void {
    this.#busy.append(requests);
    if (this.#isTicking) return;
    this.#isTicking = true;
    this.#nextTick.restart();
  }

  #onTick(): void {
    this.tick += 1;
    const tick = this.tick - TICKS_UNTIL_SLOW - 1;
    // The sessions left to notify: a callback may unlink its own session and others. New sessions are notified in the next tick.
    const unvisited = new ListNode();
    unvisited.takeAll(this.#busy);
    for (let requests = unvisited.next; requests instanceof RequestsInFlight; requests = unvisited.next) {
      requests.unlink();
      this.#busy.append(requests);
      requests.notifySlow(tick);
    }
    this.#isTicking = this.#busy.isLinked;
    if (this.#isTicking) this.#nextTick.restart();
  }
}

// Spreads work on many items over turns of the event loop: a virtual host may have hundreds of backends, each of which takes tens of
// microseconds, and a session a thousand requests. The first few are visited at once, which is all that most sessions need. The others get
// `turnMs` of each turn, shared by all sessions, round robin by subject. Cold path.

/** Items of one session that are visited before `visitAll` returns, in a millisecond or two together. */
export const VISITED_AT_ONCE_MAX = 16;
export const VISITED_PER_STEP = 4;
const visitScheduler = new TurnScheduler({ untimedMax: 0, turnMs: limits.turnMs });

interface Visits<Item> {
  /** Called once per item, in order. Must not throw. */
  readonly visit: (item: Item) => void;
  /** Called instead of `visit` if too many sessions wait. */
  readonly onNoRoom: (item: Item) => void;
}

/** Visits the first items at once, the others in later turns. @param items may lose items that were not visited yet. */
export function visitAll<Item>(
  subject: string,
  items: IterableIterator<Item>,
  { visit, onNoRoom }: Visits<Item>,
  scheduler = visitScheduler,
): void {
  const visitLater = (): void => {
    if (!(scheduler.wait(subject, step) instanceof FairQueueEntry)) for (const item of items) onNoRoom(item);
  };
  const step = (): void => {
    if (visitSome(items, visit, VISITED_PER_STEP)) visitLater();
  };
  if (visitSome(items, visit, VISITED_AT_ONCE_MAX)) visitLater();
}

function visitSome<Item>(left: Iterator<Item>, visit: (item: Item) => void, countMax: number): boolean {
  for (let count = 0; count < countMax; count++) {
    const next = left.next();
    if (next.done === true) return false;
    visit(next.value);
  }
  return true;
}
