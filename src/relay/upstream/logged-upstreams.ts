// Says in the log, once per change and backend, that a backend is unavailable or back; with thousands of sessions on
// one backend a line for each would bury everything else.
import type { Logger } from '../../shared/logger.js';
import type { CompiledBackend } from '../../store/compiled-config.js';
import { faultReason, type UpstreamFault } from './upstream-fault.js';

export class LoggedUpstreams {
  readonly #logger: Logger;
  /** Backends last heard of as unavailable, with the reason that was logged. */
  readonly #reasons = new WeakMap<CompiledBackend, string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  onAvailable(backend: CompiledBackend): void {
    if (!this.#reasons.delete(backend)) return;
    this.#logger.info({ backend: backend.name }, 'backend available again');
  }

  onUnavailable(backend: CompiledBackend, fault: UpstreamFault): void {
    const reason = faultReason(fault);
    if (this.#reasons.get(backend) === reason) return;
    this.#reasons.set(backend, reason);
    this.#logger.warn({ backend: backend.name, reason }, 'backend unavailable');
  }
}
