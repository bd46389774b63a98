// The opening of an upstream session in an era of MCP that the backend speaks: the client's own era where the backend speaks both, and the
// other one where the backend's answer shows that it does not speak the client's. For a client with a session the backend is first asked
// what it speaks, as the sessionless revision requires (N11), unless that is known or another opening is asking: one request now and then
// per endpoint, not per session. One deadline covers everything. Cold path.
import type { Era } from '../../protocol/protocol-versions.js';
import {
  openHandshake,
  type Handshake,
  type HandshakeHandler,
  type HandshakePlan,
  type HandshakeResult,
} from './handshake.js';
import { openModernHandshake } from './modern-handshake.js';
import { otherEra } from '../reach/era-memory.js';
import type { UpstreamContext } from '../upstream-context.js';
import { isReachFault, isUnauthorized, type UpstreamFault, type UpstreamFaultKind } from '../http/upstream-fault.js';
import { limits } from '../../shared/limits.js';

export interface EraOpeningPlan extends Omit<HandshakePlan, 'dueMs' | 'wayOf'> {
  /** The client's era. */
  readonly era: Era;
}

export interface EraOpeningHandler {
  onOpen(result: HandshakeResult): void;
  onFault(fault: UpstreamFault): void;
}

/** Starts the opening; the handler is never called synchronously. */
export function openInEra(context: UpstreamContext, plan: EraOpeningPlan, handler: EraOpeningHandler): Handshake {
  return new EraOpening(context, plan, handler);
}

/** Faults that are answers, but no usable ones. */
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
  /** Whether the backend is being asked what it speaks. */
  #isAsking: boolean;
  /** The result without sessions of a backend that has said that it speaks both eras. */
  #modern: HandshakeResult | undefined;
  /** The fault of the first try, once there is a second. */
  #firstFault: UpstreamFault | undefined;
  #isLastTry = false;

  constructor(context: UpstreamContext, plan: EraOpeningPlan, handler: EraOpeningHandler) {
    const nowMs = context.nowMs();
    const { eras } = plan.endpoint;
    this.#context = context;
    const { subject, target, endpoint, headers, introduction, isUnauthorizedFault } = plan;
    const dueMs = nowMs + context.options.initializeTimeoutMs;
    this.#plan = { subject, target, endpoint, headers, introduction, isUnauthorizedFault, dueMs };
    this.#handler = handler;
    this.#era = eras.firstOf(plan.era, nowMs);
    this.#isAsking = plan.era === 'legacy' && this.#era === 'legacy' && eras.tryAsk(nowMs);
    this.#handshake = this.#isAsking ? this.#ask(nowMs) : this.#start();
  }

  abort(): void {
    if (this.#isAsking) this.#plan.endpoint.eras.onUnasked();
    this.#handshake.abort();
  }

  onOpen(result: HandshakeResult): void {
    const { eras } = this.#plan.endpoint;
    if (!this.#isAsking) {
      eras.onSpoken(this.#era);
      this.#handler.onOpen(result);
      return;
    }
    this.#isAsking = false;
    eras.onSpoken('modern');
    if (result.speaksLegacy === true) {
      this.#modern = result;
      this.#handshake = this.#start();
    } else {
      eras.onRefused('legacy', this.#context.nowMs());
      this.#handler.onOpen(result);
    }
  }

  onFault(fault: UpstreamFault, isOtherEra: boolean): void {
    const { eras } = this.#plan.endpoint;
    if (this.#isAsking) {
      this.#onUnanswered(fault, isOtherEra);
      return;
    }
    if (isOtherEra) eras.onRefused(this.#era, this.#context.nowMs());
    if (this.#modern !== undefined) {
      // The backend speaks the modern era, whatever went wrong with the legacy one.
      this.#handler.onOpen(this.#modern);
      return;
    }
    if (this.#firstFault !== undefined || this.#isLastTry) {
      const isNeither = isOtherEra || ERA_FAULTS.has(fault.kind);
      // If it speaks neither, the first fault is reported, and the next opening starts without any knowledge.
      if (isNeither) eras.forget();
      this.#handler.onFault(isNeither ? (this.#firstFault ?? fault) : fault);
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

  /** A backend that does not speak the other era, or has not said, is spoken to in the client's era. */
  #onUnanswered(fault: UpstreamFault, isOtherEra: boolean): void {
    const { eras } = this.#plan.endpoint;
    this.#isAsking = false;
    // Any other request to this backend would fail in the same way.
    if (fault.isUnsent || isReachFault(fault) || isUnauthorized(fault)) {
      eras.onUnasked();
      this.#handler.onFault(fault);
      return;
    }
    if (isOtherEra) eras.onRefused('modern', this.#context.nowMs());
    this.#isLastTry = isOtherEra;
    this.#handshake = this.#start();
  }

  /** With a short deadline: older servers may not respond to a method they do not know. */
  #ask(nowMs: number): Handshake {
    const dueMs = Math.min(this.#plan.dueMs, nowMs + limits.eraAskedMsMax);
    return openModernHandshake(this.#context, { ...this.#plan, dueMs }, this);
  }

  #start(): Handshake {
    const open = this.#era === 'legacy' ? openHandshake : openModernHandshake;
    return open(this.#context, this.#plan, this);
  }
}
