// The control plane's life: open the store, build the parts, listen, wait for a signal, drain.
//
// Exit status: 0 drained after a signal; 69 the address is not available; 73 the embedded store cannot be used; 129,
// 130 or 143 a second signal (SIGHUP, SIGINT, SIGTERM) cut the drain short.
import { constants } from 'node:os';
import { type ControlPlaneOptions, hasKeys } from '../config/index.js';
import { formatAddress, StartFault, ServiceNotice, type ServiceManager, StopSignals } from '../process/index.js';
import { exitStatus, createLogger, type Logger } from '../shared/index.js';
import { ControlPlane } from './control-plane.js';
import type { RecordStore } from '../store/index.js';

// Reports to systemd and the log whether the control plane can serve: its store responds, and there is a key for
// tokens. Checked at intervals, because a store becomes unreachable without notice. Cold path.

/**
 * Interval between checks whether the control plane is ready, as stores become unreachable without notice. Systemd and the log learn of a
 * change with this delay.
 */
const CONTROL_PLANE_READINESS_MS = 1_000;

interface ReadinessParts {
  readonly hasKeys: boolean;
  readonly records: Pick<RecordStore, 'kind' | 'ping'>;
  readonly notice: Pick<ServiceNotice, 'ready' | 'status'>;
  readonly logger: Logger;
  readonly intervalMs?: number;
}

class ReadinessWatch {
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
const ALL_ARE_ADMINS =
  'everybody with a valid token may change everything here: --token-roles-claim names the claim that says who may';

const NO_RELOAD =
  'SIGHUP reloads nothing in a control plane: changed key files are read again anyway; restart it for new options';

export interface ControlPlaneEntry {
  /** Whether SIGHUP means that the terminal that the program was started from is closed; then it ends the program. */
  readonly isOnTerminal: boolean;
  readonly serviceManager: ServiceManager;
  readonly childEnvironment: NodeJS.ProcessEnv;
}

/** Resolves with the program's exit status, when nothing is under way any more. */
export async function runControlPlane(options: ControlPlaneOptions, entry: ControlPlaneEntry): Promise<number> {
  const logger = createLogger(options.logLevel, { role: 'control-plane' });
  const notice = new ServiceNotice(entry.serviceManager, entry.childEnvironment, logger);
  const signals = new StopSignals(entry.isOnTerminal ? undefined : () => logger.warn(NO_RELOAD));
  if (!hasKeys(options.token)) logger.warn(KEYS_MISSING);
  else if (options.token.standing === undefined) logger.warn(ALL_ARE_ADMINS);
  try {
    const controlPlane = await ControlPlane.start(options, logger);
    logger.info({ address: formatAddress(controlPlane.address), store: options.store.kind }, 'listening');
    const { records } = controlPlane;
    const readiness = new ReadinessWatch({ hasKeys: hasKeys(options.token), records, notice, logger });
    void readiness.start();

    const signal = await signals.first;
    logger.info({ signal }, 'draining');
    readiness.stop();
    notice.stopping();
    const cutShortBy = await Promise.race([signals.second, controlPlane.drain(options.drainTimeoutMs)]);
    if (cutShortBy !== undefined) {
      logger.warn({ signal: cutShortBy }, 'second signal: drain aborted');
      return 128 + constants.signals[cutShortBy];
    }
    logger.info('stopped');
    return exitStatus.ok;
  } catch (error) {
    if (!(error instanceof StartFault)) throw error;
    logger.fatal(error.message);
    return error.exitStatus;
  }
}
