// Reports to systemd and the log whether the control plane can serve: its store responds, and there is a key for
// tokens. Checked at intervals, because a store becomes unreachable without notice. Cold path.
import type { ServiceNotice } from '../process/service-notice.js';
import type { Logger } from '../shared/logger.js';
import type { RecordStore } from '../store/record-store.js';

/**
 * Interval between checks whether the control plane is ready, as stores become unreachable without notice. After it, systemd and the log
 * learn of a change with this delay.
 */
const CONTROL_PLANE_READINESS_MS = 1_000;

export interface ReadinessParts {
  readonly hasKeys: boolean;
  readonly records: Pick<RecordStore, 'kind' | 'ping'>;
  readonly notice: Pick<ServiceNotice, 'ready' | 'status'>;
  readonly logger: Logger;
  readonly intervalMs?: number;
}

export class ReadinessWatch {
  readonly #parts: ReadinessParts;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  /** The obstacles last reported; `''`: ready; `undefined` before the first report. */
  #told: string | undefined;

  constructor(parts: ReadinessParts) {
    this.#parts = parts;
  }

  /** Resolves after the first check. */
  async start(): Promise<void> {
    const { records, intervalMs = CONTROL_PLANE_READINESS_MS } = this.#parts;
    const isStoreThere = await records.ping();
    if (this.#isStopped) return;
    this.#tell(isStoreThere);
    this.#timer = setTimeout(() => void this.start(), intervalMs).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #tell(isStoreThere: boolean): void {
    const { hasKeys, notice, logger, records } = this.#parts;
    const obstacles = [
      ...(isStoreThere ? [] : [`the ${records.kind} store cannot be reached`]),
      ...(hasKeys ? [] : [KEYS_MISSING]),
    ];
    const words = obstacles.join('; ');
    const before = this.#told;
    if (words === before) return;
    this.#told = words;
    notice.status(words === '' ? 'ready' : `not ready: ${words}`);
    if (words === '') {
      logger.info('ready');
      // Calling it again is harmless.
      notice.ready();
    } else {
      logger.warn({ obstacles }, 'not ready');
    }
  }
}

const KEYS_MISSING = 'no token verification key or secret is configured: every request that needs a token gets 401';
