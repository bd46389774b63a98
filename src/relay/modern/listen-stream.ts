// The stream of one `subscriptions/listen`: takes what the session's own stream would carry, the unrequested messages of backends, and
// passes on those that the caller's filter names, tagged with the caller's id (M25). Nothing precedes the acknowledgement. Cold path.
import { EventStreamParser, encodeEvent } from '../../protocol/event-stream.js';
import { readMember } from '../../protocol/json-member-text.js';
import { readBackendMessage, type BackendMessage } from '../../protocol/json-rpc.js';
import { limits } from '../../shared/limits.js';
import type { Exchange, ExchangeRequest } from '../exchange/exchange.js';
import type { ListenFilter } from '../message/listen-filter.js';
import { taggedNotification } from '../message/tagged-notification.js';

/** Looks to the session like a client's GET. */
export class ListenStream implements Exchange {
  readonly isPart = false;
  readonly takesLent = false;
  onDrain: Exchange['onDrain'] = undefined;
  onAbort: Exchange['onAbort'] = undefined;
  onDone: Exchange['onDone'] = undefined;
  watcher: Exchange['watcher'] = undefined;
  readonly #exchange: Exchange;
  readonly #filter: ListenFilter;
  /** The id of the caller's request, as JSON. */
  readonly #id: string;
  readonly #onEnd: () => void;
  /** Events held back until the acknowledgement; `undefined` from then on. */
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

  /** Sends the acknowledgement, and after it the events that waited for it. */
  begin(acknowledgement: Buffer): void {
    const events = [encodeEvent(acknowledgement), ...(this.#early ?? [])];
    this.#early = undefined;
    this.#exchange.onDrain = () => this.onDrain?.();
    this.#exchange.openStream();
    if (this.#exchange.write(Buffer.concat(events))) this.onDrain?.();
  }

  /** @param bytes whole events: nothing is kept of an event that is cut. */
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

  /** Whether the writer should wait before it writes more. */
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
    // An update may be of a part of the resource that was subscribed to.
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
