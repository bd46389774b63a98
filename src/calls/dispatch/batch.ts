// Batches: several messages in one POST, allowed in sessions of 2025-03-26 and before. Each is handled as if it had come alone, one
// after the other, and the answers go back together, as one array, or as the events of one stream when something must be sent before all
// answers are there. Cold path: no later version has batches.
//
//   gathering ── a member streams, or the answers take too much ──> streaming
//   gathering, streaming ── a member's answer broke half-way ──> cut
//   gathering, streaming ── every member is over ──> over
//
// In the end the gathered answers are sent as one array, or 202 when no member was a request; a stream is ended. When the batch is cut, or
// the caller is gone, the members go on unheard, as they would have alone.
import { encodeEvent } from '../../bytes/index.js';
import { type ClientBatch, BATCH_PROTOCOL_VERSIONS } from '../../mcp/index.js';
import { limits, refusals, type Refusal } from '../../shared/index.js';
import { noWaiter, type MessageHold, type MessageMemory } from '../../fair/index.js';
import type { CompiledVirtualHost } from '../../user-config/index.js';
import { accept, answer, refuse, type Exchange, type ExchangeWatcher, refuseMessage } from '../../exchange/index.js';
import { PART_NUMBER } from '../../streams/index.js';
import { BatchPart } from './batch-part.js';
import type { Session } from '../../session/index.js';

const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');

/** @param virtualHost the session's current one. */
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
  else new Batch(answerMemory, session, exchange, batch, handle);
}

function refusalOf(session: Session, exchange: Exchange, { members }: ClientBatch): Refusal | undefined {
  // No version allows a batch within a batch.
  if (!BATCH_PROTOCOL_VERSIONS.has(session.identity.protocolVersion) || exchange.isPart) return refusals.batchRefused;
  if (members.length === 0) return refusals.notJsonRpc;
  const isTooLarge = members.length > limits.batchMembersMax || exchange.request.body.length > limits.batchBytesMax;
  return isTooLarge ? refusals.batchTooLarge : undefined;
}

/** What a batch needs to know about the session that it came in. */
type BatchSession = Pick<Session, 'identity' | 'isEnded' | 'virtualHost' | 'readings'>;

type State = 'gathering' | 'streaming' | 'cut' | 'over';

/** The exchange of a batch, shared by its parts. */
export class Batch {
  readonly #exchange: Exchange;
  /** The watcher of the batch's exchange, kept because that exchange may be over before all parts have begun. */
  readonly #watcher: ExchangeWatcher | undefined;
  readonly #session: BatchSession;
  readonly #hold: MessageHold;
  readonly #handle: HandlePart;
  /** The members that have not begun, each a copy: one that is in flight for long must not keep the whole body in memory. */
  readonly #left: Buffer[];
  /** The member that has begun. */
  #part: BatchPart | undefined;
  /** Gathered answers, and their total size. */
  #answers: Buffer[] = [];
  #keptBytes = 0;
  /** Whether the caller reads too slowly to be sent more. */
  #isBlocked = false;
  #isGoingOn = false;
  #state: State = 'gathering';

  constructor(
    answerMemory: MessageMemory,
    session: BatchSession,
    exchange: Exchange,
    { members }: ClientBatch,
    handle: HandlePart,
  ) {
    const { body } = exchange.request;
    this.#exchange = exchange;
    this.#watcher = exchange.watcher;
    this.#session = session;
    this.#hold = answerMemory.hold(session.identity.subject, noWaiter);
    this.#handle = handle;
    this.#left = members.map(({ start, end }) => Buffer.from(body.subarray(start, end)));
    exchange.releaseBody();
    exchange.onAbort = () => this.#onUnheard();
    exchange.onDrain = () => this.#onDrain();
    // A cancellation may be for a member that has yet to begin.
    session.readings.begin(true);
    this.#goOn();
  }

  get isAborted(): boolean {
    return this.#state === 'cut' || this.#exchange.isAborted;
  }

  /** Begins one member after the other, until one has to be waited for; after large ones, in another turn of the event loop. */
  #goOn(): void {
    if (this.#isGoingOn) return;
    this.#isGoingOn = true;
    let bytesLeft: number = limits.readAtOnceBytesMax;
    while (this.#part === undefined && !this.#isBlocked && bytesLeft > 0) {
      const body = this.#left.shift();
      if (body === undefined) break;
      bytesLeft -= body.length;
      this.#begin(body);
    }
    this.#isGoingOn = false;
    if (this.#part === undefined && !this.#isBlocked && this.#left.length === 0) this.#finish();
    else if (bytesLeft <= 0) setImmediate(() => this.#goOn());
  }

  #begin(body: Buffer): void {
    const { request } = this.#exchange;
    const { readings, isEnded, virtualHost } = this.#session;
    const answerForms = request.answerForms === 'json' ? 'json' : 'both';
    const part = (this.#part = new BatchPart(this, { ...request, lastEventId: '', answerForms, body }));
    this.#watcher?.onPart(part);
    if (this.#left.length > 0) readings.begin(true);
    if (isEnded) refuseMessage(part, refusals.sessionUnknown);
    else this.#handle(part, virtualHost);
    readings.end(PART_NUMBER);
  }

  /** A member has its answer, and is over. */
  onAnswer(message: Buffer): void {
    if (this.#state === 'streaming') this.write(encodeEvent(message));
    else if (!this.isAborted) this.#answers.push(message);
    this.onOver();
  }

  /** A member is over; its answer, if it has one, has been taken already. */
  onOver(): void {
    this.#part = undefined;
    this.#goOn();
  }

  /** @returns whether an answer of this size can be sent, or kept until then; in a gathering batch it is counted at once. */
  hasRoomFor(bytes: number): boolean {
    if (bytes > limits.batchAnswerBytesMax) return false;
    const isMuch = this.#keptBytes + bytes > limits.batchAnswerBytesMax;
    if (isMuch && this.#exchange.request.answerForms !== 'json') this.openStream();
    if (this.isAborted || this.#state === 'streaming') return true;
    if (isMuch) return false;
    this.#keptBytes += bytes;
    this.#hold.take(bytes);
    return true;
  }

  /** Opens the stream, and sends the answers gathered so far. */
  openStream(): void {
    if (!this.#transition(['gathering'], 'streaming')) return;
    this.#exchange.openStream();
    for (const message of this.#takeAnswers()) this.write(encodeEvent(message));
  }

  /** @returns false when the caller reads too slowly: the member must write no more until `onDrain`, and the next one waits. */
  write(bytes: Uint8Array): boolean {
    this.#isBlocked = !this.isAborted && !this.#exchange.write(bytes);
    return !this.#isBlocked;
  }

  /** A member's answer broke half-way, which cuts the whole batch. */
  reset(): void {
    this.#transition(['gathering', 'streaming'], 'cut');
    this.#exchange.reset();
    this.#onUnheard();
  }

  #onUnheard(): void {
    this.#takeAnswers();
    this.#isBlocked = false;
    this.#part?.tellAborted();
    this.#goOn();
  }

  #onDrain(): void {
    this.#isBlocked = false;
    this.#part?.onDrain?.();
    this.#goOn();
  }

  #finish(): void {
    if (this.isAborted || this.#state === 'over') return;
    if (this.#answers.length > 0 && this.#exchange.request.answerForms === 'event-stream') this.openStream();
    const hasStream = this.#state === 'streaming';
    this.#transition(['gathering', 'streaming'], 'over');
    const messages = this.#takeAnswers();
    if (hasStream) this.#exchange.end();
    else if (messages.length === 0) accept(this.#exchange);
    else answer(this.#exchange, arrayOf(messages));
  }

  #takeAnswers(): readonly Buffer[] {
    const answers = this.#answers;
    this.#answers = [];
    this.#keptBytes = 0;
    this.#hold.release();
    return answers;
  }

  /** The only writer of the state. */
  #transition(from: readonly State[], to: State): boolean {
    if (!from.includes(this.#state)) return false;
    this.#state = to;
    return true;
  }
}

function arrayOf(messages: readonly Buffer[]): Buffer {
  const members = messages.flatMap((message, index) => (index === 0 ? [message] : [COMMA, message]));
  return Buffer.concat([OPEN, ...members, CLOSE]);
}
