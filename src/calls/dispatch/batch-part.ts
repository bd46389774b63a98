// The exchange of one member of a batch. It passes the answer to the batch as one whole message, and notifications before the answer as
// whole events. The batch limits and counts what all its members send. Cold path.
//
//   open ── respond ──> over
//   open ── openStream ──> streaming ── end ──> over
//   open ── openBody ──> body ── end ──> over
//   open, streaming, body ── reset, or its answer is too large ──> over
import { limits, refusalAsError, rpcErrors, type RpcError } from '../../shared/index.js';
import type { ParsedClientMessage } from '../../mcp/index.js';
import { requestIdIn } from '../../bytes/index.js';
import { errorMessage, type BodyType, Exchange, type ExchangeRequest } from '../../exchange/index.js';
import type { Batch } from './batch.js';
import type { IdSpan } from '../../upstream/index.js';

const LINE_FEED = 0x0a;

type State = 'open' | 'body' | 'streaming' | 'over';

export class BatchPart extends Exchange {
  readonly request: ExchangeRequest;
  readonly #batch: Batch;
  readonly #index: number;
  #state: State = 'open';
  #isRefused = false;
  /** The HTTP status of the answer outside a batch; 0 before there is an answer. */
  #status = 0;
  #eventBytes = 0;
  /** The id of a message that is too large to be parsed again for its id. */
  #id: IdSpan | undefined;
  /** The pieces of a message or an event that is not complete yet. */
  #pieces: Buffer[] = [];
  #pieceBytes = 0;

  constructor(batch: Batch, index: number, request: ExchangeRequest) {
    super();
    this.#batch = batch;
    this.#index = index;
    this.request = request;
  }

  override get isBatchPart(): true {
    return true;
  }

  get isAborted(): boolean {
    return this.#isRefused || this.#batch.isAborted;
  }

  override onMessageParsed(message: ParsedClientMessage): void {
    if (typeof message === 'string' || message.kind !== 'request') return;
    this.#id = { bytes: this.request.body, start: message.idStart, end: message.idEnd };
  }

  respond(status: number, _contentType: string, body: Uint8Array | string): void {
    if (this.#state !== 'open') return;
    this.#beginAnswer(status);
    if (body.length === 0) this.#finish();
    else this.#answer(status === 200 ? Buffer.from(body as Uint8Array) : this.#refusalAsMessage(String(body)));
  }

  openStream(): void {
    if (!this.#transition('open', 'streaming')) return;
    this.#beginAnswer(200);
    this.#batch.openStream();
  }

  openBody(_contentType: BodyType, bodyBytes: number): void {
    if (!this.#transition('open', 'body')) return;
    this.#beginAnswer(200);
    if (bodyBytes > limits.batchAnswerBytesMax) this.#replaceTooLarge();
  }

  write(bytes: Uint8Array): boolean {
    if (this.#state !== 'body' && this.#state !== 'streaming') return true;
    this.#pieceBytes += bytes.length;
    if (this.#pieceBytes > limits.batchAnswerBytesMax) {
      this.#replaceTooLarge();
      return true;
    }
    // The bytes are copied, because the writer may reuse its memory.
    this.#pieces.push(Buffer.from(bytes));
    // Other members write to the same stream, so only whole events are passed on.
    if (this.#state === 'body' || !endsEvent(bytes)) return true;
    const events = this.#takePieces();
    this.#eventBytes += events.length;
    return this.#batch.write(events);
  }

  end(last?: Uint8Array): void {
    if (last !== undefined) this.write(last);
    if (this.#state === 'body') this.#answer(this.#takePieces());
    else if (this.#state === 'streaming') this.#finish();
  }

  reset(): void {
    if (this.isAborted) this.reportDone(0, 0, 'unheard');
    if (this.#state === 'over') return;
    // The state is set before the batch notifies its members: this member has caused the reset, and must not be notified.
    this.#transition(this.#state, 'over');
    this.reportDone(this.#status, this.#eventBytes, 'cut');
    this.#batch.reset();
    this.#batch.onOver();
  }

  /** Called when the caller of the batch is gone, or the batch was cut. */
  onBatchAborted(): void {
    if (this.#state === 'over') return;
    if (this.#status !== 0) this.reportDone(this.#status, this.#eventBytes, 'cut');
    this.onAbort?.();
  }

  #answer(message: Buffer): void {
    const hasRoom = this.#batch.tryMakeRoomFor(message.length);
    this.#transition(this.#state, 'over');
    this.reportDone(this.#status, hasRoom ? message.length : 0, hasRoom ? 'whole' : 'cut');
    this.#batch.onAnswer(this.#index, hasRoom ? message : this.#errorMessage(rpcErrors.answerTooLargeForBatch));
  }

  #finish(): void {
    this.#transition(this.#state, 'over');
    this.reportDone(this.#status, this.#eventBytes, 'whole');
    this.#batch.onOver();
  }

  /** Replaces an answer that is too large with an error. To the code that produces it, the caller appears to be gone. */
  #replaceTooLarge(): void {
    this.#takePieces();
    this.#transition(this.#state, 'over');
    this.#isRefused = true;
    this.reportDone(this.#status, 0, 'cut');
    this.#batch.onAnswer(this.#index, this.#errorMessage(rpcErrors.answerTooLargeForBatch));
    this.onAbort?.();
  }

  /** Begins the answer. If the caller is gone, the exchange ends here. */
  #beginAnswer(status: number): void {
    this.#status = status;
    if (this.isAborted) this.reportDone(status, 0, 'unheard');
  }

  #takePieces(): Buffer {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#pieceBytes = 0;
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  /** Turns the body of a refusal of a whole POST into an error for this one message. */
  #refusalAsMessage(body: string): Buffer {
    const refusal = JSON.parse(body) as { readonly jsonrpc?: string; readonly detail?: string };
    if (refusal.jsonrpc !== undefined) return Buffer.from(body);
    return this.#errorMessage(refusalAsError(refusal.detail ?? 'Refused'));
  }

  #errorMessage(error: RpcError): Buffer {
    if (this.#id !== undefined) return errorMessage(this.#id, error);
    const { body } = this.request;
    const id = requestIdIn(body);
    if (id !== undefined) return errorMessage({ bytes: body, ...id }, error);
    return Buffer.from(JSON.stringify({ jsonrpc: '2.0', error }));
  }

  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}

function endsEvent(bytes: Uint8Array): boolean {
  return bytes.at(-1) === LINE_FEED && bytes.at(-2) === LINE_FEED;
}
