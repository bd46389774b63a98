// Batches: several messages in one POST, allowed in sessions of 2025-03-26 and before. Each message is handled as if it had come alone. The
// answers go back together: as one array, or as the events of one stream if an event must be sent before all answers are there. Cold path:
// no later version has batches.
//
//   gathering ── a member streams, or the answers take too much ──> streaming
//   streaming ── no room ──> blocked ── drained ──> streaming
//   gathering, streaming, blocked ── a member's answer broke half-way ──> cut
//
// When every member is over, the gathered answers are sent as one array, or 202 when no member was a request; a stream is ended. When the
// batch is cut, or the caller is gone, each member is notified, and the answers so far are dropped. Members too large to be parsed in one
// turn of the event loop begin in later turns, in order.
import { encodeEvent } from '../../bytes/index.js';
import { type ClientBatch, BATCH_PROTOCOL_VERSIONS } from '../../mcp/index.js';
import { limits, refusals, type Refusal } from '../../shared/index.js';
import { noWaiter, type MessageReservation, type MessageMemory } from '../../fair/index.js';
import type { CompiledVirtualHost } from '../../user-config/index.js';
import { accept, answer, refuse, type Exchange, type ExchangeWatcher, refuseMessage } from '../../exchange/index.js';
import { BatchPart } from './batch-part.js';
import type { Session } from '../../session/index.js';

const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');

/** Serves one member of a batch. @param virtualHost the session's current one. */
type HandlePart = (part: Exchange, virtualHost: CompiledVirtualHost | undefined) => void;

/**
 * Answers a whole batch, or refuses it.
 * @param answerMemory counts the answers while they wait for each other.
 * @param handle called for each member, whose exchange looks like a POST of its own.
 */
export function answerBatch(
  answerMemory: MessageMemory,
  session: Session,
  exchange: Exchange,
  batch: ClientBatch,
  handle: HandlePart,
): void {
  exchange.watcher?.onIdentified('batch', '', '');
  const refusal = refusalOf(session, exchange, batch);
  if (refusal !== undefined) refuse(exchange, refusal);
  else new Batch(answerMemory, session, exchange).run(batch, handle);
}

function refusalOf(session: Session, exchange: Exchange, { members }: ClientBatch): Refusal | undefined {
  // No version allows a batch within a batch.
  if (!BATCH_PROTOCOL_VERSIONS.has(session.identity.protocolVersion) || exchange.isBatchPart)
    return refusals.batchRefused;
  if (members.length === 0) return refusals.notJsonRpc;
  const isTooLarge = members.length > limits.batchMembersMax || exchange.request.body.length > limits.batchBytesMax;
  return isTooLarge ? refusals.batchTooLarge : undefined;
}

type BatchSession = Pick<Session, 'identity' | 'isEnded' | 'virtualHost' | 'scansInProgress'>;

type State = 'gathering' | 'streaming' | 'blocked' | 'cut';

export class Batch {
  readonly #exchange: Exchange;
  /** The exchange's watcher, kept because the exchange may be over before all parts have begun. */
  readonly #watcher: ExchangeWatcher | undefined;
  readonly #session: BatchSession;
  readonly #reservation: MessageReservation;
  #parts: readonly BatchPart[] = [];
  readonly #answers: (Buffer | undefined)[] = [];
  /** Events that wait until the caller reads on. */
  readonly #waitingEvents: Buffer[] = [];
  #keptBytes = 0;
  #unfinishedCount = 0;
  #state: State = 'gathering';

  constructor(answerMemory: MessageMemory, session: BatchSession, exchange: Exchange) {
    this.#exchange = exchange;
    this.#watcher = exchange.watcher;
    this.#session = session;
    this.#reservation = answerMemory.createReservation(session.identity.subject, noWaiter);
  }

  get isAborted(): boolean {
    return this.#state === 'cut' || this.#exchange.isAborted;
  }

  run({ members }: ClientBatch, handle: HandlePart): void {
    const { request } = this.#exchange;
    const { body } = request;
    this.#parts = members.map(
      ({ start, end }, index) =>
        new BatchPart(this, index, {
          ...request,
          lastEventId: '',
          acceptedTypes: request.acceptedTypes === 'json' ? 'json' : 'both',
          // The body is copied: one member that is in flight for long must not keep the whole batch in memory.
          body: Buffer.from(body.subarray(start, end)),
        }),
    );
    this.#exchange.releaseBody();
    this.#unfinishedCount = this.#parts.length;
    this.#exchange.onAbort = () => this.#abortParts();
    this.#beginParts(0, handle);
  }

  #beginParts(first: number, handle: HandlePart): void {
    let bytesLeft: number = limits.readAtOnceBytesMax;
    for (const [index, part] of this.#parts.slice(first).entries()) {
      bytesLeft -= part.request.body.length;
      if (bytesLeft < 0 && index > 0) {
        this.#beginPartsLater(first + index, handle);
        return;
      }
      this.#watcher?.onBatchPart(part);
      if (this.#session.isEnded) refuseMessage(part, refusals.sessionUnknown);
      else handle(part, this.#session.virtualHost);
    }
  }

  #beginPartsLater(first: number, handle: HandlePart): void {
    const { scansInProgress } = this.#session;
    const scanNumber = scansInProgress.begin(true);
    setImmediate(() => {
      this.#beginParts(first, handle);
      scansInProgress.end(scanNumber);
    });
  }

  onAnswer(index: number, message: Buffer): void {
    if (this.#isStreaming) this.write(encodeEvent(message));
    else if (!this.isAborted) this.#answers[index] = message;
    this.onOver();
  }

  /** Called when a member is over, and its answer, if any, has been taken. */
  onOver(): void {
    this.#unfinishedCount -= 1;
    if (this.#unfinishedCount === 0) this.#finish();
  }

  /** Whether an answer of this size can be sent or kept. While the batch is gathering, the answer is counted at once. */
  tryMakeRoomFor(bytes: number): boolean {
    if (bytes > limits.batchAnswerBytesMax) return false;
    if (this.#keptBytes + bytes > limits.batchAnswerBytesMax && this.#exchange.request.acceptedTypes !== 'json')
      this.openStream();
    if (this.isAborted || this.#state === 'streaming') return true;
    const isTooMuch = this.#keptBytes + bytes > limits.batchAnswerBytesMax;
    // An answer on a stream is counted in `write`, if it has to wait behind events.
    if (this.#isStreaming) return !isTooMuch || this.#reservation.hasRoomFor(bytes);
    if (!isTooMuch) this.#countKept(bytes);
    return !isTooMuch;
  }

  get #isStreaming(): boolean {
    return this.#state === 'streaming' || this.#state === 'blocked';
  }

  openStream(): void {
    if (!this.#transition('gathering', 'streaming')) return;
    this.#exchange.onDrain = () => this.#onDrain();
    this.#exchange.openStream();
    const answers = this.#answers.splice(0);
    this.#release();
    for (const message of answers) if (message !== undefined) this.write(encodeEvent(message));
  }

  /**
   * @param event one whole event, or several.
   * @returns false when the caller reads too slowly: the member must write no more until `onDrain`.
   */
  write(event: Buffer): boolean {
    if (this.isAborted) return true;
    if (this.#state !== 'blocked') {
      if (this.#exchange.write(event)) return true;
      this.#transition('streaming', 'blocked');
      return false;
    }
    this.#waitingEvents.push(event);
    this.#countKept(event.length);
    return false;
  }

  /** Cuts the whole batch, because a member's answer broke half-way. */
  reset(): void {
    if (this.#state === 'cut') return;
    this.#transition(this.#state, 'cut');
    this.#exchange.reset();
    this.#abortParts();
  }

  #abortParts(): void {
    this.#answers.length = 0;
    this.#waitingEvents.length = 0;
    this.#release();
    for (const part of this.#parts) part.onBatchAborted();
  }

  #onDrain(): void {
    this.#transition('blocked', 'streaming');
    const waiting = this.#waitingEvents.splice(0);
    this.#release();
    for (const event of waiting) this.write(event);
    if (this.#state === 'blocked') return;
    if (this.#unfinishedCount === 0) this.#exchange.end();
    else for (const part of this.#parts) part.onDrain?.();
  }

  #finish(): void {
    if (this.#state === 'cut') return;
    const messages = this.#answers.filter((message) => message !== undefined);
    if (messages.length > 0 && this.#exchange.request.acceptedTypes === 'event-stream') this.openStream();
    if (this.#isStreaming) {
      // A blocked stream is ended on `onDrain`, but that is not called once the caller is gone.
      if (this.#state !== 'blocked' || this.isAborted) this.#exchange.end();
    } else if (messages.length === 0) {
      accept(this.#exchange);
    } else {
      answer(this.#exchange, arrayOf(messages));
      this.#release();
    }
  }

  #countKept(bytes: number): void {
    this.#keptBytes += bytes;
    this.#reservation.take(bytes);
  }

  #release(): void {
    this.#keptBytes = 0;
    this.#reservation.release();
  }

  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}

function arrayOf(messages: readonly Buffer[]): Buffer {
  const members = messages.flatMap((message, index) => (index === 0 ? [message] : [COMMA, message]));
  return Buffer.concat([OPEN, ...members, CLOSE]);
}
