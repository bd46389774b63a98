// Several messages in one POST, as sessions of 2025-03-26 may send them: each is handled as if it had come alone, and what
// is answered goes back together, as one array, or as the events of one stream when something has to be said before all
// answers are there. Cold: no later version has batches.
//
//   gathering ──every member is over──> one array, 202 when no member was a request
//   gathering ──a member streams, or the answers take too much──> streaming ──every member is over──> ended
//   either ──the caller is gone, or cut──> each member hears it, and nothing is kept any more
import { encodeEvent } from '../protocol/event-stream.js';
import type { ClientBatch } from '../protocol/client-batch.js';
import type { Account } from '../shared/accounts.js';
import { limits } from '../shared/limits.js';
import { noWaiter, type MessageHold, type MessageMemory } from '../shared/message-memory.js';
import { BATCH_PROTOCOL_VERSION } from '../shared/protocol-versions.js';
import { refusals, type Refusal } from '../shared/refusals.js';
import { accept, answer, refuse } from './answers.js';
import { BatchPart } from './batch-part.js';
import type { Exchange } from './exchange.js';
import type { Session } from './session.js';

const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');

/**
 * Answers all of a batch, or refuses it.
 * @param answerMemory in which the answers count while they wait for each other.
 * @param handle called for each member, as if its exchange were a POST of its own.
 */
export function answerBatch(
  answerMemory: MessageMemory,
  session: Session,
  exchange: Exchange,
  batch: ClientBatch,
  handle: (part: Exchange) => void,
): void {
  exchange.annotate?.('batch', '', '');
  const refusal = refusalOf(session, exchange, batch);
  if (refusal !== undefined) refuse(exchange, refusal);
  else new Batch(answerMemory, session.account, exchange).run(batch, handle);
}

function refusalOf(session: Session, exchange: Exchange, { members }: ClientBatch): Refusal | undefined {
  // A batch in a batch is one more thing that no version knows.
  if (session.identity.protocolVersion !== BATCH_PROTOCOL_VERSION || exchange.isPart === true)
    return refusals.batchRefused;
  if (members.length === 0) return refusals.notJsonRpc;
  const isTooLarge = members.length > limits.batchMembersMax || exchange.request.body.length > limits.batchBytesMax;
  return isTooLarge ? refusals.batchTooLarge : undefined;
}

/** The exchange of a batch, as its parts share it. */
export class Batch {
  readonly #exchange: Exchange;
  readonly #account: Account;
  readonly #hold: MessageHold;
  #parts: readonly BatchPart[] = [];
  /** By the places of the members. */
  readonly #answers: (Buffer | undefined)[] = [];
  #answerBytes = 0;
  #leftCount = 0;
  #isStreaming = false;

  constructor(answerMemory: MessageMemory, account: Account, exchange: Exchange) {
    this.#exchange = exchange;
    this.#account = account;
    this.#hold = answerMemory.hold(account.subject, noWaiter);
  }

  get isAborted(): boolean {
    return this.#exchange.isAborted;
  }

  run({ members }: ClientBatch, handle: (part: Exchange) => void): void {
    const { method, sessionId, answerForms, passthroughHeaders, body } = this.#exchange.request;
    this.#parts = members.map(
      ({ start, end }, place) =>
        new BatchPart(this, place, {
          method,
          sessionId,
          lastEventId: '',
          answerForms: answerForms === 'json' ? 'json' : 'both',
          passthroughHeaders,
          body: body.subarray(start, end),
        }),
    );
    this.#leftCount = this.#parts.length;
    this.#exchange.onAbort = () => this.#tellAborted();
    for (const part of this.#parts) handle(this.#exchange.watchPart?.(part) ?? part);
  }

  /** A member was answered; it is over. */
  onAnswer(place: number, message: Buffer): void {
    if (this.#isStreaming) this.#exchange.write(encodeEvent(message));
    else if (!this.isAborted) this.#answers[place] = message;
    this.onOver();
  }

  /** A member is over that has no answer, or has had it. */
  onOver(): void {
    this.#leftCount -= 1;
    if (this.#leftCount === 0) this.#finish();
  }

  /** @returns whether an answer of so many bytes can go out, or be kept until then, when it counts. */
  hasRoomFor(bytes: number): boolean {
    if (bytes > limits.batchAnswerBytesMax) return false;
    if (this.#answerBytes + bytes > limits.batchAnswerBytesMax) {
      if (this.#exchange.request.answerForms === 'json') return false;
      this.openStream();
    }
    if (this.#isStreaming || this.isAborted) return true;
    if (bytes >= limits.countedFromBytes && this.#account.answerBytes.boundAgainst(bytes) !== undefined) return false;
    this.#answerBytes += bytes;
    this.#hold.take(bytes);
    return true;
  }

  /** What was answered so far goes out with it. */
  openStream(): void {
    if (this.#isStreaming) return;
    this.#isStreaming = true;
    this.#exchange.onDrain = () => {
      for (const part of this.#parts) part.onDrain?.();
    };
    this.#exchange.openStream();
    for (const message of this.#answers) if (message !== undefined) this.#exchange.write(encodeEvent(message));
    this.#answers.length = 0;
    this.#answerBytes = 0;
    this.#hold.release();
  }

  /** @param event the whole of one, or several. */
  write(event: Buffer): boolean {
    return this.#exchange.write(event);
  }

  /** A member's answer broke half-way, and with it all of the batch. */
  cut(): void {
    this.#exchange.cut();
    this.#tellAborted();
  }

  #tellAborted(): void {
    this.#answers.length = 0;
    this.#hold.release();
    for (const part of this.#parts) part.tellAborted();
  }

  #finish(): void {
    const messages = this.#answers.filter((message) => message !== undefined);
    if (messages.length > 0 && this.#exchange.request.answerForms === 'event-stream') this.openStream();
    if (this.#isStreaming) this.#exchange.end();
    else if (messages.length === 0) accept(this.#exchange);
    else answer(this.#exchange, arrayOf(messages));
    this.#hold.release();
  }
}

function arrayOf(messages: readonly Buffer[]): Buffer {
  const members = messages.flatMap((message, index) => (index === 0 ? [message] : [COMMA, message]));
  return Buffer.concat([OPEN, ...members, CLOSE]);
}
