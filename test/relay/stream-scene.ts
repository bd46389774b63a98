// Streams of calls as a session keeps them, each with the exchange of its caller: for tests of what is kept and what is sent.
import { answerOptions } from '../support/answer-options.js';
import type { Test } from 'tap';
import { CallerStream, type StreamOwner } from '../../src/streams/caller-stream.js';
import { StreamKeeper } from '../../src/streams/stream-keeper.js';
import type { Account, Accounts } from '../../src/fair/share.js';
import type { IdSpan } from '../../src/upstream/rpc/request-plan.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { createAccounts } from '../support/shares.js';
import { RecordedExchange } from '../support/recorded-exchange.js';

export const KIB = 1024;
export const RESUMPTION_MS = 100_000;
/** The id of the request that a stream's last event answers. */
export const ID = { bytes: Buffer.from('{"id":7}'), start: 6, end: 7 };

export class StreamScene {
  readonly accounts: Accounts;
  readonly account: Account;
  readonly keeper: StreamKeeper;
  readonly #deadlines: DeadlineWheel;
  #nowMs = 1_000;

  constructor(t: Test, resumptionBytesMax = 256 * KIB, subjectSessionBytesMax = 64 * KIB * KIB) {
    this.accounts = createAccounts({ subjectSessionBytesMax });
    this.account = this.accounts.of('ada');
    this.account.sessions.take(1);
    this.#deadlines = new DeadlineWheel(10, () => this.#nowMs);
    t.teardown(() => this.#deadlines.stop());
    const answers = { ...answerOptions, resumptionTimeMs: RESUMPTION_MS, resumptionBytesMax };
    this.keeper = new StreamKeeper(this.account, this.#deadlines, answers);
    // As calls do, so that the wheel turns.
    this.#deadlines.after(1_000_000, () => undefined);
  }

  stream(isSlow = false, id: IdSpan = ID): Streamed {
    return new Streamed(this.keeper, isSlow, id);
  }

  advance(ms: number): void {
    this.#nowMs += ms;
    this.#deadlines.tick();
  }

  get heldBytes(): number {
    return this.accounts.used('sessionBytes');
  }
}

/** A stream, and the call that owns it. */
export class Streamed implements StreamOwner {
  readonly exchange = new RecordedExchange();
  readonly stream: CallerStream;
  readonly heard: string[] = [];

  constructor(keeper: StreamKeeper | undefined, isSlow = false, id: IdSpan = ID) {
    this.exchange.isSlow = isSlow;
    this.exchange.onAbort = () => this.stream.detach();
    this.stream = new CallerStream(this, this.exchange, keeper, id);
  }

  onCallerDetached(): void {
    this.heard.push('detached');
  }

  onCallerAttached(): void {
    this.heard.push('attached');
  }

  onWritable(): void {
    this.heard.push('room');
  }

  say(...texts: string[]): this {
    for (const text of texts) this.stream.emit(Buffer.from(text));
    return this;
  }

  goOn(position: number, isSlow = false): RecordedExchange {
    const exchange = new RecordedExchange({ method: 'GET' });
    exchange.isSlow = isSlow;
    this.stream.attach(exchange, position);
    return exchange;
  }
}

/** The data of an event of about this many bytes, different for each number. */
export function text(number: number, bytes = KIB): string {
  return JSON.stringify({ number, pad: 'x'.repeat(bytes) });
}
