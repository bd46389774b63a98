// The requests that one session is working on, the latest last. It is in the list of `SlowRequests` while it has any. Hot path:
// a few stores per request.
import { type Account, ListNode } from '../../fair/index.js';
import { limits } from '../../shared/index.js';
import type { AskingStream } from '../asking/backend-requests.js';
import type { SlowRequests } from './slow-requests.js';
import { endingPace, visitAll } from './turns.js';
import type { BackendMessage, ClientMessage } from '../../mcp/index.js';
import type { UpstreamSession, IdSpan } from '../../upstream/index.js';
import { idKey, ambiguousIdKey } from '../../bytes/index.js';
import type { Exchange } from '../../exchange/index.js';

interface WaitingCancellation {
  /** Number of the last message before this notice, and how many of the messages before it are still being parsed. */
  readonly lastBefore: number;
  readingsLeft: number;
  readonly tryIt: () => boolean;
}

/** The number of every part of a batch: every waiting notice waits for it too. */
export const BATCH_PART_NUMBER = 0;

/**
 * The large messages of a session that are being parsed, slice by slice. Other messages overtake them meanwhile. A cancellation
 * that finds no request may be for a message that is still being parsed, so it waits until those that arrived before it have been parsed.
 */
export class ScansInProgress {
  #count = 0;
  #lastNumber = 0;
  #notices: WaitingCancellation[] = [];

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /**
   * @param isPart whether it belongs to a batch that is being handled: notices that wait for the batch wait for this part too.
   * @returns the message's number.
   */
  begin(isPart = false): number {
    this.#count += 1;
    if (!isPart) return ++this.#lastNumber;
    for (const notice of this.#notices) notice.readingsLeft += 1;
    return BATCH_PART_NUMBER;
  }

  /** The message has been parsed, and its request, if it is one, is in flight. */
  end(number: number): void {
    this.#count -= 1;
    if (this.#notices.length === 0) return;
    this.#notices = this.#notices.filter((notice) => {
      if (number > notice.lastBefore) return true;
      notice.readingsLeft -= 1;
      return !notice.tryIt() && notice.readingsLeft > 0;
    });
  }

  /** @param tryIt called each time one of the messages has been parsed, until it returns true or none is left. */
  wait(tryIt: () => boolean): void {
    // No more notices are kept than a session can have requests for them to cancel.
    if (this.#count === 0 || this.#notices.length >= limits.sessionRequestsInFlightMax) return;
    this.#notices.push({ lastBefore: this.#lastNumber, readingsLeft: this.#count, tryIt });
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
  /** False where no backend does any work for it that would be worth cancelling. */
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

  /** Nobody waits for the answer any more. Without it, the request is left to end by itself, soon. */
  giveUp?(): void;

  /**
   * The request has been in flight for long: the caller may be sent a sign that the answer is still to come. Called again in
   * each turn.
   */
  onSlow?(): void;

  /** From now on, the client's responses to backends' requests go to another process. */
  onRetired?(): void;

  /** @param isExcused whether the backend waits for the client's response to a request on its own stream: then its silence is no fault. */
  excuseSilence?(upstream: UpstreamSession, isExcused: boolean): void;

  /** The stream on which this request's client can be asked what its backend asks on a stream of its own meanwhile. */
  askableBy?(upstream: UpstreamSession): AskingStream | undefined;

  /** Takes progress that arrived on the backend's own stream. @returns whether it belongs to this request. */
  hearProgress?(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): boolean;

  /** `ambiguousIdKey` of the token under which its backend reports progress, if it does. */
  get tokenLikeness(): string | undefined {
    return undefined;
  }

  /** Whether it is a request to another backend, which alone may report progress of it. */
  isOfOther?(upstream: UpstreamSession): boolean;

  /**
   * Whether it may be notified of its session's end a few turns of the event loop later: whatever happens to it until then, its
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
    for (const work of this.#those((each) => each.abandonedWait?.() === wait)) work.giveUp?.();
  }

  excuseSilence(upstream: UpstreamSession, isExcused: boolean): void {
    for (let work = this.#head.next; work instanceof RequestInFlight; work = work.next) {
      work.excuseSilence?.(upstream, isExcused);
    }
  }

  /** @returns whether the progress belongs to one of the requests, or says something of one that is not the backend's to say. */
  hearProgress(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): boolean {
    let isOfOther = false;
    for (const work of this.#alike(bytes, message)) {
      if (work.hearProgress?.(upstream, bytes, message)) return true;
      isOfOther ||= work.isOfOther?.(upstream) === true;
    }
    return isOfOther;
  }

  /** Whether a client could take the progress for that of a request to another backend. */
  isMistaken(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): boolean {
    for (const work of this.#alike(bytes, message)) if (work.isOfOther?.(upstream)) return true;
    return false;
  }

  /** The requests under whose token clients could read the progress: one comparison each, as backends send any number of such messages. */
  *#alike(bytes: Buffer, { progressTokenStart, progressTokenEnd }: BackendMessage): IterableIterator<RequestInFlight> {
    if (progressTokenStart === -1) return;
    const likeness = ambiguousIdKey(bytes, progressTokenStart, progressTokenEnd);
    for (let work = this.#head.next; work instanceof RequestInFlight; work = work.next)
      if (work.tokenLikeness === likeness) yield work;
  }

  /** The only request whose client can be asked what the backend asks on its own stream; `undefined` if several could be meant. */
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
    for (const work of this.#those(() => true)) work.onRetired?.();
  }

  /** For `SlowRequests`. @param turn requests that began in this turn or before are slow. */
  tellSlow(turn: number): void {
    for (const work of this.#those((each) => each.begunInTurn <= turn)) work.onSlow?.();
  }

  /** The requests in flight that are meant, for what may end any of them: one that is over by its turn is left out. */
  *#those(isMeant: (work: RequestInFlight) => boolean): IterableIterator<RequestInFlight> {
    const those: RequestInFlight[] = [];
    for (let work = this.#head.next; work instanceof RequestInFlight; work = work.next)
      if (isMeant(work)) those.push(work);
    for (const work of those) if (work.isLinked) yield work;
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
