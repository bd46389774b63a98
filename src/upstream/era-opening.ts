// The opening of an upstream session in an era of MCP that the backend speaks: the client's own first, unless the backend is known not
// to speak it, and the other one when its answer shows that. Both have one deadline. Cold.
import type { Era } from '../protocol/protocol-versions.js';
import {
  openHandshake,
  type Handshake,
  type HandshakeHandler,
  type HandshakePlan,
  type HandshakeResult,
} from './handshake.js';
import { openModernHandshake } from './modern-handshake.js';
import { otherEra } from './reach/era-memory.js';
import type { UpstreamContext } from './upstream-context.js';
import type { UpstreamFault, UpstreamFaultKind } from './upstream-fault.js';

export interface EraOpeningPlan extends Omit<HandshakePlan, 'dueMs'> {
  /** The client's. */
  readonly era: Era;
}

export interface EraOpeningHandler {
  onOpen(result: HandshakeResult): void;
  onFault(fault: UpstreamFault): void;
}

/** Starts it; the handler is never called from within. */
export function openInEra(context: UpstreamContext, plan: EraOpeningPlan, handler: EraOpeningHandler): Handshake {
  return new EraOpening(context, plan, handler);
}

/** An answer, but none that helps. */
const ERA_FAULTS: ReadonlySet<UpstreamFaultKind> = new Set([
  'discover-refused',
  'version-later',
  'version-unsupported',
]);

class EraOpening implements Handshake, HandshakeHandler {
  readonly #context: UpstreamContext;
  readonly #plan: HandshakePlan;
  readonly #handler: EraOpeningHandler;
  #era: Era;
  #handshake: Handshake;
  /** Of the first try, once there is a second. */
  #firstFault: UpstreamFault | undefined;

  constructor(context: UpstreamContext, plan: EraOpeningPlan, handler: EraOpeningHandler) {
    const nowMs = context.nowMs();
    this.#context = context;
    this.#plan = { ...plan, dueMs: nowMs + context.options.initializeTimeoutMs };
    this.#handler = handler;
    this.#era = plan.endpoint.eras.firstOf(plan.era, nowMs);
    this.#handshake = this.#start();
  }

  abort(): void {
    this.#handshake.abort();
  }

  onOpen(result: HandshakeResult): void {
    this.#plan.endpoint.eras.onSpoken(this.#era);
    this.#handler.onOpen(result);
  }

  onFault(fault: UpstreamFault, isOtherEra: boolean): void {
    if (isOtherEra) this.#plan.endpoint.eras.onRefused(this.#era, this.#context.nowMs());
    if (this.#firstFault !== undefined) {
      const isNeither = isOtherEra || ERA_FAULTS.has(fault.kind);
      // Then what it was asked first is what counts, now and the next time.
      if (isNeither) this.#plan.endpoint.eras.forget();
      this.#handler.onFault(isNeither ? this.#firstFault : fault);
      return;
    }
    if (!isOtherEra) {
      this.#handler.onFault(fault);
      return;
    }
    this.#firstFault = fault;
    this.#era = otherEra(this.#era);
    this.#handshake = this.#start();
  }

  #start(): Handshake {
    const open = this.#era === 'legacy' ? openHandshake : openModernHandshake;
    return open(this.#context, this.#plan, this);
  }
}
