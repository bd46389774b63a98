// The primary's life: claims the addresses, starts the fleet, reloads it on SIGHUP, waits for another signal or a fault, drains. It never
// sees an MCP request.
// Exit status: 0 drained after a signal; 69 an address or the requested HTTP library is unavailable; 70 no worker starts; 73 no hop
// directory, or a damaged store; 129, 130 or 143 a second signal (SIGHUP, SIGINT, SIGTERM) killed the workers.
import { randomBytes } from 'node:crypto';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DataplaneOptions, type StoreOptions, hasKeys, formatAddress, OptionFaults } from '../config/index.js';
import {
  limits,
  exitStatus,
  createLogger,
  setLogLevel,
  type Logger,
  type LogLevel,
  PROGRAM_VERSION,
} from '../shared/index.js';
import {
  StartFault,
  ServiceManagerNotifier,
  type ServiceManager,
  StopSignals,
  type ViewQuestion,
} from '../process/index.js';
import { CoalescedRuns } from '../fair/index.js';
import type { MetricName } from '../metrics/index.js';
import { Fleet } from './fleet.js';
import { makeHopDirectory, type HopDirectory } from './hop-directory.js';
import { type AdminServer, openAdminServer, jsonPage, readyPage, type AdminPage } from './admin-server.js';
import { viewChanges, viewPages } from './view-pages.js';
import { MetricsPage } from './metrics-page.js';
import { isServing, Readiness, readinessInWords } from './readiness.js';
import { claimAddresses, type ClaimedAddresses } from './listen-addresses.js';
import { workerBounds } from './worker-bounds.js';

export interface PrimaryEntry {
  readonly workerModule: URL;
  /** The words before Node.js in a worker's command (`findLauncher`). */
  readonly launcher: readonly string[];
  /** The module of the bootstrap feature; `undefined` in a build without it. */
  readonly bootstrapModule: string | undefined;
  readonly workerEnvironment: NodeJS.ProcessEnv;
  /** Reads the options again for a reload. Throws with a message for an operator. */
  readonly readOptions: () => DataplaneOptions;
  /** Whether SIGHUP means that the terminal is closed: then it ends the program. */
  readonly isOnTerminal: boolean;
  /** Checks the store. Rejects with a message for an operator when workers should not open it. */
  readonly checkStore: (store: StoreOptions) => Promise<void>;
  readonly serviceManager: ServiceManager;
  /** Chooses the workers' HTTP library. Throws a StartFault when there is none. */
  readonly chooseListener: (
    options: DataplaneOptions,
  ) => Promise<{ readonly options: DataplaneOptions; readonly warnings: readonly string[] }>;
}

/** Runs the primary. @returns the program's exit status, when no worker is left. */
export async function runPrimary(options: DataplaneOptions, entry: PrimaryEntry): Promise<number> {
  const logger = createLogger(options.logLevel, { role: 'primary' });
  logStartWarnings(options, entry, logger);
  let onHangup = (): void => {};
  const signals = new StopSignals(entry.isOnTerminal ? undefined : () => onHangup());
  let claimed: ClaimedAddresses | undefined;
  let hopDirectory: HopDirectory | undefined;
  try {
    const chosen = await entry.chooseListener(options);
    for (const warning of chosen.warnings) logger.warn(warning);
    claimed = await claimAddresses(chosen.options);
    await checkStore(options, entry);
    hopDirectory = await makeHopDirectory(chosen.options.workerCount, logger);
    const dependencies = { entry, hopDirectory: hopDirectory.path, signals, logger };
    return await superviseFleet(claimed.options, dependencies, (reload) => (onHangup = reload));
  } catch (error) {
    if (!(error instanceof StartFault)) throw error;
    logger.fatal(error.message);
    return error.exitStatus;
  } finally {
    await hopDirectory?.remove();
    claimed?.release();
  }
}

async function checkStore({ store }: DataplaneOptions, entry: PrimaryEntry): Promise<void> {
  try {
    await entry.checkStore(store);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    // A message about a damaged store says what to do; an error of the file system does not.
    const isFileError = error instanceof Error && 'code' in error;
    const advice = 'give --store-path a directory that this user may write';
    const message = isFileError ? `the store cannot be opened: ${reason}; ${advice}` : reason;
    throw new StartFault(exitStatus.cannotCreate, message, error);
  }
}

interface SupervisionDependencies {
  readonly entry: PrimaryEntry;
  readonly hopDirectory: string;
  readonly signals: StopSignals;
  readonly logger: Logger;
}

/** Supervises the fleet. @param onReloadable gets the function to call on SIGHUP. @returns the program's exit status. */
async function superviseFleet(
  options: DataplaneOptions,
  { entry, hopDirectory, signals, logger }: SupervisionDependencies,
  onReloadable: (reload: () => void) => void,
): Promise<number> {
  const notifier = new ServiceManagerNotifier(entry.serviceManager, entry.workerEnvironment, logger);
  const start = {
    slotCount: options.workerCount,
    options,
    hopDirectory,
    hopSecret: randomBytes(32),
    bootstrapModule: entry.bootstrapModule,
  };
  let storeCheck: Promise<void> | undefined;
  const fleet = new Fleet(
    {
      module: entry.workerModule,
      launcher: entry.launcher,
      environment: entry.workerEnvironment,
      start,
      bounds: { ...limits, ...workerBounds },
      // Slots that need the check at the same time share it.
      checkStore: () => (storeCheck ??= entry.checkStore(options.store).finally(() => (storeCheck = undefined))),
    },
    logger,
  );
  let hasStarted = false;
  const sources = { hasKeys: hasKeys(options.token), slots: () => fleet.slotReadiness };
  const readiness = new Readiness(sources, logger, (report) => {
    fleet.sendReadiness(isServing(report));
    notifier.notifyStatus(readinessInWords(report));
    if (report.isReady) notifier.notifyReady();
    if (hasStarted) readiness.log(report);
  });
  fleet.addChangeHandler(() => readiness.check());
  const admin = await listenForOperators(options, readiness, fleet, logger);
  void fleet.ready.then((workers) => {
    const absentWorkers = options.workerCount - workers;
    if (absentWorkers > 0) logger.error({ absentWorkers }, 'some workers cannot start; the others serve alone');
    const tls = options.tls && { tlsAddress: formatAddress(options.tls.address) };
    const fields = { address: formatAddress(options.address), ...tls, workers, version: PROGRAM_VERSION };
    logger.info(fields, 'listening');
    hasStarted = true;
    readiness.log(readiness.report);
  });
  fleet.start();
  let isEnding = false;
  // SIGHUPs during a reload cause one more reload, because files may have changed since the first one read them.
  const reloads = new CoalescedRuns(async () => {
    if (isEnding) return;
    await fleet.ready;
    notifier.notifyReloading();
    const failure = await reload(fleet, options, entry, logger);
    if (isEnding) return;
    const status = readinessInWords(readiness.report);
    notifier.notifyStatus(failure === undefined ? status : `${status}; the last reload failed: ${failure}`);
    notifier.notifyReloaded();
  });
  onReloadable(() => void reloads.run(''));

  const failed = fleet.failure.then((reason) => {
    logger.fatal({ reason }, `no worker can start: ${reason}`);
    return true;
  });
  const signalled = signals.first.then((signal) => {
    logger.info({ signal }, 'draining');
    return false;
  });
  const hasFailed = await Promise.race([failed, signalled]);
  isEnding = true;
  notifier.notifyStopping();
  readiness.markDraining();

  let cutShortBy: keyof typeof constants.signals | undefined;
  void signals.second.then((signal) => {
    cutShortBy = signal;
    logger.warn({ signal }, 'second signal: killing the workers');
    fleet.kill();
  });
  if (!hasFailed && options.drainNoticeMs > 0) {
    fleet.announceDrain();
    // A second signal ends this wait; the timer then keeps nothing alive.
    await Promise.race([sleep(options.drainNoticeMs, undefined, { ref: false }), signals.second]);
  }
  await fleet.drain(options.drainTimeoutMs);
  await admin?.close();
  if (hasFailed) return exitStatus.software;
  logger.info('stopped');
  return cutShortBy === undefined ? exitStatus.ok : 128 + constants.signals[cutShortBy];
}

async function listenForOperators(
  { adminAddress, allowedHosts, metrics }: DataplaneOptions,
  readiness: Readiness,
  fleet: Fleet,
  logger: Logger,
): Promise<AdminServer | undefined> {
  if (adminAddress === undefined) return undefined;
  const views = {
    ask: (question: ViewQuestion) => fleet.ask(question),
    setLogLevel: (level: LogLevel) => {
      // The change is logged at every level: silencing the log must leave a trace.
      const before = logger.level;
      if (!logger.isLevelEnabled('warn')) logger.level = 'warn';
      logger.warn({ logLevel: level, before }, 'log level changed');
      setLogLevel(level);
      fleet.setLogLevel(level);
    },
  };
  const pages = {
    '/live': () => jsonPage(200, { status: 'live' }),
    '/ready': () => readyPage(readiness.report),
    ...(metrics && { '/metrics': metricsPage(readiness, fleet) }),
    ...viewPages(views),
  };
  const onFault = (err: Error): void => logger.error({ err }, 'admin listener');
  const admin = await openAdminServer(adminAddress, { pages, changes: viewChanges(views), allowedHosts, onFault });
  logger.info({ address: formatAddress(admin.address) }, 'admin listener');
  return admin;
}

/** Reloads the fleet. @returns why not all workers were replaced; `undefined` if all were. */
async function reload(
  fleet: Fleet,
  current: DataplaneOptions,
  entry: PrimaryEntry,
  logger: Logger,
): Promise<string | undefined> {
  logger.info('reloading: replacing every worker');
  const failure = await reloadFleet(fleet, current, entry);
  if (failure === undefined) logger.info('reloaded');
  else logger.error({ reason: failure }, 'reload failed: workers that were not replaced keep serving');
  return failure;
}

async function reloadFleet(fleet: Fleet, current: DataplaneOptions, entry: PrimaryEntry): Promise<string | undefined> {
  let read: DataplaneOptions;
  try {
    read = entry.readOptions();
  } catch (error) {
    if (error instanceof OptionFaults) return error.faults.join('; ');
    return (error instanceof Error ? error.message : String(error)).replaceAll('\n', ' ');
  }
  // These options stay as they are, because a running gateway cannot change them.
  const { address, tls, workerCount, listener } = current;
  return fleet.reload({
    ...read,
    address,
    tls: read.tls && tls && { ...read.tls, address: tls.address },
    workerCount,
    listener,
  });
}

/** The page with the workers' figures, and the primary's. */
function metricsPage(readiness: Readiness, fleet: Fleet): (accept: string) => Promise<AdminPage> {
  const page = new MetricsPage();
  return async (accept) => {
    const { series, silentCount } = await fleet.gatherFigures();
    const { isReady, degraded, slotCount, listeningCount } = readiness.report;
    const own: readonly (readonly [name: MetricName, value: number, ...labels: string[]])[] = [
      ['switchyard_workers', listeningCount, 'listening'],
      ['switchyard_workers', slotCount - listeningCount, 'absent'],
      ['switchyard_worker_deaths_total', fleet.deathCount],
      ['switchyard_workers_silent', silentCount],
      ['switchyard_ready', Number(isReady)],
      ...Array.from(new Set(degraded.map(({ code }) => code)), (code) => ['switchyard_degraded', 1, code] as const),
      ['switchyard_build_info', 1, PROGRAM_VERSION],
    ];
    return page.render([...series, ...own.map(([name, value, ...labels]) => ({ name, labels, value }))], accept);
  };
}

function logStartWarnings(options: DataplaneOptions, entry: PrimaryEntry, logger: Logger): void {
  if (entry.bootstrapModule !== undefined) {
    logger.warn(
      'UNAUTHENTICATED HELPER ENDPOINTS ARE ON: anyone who can connect mints tokens and writes user configs. Never expose this build',
    );
  }
  if (!hasKeys(options.token)) {
    logger.warn('no token verification key or secret is configured: every MCP request will get 401');
  }
}
