// The control plane's life: open the store, build the parts, listen, wait for a signal, drain.
//
// Exit status: 0 drained after a signal; 69 the address is not available; 73 the embedded store cannot be used; 129,
// 130 or 143 a second signal (SIGHUP, SIGINT, SIGTERM) cut the drain short.
import { constants } from 'node:os';
import type { ControlPlaneOptions } from '../config/control-plane-options.js';
import { hasKeys } from '../config/has-keys.js';
import { formatAddress } from '../process/listen-fault.js';
import { ServiceNotice, type ServiceManager } from '../process/service-notice.js';
import { StartFault } from '../process/start-fault.js';
import { exitStatus } from '../shared/exit-status.js';
import { StopSignals } from '../process/stop-signals.js';
import { createLogger } from '../shared/logger.js';
import { ControlPlane } from './control-plane.js';
import { ReadinessWatch } from './readiness-watch.js';

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
  if (!hasKeys(options.token)) {
    logger.warn('no token verification key or secret is configured: every request that needs a token gets 401');
  }
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
