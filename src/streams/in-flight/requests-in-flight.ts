// The requests that one session is working on, the latest last. While there are any, the session is in the list of `SlowRequests`. Hot
// path: a few stores per request.
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
import type { CompiledBackend } from '../../user-config/index.js';

interface WaitingCancellation {
  /** Number of the last message before this cancellation, and how many of the messages before it are still being parsed. */
  readonly lastBefore: number;
  readingsLeft: number;
  readonly tryCancel: () => boolean;
}

/** The number of every part of a batch: every waiting cancellation waits for the part too. */
export const BATCH_PART_NUMBER = 0;

/**
 * The large messages of a session that are being parsed, slice by slice. Other messages overtake them meanwhile. A cancellation
 * that finds no request may be for a message that is still being parsed, so it waits until those that arrived before it have been parsed.
 */
export class ScansInProgress {
  #count = 0;
  #lastNumber = 0;
  #cancellations: WaitingCancellation[] = [];

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /**
   * @param isPart whether the message is a part of a batch: cancellations that wait for the batch wait for this part too.
   * @returns the message's number.
   */
  begin(isPart = false): number {
    this.#count += 1;
    if (!isPart) return ++this.#lastNumber;
    for (const cancellation of this.#cancellations) cancellation.readingsLeft += 1;
    return BATCH_PART_NUMBER;
  }

  /** The message has been parsed, and its request, if it is one, is in flight. */
  end(number: number): void {
    this.#count -= 1;
    if (this.#cancellations.length === 0) return;
    this.#cancellations = this.#cancellations.filter((cancellation) => {
      if (number > cancellation.lastBefore) return true;
      cancellation.readingsLeft -= 1;
      return !cancellation.tryCancel() && cancellation.readingsLeft > 0;
    });
  }

  /** @param tryCancel called each time one of the messages has been parsed, until it returns true or none is left. */
  wait(tryCancel: () => boolean): void {
    // No more cancellations are kept than a session can have requests for them to cancel.
    if (this.#count === 0 || this.#cancellations.length >= limits.sessionRequestsInFlightMax) return;
    this.#cancellations.push({ lastBefore: this.#lastNumber, readingsLeft: this.#count, tryCancel });
  }
}

/**
 * A caller's request that its session is working on. It is in the session's list, so that it can be found by the caller's id,
 * and ended with the session.
 */
export abstract class RequestInFlight extends ListNode {
  /** The caller's own id. */
  abstract readonly id: IdSpan;
  #idKey: string | undefined;
  /** For `RequestsInFlight`: the turn of `SlowRequests` in which the request began. */
  begunInTurn = 0;
  /** False if no backend does any work for the request that would be worth cancelling. */
  abstract readonly isCancellable: boolean;

  /** Key of the caller's id. Computed on first use, as few requests are ever looked up. */
  get idKey(): string {
    const { bytes, start, end } = this.id;
    return (this.#idKey ??= idKey(bytes, start, end));
  }

  /**
   * The caller no longer wants the answer.
   * @param exchange of the cancellation notification.
   */
  abstract cancel(exchange: Exchange, notice: ClientMessage): void;
  /** A key for what the request waits for, if its caller is gone and a later request can wait for the same. */
  abandonedWait?(): string | undefined;

  /** Nobody waits for the answer any more. A request without this method soon ends by itself. */
  giveUp?(): void;

  /**
   * The request has been in flight for long: the caller may be sent a sign that the answer is still to come. Called again in
   * each turn of `SlowRequests`.
   */
  onSlow?(): void;

  /** From now on, the client's responses to backends' requests go to another process. */
  onRetired?(): void;

  /** @param isExcused whether the backend waits for the client's response to a request on its own stream: then its silence is no fault. */
  excuseSilence?(upstream: UpstreamSession, isExcused: boolean): void;

  /** The stream for requests to this client that the backend sends on its own stream meanwhile; `undefined` if it is for none. */
  askableBy?(upstream: UpstreamSession): AskingStream | undefined;

  /** Takes progress that arrived on the backend's own stream. @returns whether it belongs to this request. */
  takeProgress?(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): boolean;

  /** `ambiguousIdKey` of the token under which the backend reports the request's progress; `undefined` without a token. */
  get ambiguousTokenKey(): string | undefined {
    return undefined;
  }

  /** Whether the request is for another backend, which alone may report its progress. */
  isForOtherBackend?(upstream: UpstreamSession): boolean;

  /**
   * Whether `endWithSession` may be called a few turns of the event loop later: whatever happens to the request until then, its
   * caller gets exactly one answer.
   */
  get mayEndLater(): boolean {
    return false;
  }

  /** The session has ended while the request was in flight: answers the caller. */
  abstract endWithSession(): void;
}

export class RequestsInFlight extends ListNode {
  readonly #account: Account;
  readonly #slow: SlowRequests;
  readonly #head = new ListNode();
  /** Changed only here. */
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
    work.begunInTurn = this.#slow.turn;
    this.#head.append(work);
    this.count += 1;
    this.#account.requests.take(1);
  }

  /** @returns whether nothing is in flight any more and the request took long, so that its end counts as activity of the session. */
  finish(work: RequestInFlight): boolean {
    if (!work.isLinked) return false;
    work.unlink();
    this.count -= 1;
    if (this.count === 0) this.unlink();
    this.#account.requests.give(1);
    return this.count === 0 && work.begunInTurn !== this.#slow.turn;
  }

  /** The cancellable request whose id has this key; the latest, where a caller has wrongly used the id for several. */
  find(idKey: string): RequestInFlight | undefined {
    for (let work = this.#head.previous; work instanceof RequestInFlight; work = work.previous) {
      if (work.isCancellable && work.idKey === idKey) return work;
    }
    return undefined;
  }

  /** Gives up requests whose callers are gone and that wait for the same as a new request: they would only take up its room. */
  giveUpAbandoned(wait: string): void {
    for (const work of this.#chosen((each) => each.abandonedWait?.() === wait)) work.giveUp?.();
  }

  excuseSilence(upstream: UpstreamSession, isExcused: boolean): void {
    for (let work = this.#head.next; work instanceof RequestInFlight; work = work.next) {
      work.excuseSilence?.(upstream, isExcused);
    }
  }

  /** @returns whether the progress is dealt with: it belongs to one of the requests, or claims to be of one for another backend. */
  takeProgress(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): boolean {
    let isForOtherBackend = false;
    for (const work of this.#alike(bytes, message)) {
      if (work.takeProgress?.(upstream, bytes, message)) return true;
      isForOtherBackend ||= work.isForOtherBackend?.(upstream) === true;
    }
    return isForOtherBackend;
  }

  /** Whether a client could take the progress for that of a request to another backend. */
  isMistakable(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): boolean {
    for (const work of this.#alike(bytes, message)) if (work.isForOtherBackend?.(upstream)) return true;
    return false;
  }

  /** The requests that a client could take the progress to be of. One comparison each, as backends may send any number of these. */
  *#alike(bytes: Buffer, { progressTokenStart, progressTokenEnd }: BackendMessage): IterableIterator<RequestInFlight> {
    if (progressTokenStart === -1) return;
    const likeness = ambiguousIdKey(bytes, progressTokenStart, progressTokenEnd);
    for (let work = this.#head.next; work instanceof RequestInFlight; work = work.next)
      if (work.ambiguousTokenKey === likeness) yield work;
  }

  /** The stream of the only request whose client the backend can be asking on its own stream; `undefined` if there are several. */
  soleAskable(upstream: UpstreamSession): AskingStream | undefined {
    let sole: AskingStream | undefined;
    for (let work = this.#head.next; work instanceof RequestInFlight; work = work.next) {
      const askable = work.askableBy?.(upstream);
      if (askable !== undefined && sole !== undefined) return undefined;
      sole ??= askable;
    }
    return sole;
  }

  /** Another process continues the session. */
  retire(): void {
    for (const work of this.#chosen(() => true)) work.onRetired?.();
  }

  /** Calls `onSlow` of slow requests. @param turn requests that began in this turn or before are slow. */
  notifySlow(turn: number): void {
    for (const work of this.#chosen((each) => each.begunInTurn <= turn)) work.onSlow?.();
  }

  /** The chosen requests, for work that may end any of them: a request that has ended by its turn is left out. */
  *#chosen(isChosen: (work: RequestInFlight) => boolean): IterableIterator<RequestInFlight> {
    const chosen: RequestInFlight[] = [];
    for (let work = this.#head.next; work instanceof RequestInFlight; work = work.next)
      if (isChosen(work)) chosen.push(work);
    for (const work of chosen) if (work.isLinked) yield work;
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
    if (subject !== undefined) visitAll(endingPace, subject, linkedTo(later), { visit: end, onNoRoom: end });
  }

  #takeAll(): ListNode {
    const all = new ListNode();
    all.takeAll(this.#head);
    return all;
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

// Notifies requests that have been in flight for long, so that whoever waits for the answer, or a proxy in between, receives
// something before giving up. `SlowRequests` counts turns instead of reading a clock or making a timer for each request. Hot path:
// a few stores per request.

/** A request is notified after this many whole turns: after the configured time, or at most a quarter of it later. */
const TURNS = 4;

export class SlowRequests {
  /** Head of the list of sessions that have requests in flight. */
  readonly #busy = new ListNode();
  readonly #turnOver: Deadline;
  #isTurning = false;
  /** The number of the current turn. Changed only here. */
  turn = 0;

  /** @param slowMs the time after which an answer is slow. */
  constructor(deadlines: DeadlineWheel, slowMs: number) {
    this.#turnOver = deadlines.after(slowMs / TURNS, () => this.#onTurn());
    this.#turnOver.cancel();
  }

  /** Adds a session that has requests in flight; it unlinks itself when it has none left. */
  add(requests: RequestsInFlight): void {
    this.#busy.append(requests);
    if (this.#isTurning) return;
    this.#isTurning = true;
    this.#turnOver.restart();
  }

  #onTurn(): void {
    this.turn += 1;
    const turn = this.turn - TURNS - 1;
    // A notified session may unlink itself and others, and new sessions may be added: these are notified in the next turn.
    const unvisited = new ListNode();
    unvisited.takeAll(this.#busy);
    for (let requests = unvisited.next; requests instanceof RequestsInFlight; requests = unvisited.next) {
      requests.unlink();
      this.#busy.append(requests);
      requests.notifySlow(turn);
    }
    this.#isTurning = this.#busy.isLinked;
    if (this.#isTurning) this.#turnOver.restart();
  }
}

// Spreads work on many items over turns of the event loop. Opening a backend, or asking it for its tools, takes tens of microseconds,
// and a virtual host may have hundreds of backends; a session that ends may have a thousand requests in flight. The first few items
// are visited at once, which is all that most sessions need; the others get `turnMs` of each turn of the event loop, shared
// by all sessions, with subjects taking turns. Cold path.

/** Requests that end at once with their session, at a tenth of a millisecond each. Beyond that, the others wait for turns. */
export const REQUESTS_ENDED_AT_ONCE_MAX = 64;
/**
 * Backends of a virtual host that are opened or sent a request at once, in about a millisecond together. Beyond that, the others wait for
 * turns.
 */
export const BACKENDS_AT_ONCE_MAX = 16;

/** Backends of one session that are served in a row; subjects and sessions take turns. */
export const BACKENDS_PER_STEP = 4;
/** Requests of one ended session that are ended in a row; subjects and sessions take turns. */
const REQUESTS_ENDED_PER_STEP = 8;

interface Visits<Item> {
  /** Called once for each item, in order. Must not throw. */
  readonly visit: (item: Item) => void;
  /** Called instead of `visit` for items that cannot wait, because too many sessions are waiting. */
  readonly onNoRoom: (item: Item) => void;
}

interface Pace {
  readonly turns: TurnScheduler;
  /** How many items of one session are visited at once, before `visitAll` returns. */
  readonly atOnceMax: number;
  /** How many items of one session are visited in a row. */
  readonly perStep: number;
}

/** Visits the first items at once, and the others soon. @param items may lose items that were not visited yet. */
export function visitAll<Item>(
  { turns, atOnceMax, perStep }: Pace,
  subject: string,
  items: IterableIterator<Item>,
  { visit, onNoRoom }: Visits<Item>,
): void {
  const waitForTurn = (): void => {
    if (!(turns.wait(subject, step) instanceof FairQueueEntry)) for (const item of items) onNoRoom(item);
  };
  const step = (): void => {
    if (visitSome(items, visit, perStep)) waitForTurn();
  };
  if (visitSome(items, visit, atOnceMax)) waitForTurn();
}

/** @returns whether there may be more. */
function visitSome<Item>(left: Iterator<Item>, visit: (item: Item) => void, countMax: number): boolean {
  for (let count = 0; count < countMax; count++) {
    const next = left.next();
    if (next.done === true) return false;
    visit(next.value);
  }
  return true;
}

/** The turns of this process, shared by all sessions. */
export const backendPace: Pace = {
  turns: new TurnScheduler({ untimedMax: 0, turnMs: limits.turnMs }),
  atOnceMax: BACKENDS_AT_ONCE_MAX,
  perStep: BACKENDS_PER_STEP,
};

/** Visits a virtual host's backends. */
export function visitBackends(
  subject: string,
  backends: ReadonlyMap<string, CompiledBackend>,
  visits: Visits<CompiledBackend>,
): void {
  visitAll(backendPace, subject, backends.values(), visits);
}

/** Requests of ended sessions, in turns that all sessions share. */
const endingPace: Pace = {
  turns: new TurnScheduler({ untimedMax: 0, turnMs: limits.turnMs }),
  atOnceMax: REQUESTS_ENDED_AT_ONCE_MAX,
  perStep: REQUESTS_ENDED_PER_STEP,
};
