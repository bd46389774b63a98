// The opening of a session with a server of the 2024-11-05 transport: first its stream, on which it names the URL for messages, and then
// the handshake of any session (C05, C06). One deadline covers everything. Cold path: once per session with such a server.
import type { Deadline } from '../../shared/deadline-wheel.js';
import type { EraOpeningHandler, EraOpeningPlan } from './era-opening.js';
import { openHandshake, type Handshake } from './handshake.js';
import type { UpstreamContext } from '../upstream-context.js';
import { upstreamFault, type UpstreamFault } from '../http/upstream-fault.js';
import { SseStream } from '../sse/sse-stream.js';

/** Starts the opening; the handler is never called synchronously. */
export function openSse(context: UpstreamContext, plan: EraOpeningPlan, handler: EraOpeningHandler): Handshake {
  return new SseOpening(context, plan, handler);
}

class SseOpening implements Handshake {
  readonly #context: UpstreamContext;
  readonly #plan: EraOpeningPlan;
  readonly #handler: EraOpeningHandler;
  readonly #dueMs: number;
  readonly #stream: SseStream;
  /** Limits the time until the server has named the URL for messages. */
  readonly #deadline: Deadline;
  #handshake: Handshake | undefined;
  #isOver = false;

  constructor(context: UpstreamContext, plan: EraOpeningPlan, handler: EraOpeningHandler) {
    const { initializeTimeoutMs } = context.options;
    this.#context = context;
    this.#plan = plan;
    this.#handler = handler;
    this.#dueMs = context.nowMs() + initializeTimeoutMs;
    const { subject, target, endpoint, headers } = plan;
    this.#stream = new SseStream(
      context,
      { subject, target, endpoint, headers },
      { onNamed: () => this.#onNamed(), onLost: (fault) => this.#fail(fault) },
    );
    this.#deadline = context.deadlines.after(initializeTimeoutMs, () => this.#onSilence());
  }

  abort(): void {
    if (!this.#end()) return;
    this.#handshake?.abort();
    this.#stream.close();
  }

  #onNamed(): void {
    const stream = this.#stream;
    this.#deadline.cancel();
    const plan = { ...this.#plan, target: stream.target, dueMs: this.#dueMs };
    this.#handshake = openHandshake(
      this.#context,
      { ...plan, wayOf: (id) => stream.wayOf(id) },
      {
        onOpen: (result) => {
          if (this.#end()) this.#handler.onOpen({ ...result, stream });
        },
        onFault: (fault) => this.#fail(fault),
      },
    );
  }

  /** The server has not responded at all, or has begun its stream without an `endpoint` event. */
  #onSilence(): void {
    this.#fail(upstreamFault(this.#stream.isAnswered ? 'endpoint-missing' : 'answer-timeout'));
  }

  #fail(fault: UpstreamFault): void {
    if (!this.#end()) return;
    this.#handshake?.abort();
    this.#stream.close();
    this.#handler.onFault(fault);
  }

  #end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#deadline.cancel();
    return true;
  }
}
