// Assembles one worker from its parts, and defines the order in which they start, drain and stop.
import { setTimeout as sleep } from 'node:timers/promises';
import { TokenVerifier } from '../auth/index.js';
import type { DataplaneOptions, ListenAddress } from '../config/index.js';
import type { PrimaryChannel, StartMessage, ToWorker } from '../process/index.js';
import { WorkerViews } from './worker-views.js';
import { fetchOver, Names, BackendConnections } from '../http-client/index.js';
import { Relay, shareTable } from '../relay/index.js';
import { Accounts, DeadlineWheel, createMessageMemories, Overload, LoadShedder, OverloadWatch } from '../fair/index.js';
import {
  type Endpoint,
  type FeatureModule,
  HostPolicy,
  createLogger,
  flushLog,
  setLogLevel,
  subjectHash,
  type Logger,
  RepeatedLog,
} from '../shared/index.js';
import { ProtectedResource, Edge, loadLibrary } from '../edge/index.js';
import { SessionDirectory } from '../session/index.js';
import { SecretKeys, StoredSecrets, UserGrants } from '../credentials/index.js';
import { openSealedSessions, openStore, type Store, type StoreObstacleListener, StoreCounts } from '../store/index.js';
import { hostReader, UserConfigs } from '../user-config/index.js';
import { GATEWAY_TIME_BOUNDS_S, Histogram, type Series } from '../metrics/index.js';
import {
  AccessLog,
  openTracer,
  RecentRequests,
  RequestWatch,
  type Tracer,
  TRACE_FLUSH_MS_MAX,
} from '../observation/index.js';
import { RequestScheduler } from './request-scheduler.js';
import { WorkerFigures } from './worker-figures.js';
import { Admission } from './admission.js';
import { hopSocketPath, Hops, RequestsAwaitingOwner, Predecessor, predecessorSocketPath } from './hop/hops.js';
import { HopListener } from './hop/intake.js';
import { isMintedSessionId, mintSessionId, ownerOf } from './session-id.js';
import { Pipeline } from './pipeline.js';

/** Tells the primary of each write of a user config, so that every worker drops its copy before the write is answered (2.8). */
class ForgetAnnouncer {
  readonly #primary: PrimaryChannel;
  readonly #pending = new Map<number, () => void>();
  #lastTicket = 0;

  constructor(primary: PrimaryChannel) {
    this.#primary = primary;
  }

  announce(subject: string): Promise<void> {
    this.#lastTicket += 1;
    const ticket = this.#lastTicket;
    return new Promise((resolve) => {
      this.#pending.set(ticket, resolve);
      this.#primary.send({ kind: 'written', subject, ticket });
    });
  }

  onAllForgotten(ticket: number): void {
    this.#pending.get(ticket)?.();
    this.#pending.delete(ticket);
  }
}

/** Time for the answers to requests that a stop has ended. */
const LAST_ANSWERS_MS_MAX = 1_000;

type WorkerParts = Awaited<ReturnType<typeof assemble>>;

export class Worker {
  readonly #parts: WorkerParts;
  #drained: Promise<void> | undefined;

  private constructor(parts: WorkerParts) {
    this.#parts = parts;
  }

  /** Starts a worker. Resolves when it listens. Rejects with a message for an operator. */
  static async start(start: StartMessage, primary: PrimaryChannel): Promise<Worker> {
    return new Worker(await assemble(start, primary));
  }

  /** Handles a message of the primary. Resolves when that is done, and the answer, if any, is sent. */
  async onMessage(message: Exclude<ToWorker, StartMessage>): Promise<void> {
    const { announcer, configs, edge, pipeline, primary, views } = this.#parts;
    switch (message.kind) {
      case 'retire':
        await this.#retire(() => primary.send({ kind: 'left' }));
        return primary.send({ kind: 'drained' });
      case 'announce-drain':
        return edge.announceDrain();
      case 'drain':
        await this.#drain();
        return primary.send({ kind: 'drained' });
      case 'stop':
        await this.#stop(message.farewellsMs);
        // The final report, so that no counts are lost.
        this.#sendReport(0);
        await flushLog();
        return process.exit(0);
      case 'forget':
        configs.forget(message.subject);
        return primary.send({ kind: 'forgotten', ticket: message.ticket });
      case 'all-forgotten':
        return announcer.onAllForgotten(message.ticket);
      case 'report':
        return this.#sendReport(message.ticket);
      case 'view':
        return primary.send({ kind: 'view', ticket: message.ticket, answer: await views.answer(message.question) });
      case 'log-level':
        return setLogLevel(message.level);
      case 'readiness':
        pipeline.isGatewayReady = message.isReady;
    }
  }

  #sendReport(ticket: number): void {
    this.#parts.primary.send({ kind: 'report', ticket, series: this.#parts.report() });
  }

  /** Stops accepting connections; resolves when every request has its answer. Hops from other workers are still served. */
  #drain(): Promise<void> {
    // The relay ends only the streams that answer no request, because these would not end by themselves.
    this.#parts.relay.drain();
    this.#drained = this.#parts.edge.drain();
    return this.#drained;
  }

  /**
   * Lets a successor take this worker's slot. Resolves when every request that came here is answered.
   * @param onLeft called when no more connections are accepted here.
   */
  async #retire(onLeft: () => void): Promise<void> {
    const { pipeline, hopListener, successorListener, predecessor, relay, edge, logger } = this.#parts;
    predecessor.isGone = true;
    pipeline.retire();
    relay.retire();
    successorListener.listen().catch((error: unknown) => {
      logger.warn({ err: error }, 'the successor cannot pass cancellations on to this worker');
    });
    this.#drained = Promise.all([edge.retire(onLeft), hopListener.leave()]).then(() => undefined);
    return this.#drained;
  }

  /** Ends every session, telling the backends within `farewellsMs`, and closes all parts of the worker. */
  async #stop(farewellsMs: number): Promise<void> {
    const { overloadWatch, relay, hops, successorListener, hopListener, backends, configs, store, directory } =
      this.#parts;
    overloadWatch.stop();
    this.#parts.tokens.close();
    const ended = relay.stop(farewellsMs);
    // The requests in flight of these sessions are answered; such an answer may still have to cross a hop.
    const answered = Promise.all([this.#drained, hopListener.leave()]);
    await Promise.race([answered, sleep(Math.min(farewellsMs, LAST_ANSWERS_MS_MAX))]);
    await ended;
    const flushed = this.#parts.tracer?.close(Math.min(farewellsMs, TRACE_FLUSH_MS_MAX));
    hops.close();
    await Promise.all([hopListener.close(), successorListener.close()]);
    await backends.close();
    await configs.close();
    await directory?.close();
    await store.close();
    await flushed;
  }
}

async function assemble(start: StartMessage, primary: PrimaryChannel) {
  const { slot, slotCount, options, hopDirectory, hopSecret } = start;
  const logger = createLogger(options.logLevel, { role: 'worker', slot });
  const library = await loadLibrary(options.listener);
  const storeCounts = new StoreCounts();
  const onObstacle: StoreObstacleListener = (obstacle, staleness) =>
    primary.send({ kind: 'store', obstacle, staleness });
  const store = await openStore(options.store, logger, onObstacle, storeCounts);
  const figures = options.metrics ? new WorkerFigures() : undefined;
  const hasIds = options.requestIds !== 'off';
  const recentRequests = figures !== undefined && hasIds ? new RecentRequests() : undefined;
  const tracer = await openTracer(options.traces, String(slot), logger);
  const deadlines = new DeadlineWheel();
  const configs = new UserConfigs(store, options.upstream.mode, createOddityLog(logger));
  const accounts = new Accounts(shareTable(options.shares));
  const memories = createMessageMemories(accounts, deadlines);
  const names = new Names(options.connections.names);
  const backends = new BackendConnections({
    connectTimeoutMs: options.upstream.connectTimeoutMs,
    pool: options.connections,
    names,
    authorities: options.upstream.authorities,
  });
  const sealedSessions = await openSealedSessions(options, hopDirectory, slot, logger);
  const directory =
    sealedSessions &&
    new SessionDirectory(sealedSessions, {
      idleTimeoutMs: options.sessionIdleTimeoutMs,
      outlivesGateway: options.sessionDirectory === 'store',
      isPossibleId: isMintedSessionId,
      logger,
    });
  const predecessorPath = predecessorSocketPath(hopDirectory, slot);
  const hops = new Hops(hopDirectory, hopSecret, logger);
  const predecessor = new Predecessor(hops, predecessorPath);
  const relay = new Relay({
    http: backends.calls,
    streams: backends.streams,
    replies: backends.replies,
    deadlines,
    upstream: options.upstream,
    answers: options.answers,
    eras: options.eras,
    storedSecrets: StoredSecrets.of(store, options.upstream.secretKeys),
    userGrants: UserGrants.of(store, new SecretKeys(options.upstream.secretKeys)),
    accounts,
    answerMemory: memories.answers,
    sessionIdleTimeoutMs: options.sessionIdleTimeoutMs,
    directory,
    ...(figures && { onBackendFault: (...fault) => figures.countFault(...fault) }),
    sendToPredecessor: ({ subject, virtualHostId }, ...message) =>
      predecessor.send({ subject, virtualHostId }, ...message),
    mintSessionId: () => mintSessionId(slot, slotCount),
    readHost: hostReader(configs),
    siblings: {
      secret: hopSecret,
      slot,
      ownerSlotOf: (key) => ownerOf(key, slotCount),
      forwardToSlot: (...request) => pipeline.forwardToSlot(...request),
    },
    logger,
  });
  const announcer = new ForgetAnnouncer(primary);
  const overload = new Overload(logger);
  // If there is a proxy, the issuers' keys are fetched through it, like all that is outside.
  const tokens = new TokenVerifier({ ...options.token, fetch: names.proxy && fetchOver(backends.calls) });
  await tokens.watchKeys(logger, (obstacle, isInTheWay) => primary.send({ kind: 'keys', obstacle, isInTheWay }));
  const pipeline = new Pipeline({
    overload,
    loadShedder: new LoadShedder(overload, accounts),
    scheduler: new RequestScheduler(accounts),
    slot,
    slotCount,
    hosts: createHostPolicy(options, options.address),
    resource: new ProtectedResource(options.protectedResource),
    pathPrefix: options.pathPrefix,
    tlsHosts: createHostPolicy(options, options.tls?.address ?? options.address),
    admission: new Admission(tokens, configs, logger),
    relay,
    hops,
    requestsAwaitingOwner: directory && new RequestsAwaitingOwner(),
    watch: createRequestWatch(options, figures, recentRequests, tracer, logger),
    figures,
    logger,
  });
  const { bodyBytesMax } = options;
  const hopOwner = { secret: hopSecret, bodyBytesMax, answerMemory: memories.answers, logger };
  const hopListener = new HopListener(hopSocketPath(hopDirectory, slot), {
    ...hopOwner,
    onExchange: (identity, exchange) => pipeline.onHop(identity, exchange),
  });
  // Listens on the predecessor's socket once this worker has a successor.
  const successorListener = new HopListener(predecessorPath, {
    ...hopOwner,
    onExchange: (identity, exchange) => pipeline.onSuccessorMessage(identity, exchange),
  });
  const endpoints = await loadEndpoints(start, store, announcer, logger);
  const edge = new Edge(library, options, deadlines, memories, pipeline, endpoints, logger);
  await hopListener.prepare();
  // The hop socket is put in place in the turn of the event loop in which the edge begins to listen: other workers find this one as soon as
  // a caller can have a session id of it, and a worker that cannot listen replaces no predecessor.
  await edge.listen();
  hopListener.moveIntoPlace();
  const loopDelay = new Histogram(GATEWAY_TIME_BOUNDS_S);
  const onDelay = (delayMs: number): void => loopDelay.observe(delayMs / 1_000);
  const overloadWatch = new OverloadWatch(overload, options.workerMemoryBytes, undefined, onDelay);
  overloadWatch.start();
  const figureSources = { slot, loopDelay, relay, backends, storeCounts, tokens, tracer };
  const report = (): Series[] => figures?.report(figureSources) ?? [];
  const views = new WorkerViews({
    relay,
    slot,
    readConfig: (subject) => configs.read(subject),
    keptConfig: (subject) => store.kept?.(subject),
    recentRequests,
    figures,
    logger,
  });
  return {
    primary,
    report,
    views,
    logger,
    overloadWatch,
    edge,
    pipeline,
    hopListener,
    hops,
    successorListener,
    predecessor,
    relay,
    backends,
    configs,
    store,
    directory,
    announcer,
    tracer,
    tokens,
  };
}

/** The observer of requests; `undefined` when no figures are kept, no spans are recorded, and the log takes no request lines. */
function createRequestWatch(
  { accessLog }: DataplaneOptions,
  figures: WorkerFigures | undefined,
  recent: RecentRequests | undefined,
  tracer: Tracer | undefined,
  logger: Logger,
): RequestWatch | undefined {
  // With figures, requests are watched anyway, so the access log is kept too: the log level may be lowered at runtime.
  const isLogging = figures !== undefined || logger.isLevelEnabled('info');
  const log = isLogging ? new AccessLog(logger, accessLog) : undefined;
  const isWanted = log !== undefined || tracer !== undefined;
  return isWanted ? new RequestWatch(log, figures, recent, tracer) : undefined;
}

/** Makes a function that logs oddities of user configs: a misspelled member may allow what it was meant to forbid. */
function createOddityLog(logger: Logger): (subject: string, oddities: string) => void {
  const repeated = new RepeatedLog();
  return (subject, oddities) => {
    const fields = { subject: subjectHash(subject), oddities };
    repeated.warn(logger, `${subject} ${oddities}`, fields, 'user config has unrecognised members');
  };
}

function createHostPolicy({ allowedHosts, allowedOrigins }: DataplaneOptions, { host }: ListenAddress): HostPolicy {
  return new HostPolicy({ listenHost: host, allowedHosts, allowedOrigins });
}

/** The endpoints of the optional bootstrap feature, if the build has it. */
async function loadEndpoints(
  start: StartMessage,
  store: Store,
  announcer: ForgetAnnouncer,
  logger: Logger,
): Promise<readonly Endpoint[]> {
  if (start.bootstrapModule === undefined) return [];
  const context = {
    token: start.options.token,
    store,
    announceWritten: (subject: string) => announcer.announce(subject),
    logger,
  };
  const feature = (await import(start.bootstrapModule)) as FeatureModule<typeof context>;
  return feature.createEndpoints(context);
}
