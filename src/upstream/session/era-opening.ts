// The opening of an upstream session in an era of MCP that the backend speaks: the client's own where the backend speaks it, whatever else
// it speaks, because a bridge between the eras is for those who cannot do otherwise (N11); the other one where the backend's answer shows
// that it does not speak the client's. One deadline covers both tries. Cold path.
import { eraOfVersion, type Era } from '../../mcp/index.js';
import {
  Handshake,
  type HandshakeHandler,
  type HandshakePlan,
  type HandshakeResult,
  Initialization,
} from './handshake.js';
import { Discovery } from './modern-handshake.js';
import { otherEra } from '../reach/backend-endpoints.js';
import type { UpstreamMeans } from '../upstream-context.js';
import type { UpstreamFault, UpstreamFaultKind } from '../../http-client/index.js';

/** Faults that are answers, but no usable ones. */
const ERA_FAULTS: ReadonlySet<UpstreamFaultKind> = new Set([
  'discover-refused',
  'version-later',
  'version-unsupported',
]);

export class EraOpening extends Handshake implements HandshakeHandler {
  #era: Era;
  #handshake: Handshake;
  /** The fault of the first try, once there is a second. */
  #firstFault: UpstreamFault | undefined;

  constructor(context: UpstreamMeans, plan: HandshakePlan, handler: HandshakeHandler) {
    super(context, plan, handler);
    this.#era = plan.endpoint.firstEra(eraOfVersion(plan.protocolVersion), context.nowMs());
    this.#handshake = this.#start();
  }

  abort(): void {
    this.#handshake.abort();
  }

  onOpen(result: HandshakeResult): void {
    this.plan.endpoint.onEraSpoken(this.#era);
    this.handler.onOpen(result);
  }

  onFault(fault: UpstreamFault, isOtherEra: boolean): void {
    const { endpoint } = this.plan;
    if (isOtherEra) endpoint.onEraRefused(this.#era, this.context.nowMs());
    if (this.#firstFault !== undefined) {
      const isNeither = isOtherEra || ERA_FAULTS.has(fault.kind);
      // If it speaks neither, the first fault is reported, and the next opening starts without any knowledge.
      if (isNeither) endpoint.forgetEras();
      this.handler.onFault(isNeither ? this.#firstFault : fault, isOtherEra);
    } else if (!isOtherEra) {
      this.handler.onFault(fault, isOtherEra);
    } else {
      this.#firstFault = fault;
      this.#era = otherEra(this.#era);
      this.#handshake = this.#start();
    }
  }

  #start(): Handshake {
    const Opening = this.#era === 'legacy' ? Initialization : Discovery;
    return new Opening(this.context, this.plan, this);
  }
}
