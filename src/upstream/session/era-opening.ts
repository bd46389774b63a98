// The opening of an upstream session in an era of MCP that the backend speaks: the client's own where the backend speaks both, the other one where
// its answer shows that it does not. For a client with a session it is asked first what it speaks, as the revision without them wants it
// (N11), unless that is known or somebody asks already: a request once in a while for each endpoint, not for each session. All of it has one deadline. Cold.
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
  /** The backend is being asked what it speaks. */
  #isAsking: boolean;
  /** It has said that it speaks both, this without sessions. */
  #modern: HandshakeResult | undefined;
  /** Of the first try, once there is a second. */
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
      // It speaks the other one, whatever is the matter with this one.
      this.#handler.onOpen(this.#modern);
      return;
    }
    if (this.#firstFault !== undefined || this.#isLastTry) {
      const isNeither = isOtherEra || ERA_FAULTS.has(fault.kind);
      // Then what it was asked first is what counts, now and the next time.
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

  /** Who does not speak the other era is spoken to in the client's, and so is who has not said. */
  #onUnanswered(fault: UpstreamFault, isOtherEra: boolean): void {
    const { eras } = this.#plan.endpoint;
    this.#isAsking = false;
    // The same would come of anything else that is asked there.
    if (fault.isUnsent || isReachFault(fault) || isUnauthorized(fault)) {
      eras.onUnasked();
      this.#handler.onFault(fault);
      return;
    }
    if (isOtherEra) eras.onRefused('modern', this.#context.nowMs());
    this.#isLastTry = isOtherEra;
    this.#handshake = this.#start();
  }

  /** Not for long: servers of before may not answer what they do not know. */
  #ask(nowMs: number): Handshake {
    const dueMs = Math.min(this.#plan.dueMs, nowMs + limits.eraAskedMsMax);
    return openModernHandshake(this.#context, { ...this.#plan, dueMs }, this);
  }

  #start(): Handshake {
    const open = this.#era === 'legacy' ? openHandshake : openModernHandshake;
    return open(this.#context, this.#plan, this);
  }
}
