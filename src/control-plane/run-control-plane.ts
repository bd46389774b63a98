// The control plane's life: open the store, build the parts, listen, wait for a signal, drain.
//
// Exit status: 0 drained after a signal; 69 the address is not available; 73 the embedded store cannot be used; 129,
// 130 or 143 a second signal (SIGHUP, SIGINT, SIGTERM) cut the drain short.
import { constants } from 'node:os';
import { type ControlPlaneOptions, hasKeys, formatAddress } from '../config/index.js';
import { StartFault, ServiceManagerNotifier, type ServiceManager, StopSignals } from '../process/index.js';
import { exitStatus, createLogger, type Logger } from '../shared/index.js';
import { startControlPlane } from './control-plane.js';
import type { RecordStore } from '../store/index.js';

/** Interval between checks whether the control plane is ready: nothing else tells when the store becomes unreachable. */
const READINESS_CHECK_MS = 1_000;

/** Reports to systemd and the log whether the control plane can serve: its store responds, and there is a token key. Runs until aborted. */
export function watchReadiness(
  records: Pick<RecordStore, 'kind' | 'ping'>,
  areKeysConfigured: boolean,
  notifier: Pick<ServiceManagerNotifier, 'notifyReady' | 'notifyStatus'>,
  logger: Logger,
): AbortController {
  const ending = new AbortController();
  /** The obstacles that were last reported, `''` when ready; `undefined` before the first check. */
  let reported: string | undefined;
  const check = async (): Promise<void> => {
    const isStoreReachable = await records.ping();
    if (ending.signal.aborted) return;
    setTimeout(() => void check(), READINESS_CHECK_MS).unref();
    const obstacles = [
      ...(isStoreReachable ? [] : [`the ${records.kind} store cannot be reached`]),
      ...(areKeysConfigured ? [] : [KEYS_MISSING]),
    ];
    const state = obstacles.join('; ');
    if (state === reported) return;
    reported = state;
    notifier.notifyStatus(state === '' ? 'ready' : `not ready: ${state}`);
    if (state !== '') return logger.warn({ obstacles }, 'not ready');
    logger.info('ready');
    notifier.notifyReady();
  };
  void check();
  return ending;
}

const KEYS_MISSING = 'no token verification key or secret is configured: every request that needs a token gets 401';
const ALL_ARE_ADMINS =
  'everybody with a valid token may change everything here: --token-roles-claim names the claim that says who may';

const NO_RELOAD =
  'SIGHUP reloads nothing in a control plane: changed key files are read again anyway; restart it for new options';

export interface ControlPlaneEntry {
  /** Whether the program runs on a terminal: then SIGHUP, which means that the terminal was closed, ends it. */
  readonly isOnTerminal: boolean;
  readonly serviceManager: ServiceManager;
  readonly childEnvironment: NodeJS.ProcessEnv;
}

/** Resolves with the program's exit status. */
export async function runControlPlane(
  options: ControlPlaneOptions,
  entry: ControlPlaneEntry,
  logger: Logger = createLogger(options.logLevel, { role: 'control-plane' }),
): Promise<number> {
  const notifier = new ServiceManagerNotifier(entry.serviceManager, entry.childEnvironment, logger);
  const signals = new StopSignals(entry.isOnTerminal ? undefined : () => logger.warn(NO_RELOAD));
  if (!hasKeys(options.token)) logger.warn(KEYS_MISSING);
  else if (options.token.roleClaims === undefined) logger.warn(ALL_ARE_ADMINS);
  try {
    const controlPlane = await startControlPlane(options, logger);
    logger.info({ address: formatAddress(controlPlane.address), store: options.store.kind }, 'listening');
    const readiness = watchReadiness(controlPlane.records, hasKeys(options.token), notifier, logger);

    const signal = await signals.first;
    logger.info({ signal }, 'draining');
    readiness.abort();
    notifier.notifyStopping();
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
