// The stream of one `subscriptions/listen`: what backends say unasked, as the session's own stream would say it, passes here to
// the caller if it was asked for, with the caller's id on it (M25). Nothing goes before the acknowledgement. Cold.
import { EventStreamParser, encodeEvent } from '../../protocol/event-stream.js';
import { readMember } from '../../protocol/json-member-text.js';
import { readBackendMessage, type BackendMessage } from '../../protocol/json-rpc.js';
import { limits } from '../../shared/limits.js';
import type { Exchange, ExchangeRequest } from '../exchange/exchange.js';
import type { ListenFilter } from '../message/listen-filter.js';
import { taggedNotification } from '../message/tagged-notification.js';

/** For the session, which takes it for a client's GET. */
export class ListenStream implements Exchange {
  readonly isPart = false;
  readonly takesLent = false;
  onDrain: Exchange['onDrain'] = undefined;
  onAbort: Exchange['onAbort'] = undefined;
  onDone: Exchange['onDone'] = undefined;
  watcher: Exchange['watcher'] = undefined;
  readonly #exchange: Exchange;
  readonly #filter: ListenFilter;
  /** Of the caller's request, as JSON. */
  readonly #id: string;
  readonly #onEnd: () => void;
  /** What was said before the acknowledgement; `undefined` from then on. */
  #early: Buffer[] | undefined = [];

  /** @param onEnd called when the session ends its stream. */
  constructor(exchange: Exchange, filter: ListenFilter, id: string, onEnd: () => void) {
    this.#exchange = exchange;
    this.#filter = filter;
    this.#id = id;
    this.#onEnd = onEnd;
  }

  get request(): ExchangeRequest {
    return this.#exchange.request;
  }

  get isAborted(): boolean {
    return this.#exchange.isAborted;
  }

  /** The acknowledgement goes first, and behind it what waited for it. */
  begin(acknowledgement: Buffer): void {
    const events = [encodeEvent(acknowledgement), ...(this.#early ?? [])];
    this.#early = undefined;
    this.#exchange.onDrain = () => this.onDrain?.();
    this.#exchange.openStream();
    if (this.#exchange.write(Buffer.concat(events))) this.onDrain?.();
  }

  /** @param bytes whole events: of one that is cut nothing would be kept. */
  write(bytes: Uint8Array): boolean {
    this.#isFull = false;
    const parser = new EventStreamParser((data) => this.#onEvent(data), limits.sessionStreamWaitingBytesMax);
    parser.push(Buffer.from(bytes));
    return !this.#isFull;
  }

  end(last?: Uint8Array): void {
    if (last !== undefined) this.write(last);
    this.#onEnd();
  }

  reset(): void {
    this.#onEnd();
  }

  /** Who says more should wait. */
  #isFull = false;

  #onEvent(data: Buffer): void {
    const message = readBackendMessage(data);
    if (message?.kind !== 'notification' || !this.#isWanted(data, message)) return;
    const tagged = taggedNotification(data, message, this.#id);
    if (tagged === undefined) return;
    const event = encodeEvent(tagged);
    if (this.#early !== undefined) {
      this.#early.push(event);
      this.#isFull = true;
    } else if (!this.#exchange.write(event)) {
      this.#isFull = true;
    }
  }

  #isWanted(bytes: Buffer, { method, paramsStart, paramsEnd }: BackendMessage): boolean {
    const { changes, uris } = this.#filter;
    if (method !== 'notifications/resources/updated') return changes.some((change) => change.method === method);
    const uri = paramsStart === -1 ? undefined : readMember(bytes.subarray(paramsStart, paramsEnd), 'uri');
    // Updates may be of parts of what was subscribed to.
    return uri !== undefined && uris.some((wanted) => uri.startsWith(wanted));
  }

  openStream(): void {}
  openBody(): void {}
  respond(): void {}
  onRead(): void {}
  makeRoom(): 'room' {
    return 'room';
  }
  countInPieces(): void {}
  releaseBody(): void {}
}
