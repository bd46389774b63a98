// Builds one control plane from its parts, and decides in which order they start, drain and stop.
import type { AddressInfo } from 'node:net';
import { TokenVerifier } from '../auth/index.js';
import type { ControlPlaneOptions, ListenAddress, StoreOptions } from '../config/index.js';
import { listenFault, StartFault } from '../process/index.js';
import { Overload, OverloadWatch, ProcessGauges, DeadlineWheel } from '../fair/index.js';
import { exitStatus, HostPolicy, type Logger } from '../shared/index.js';
import { RequestIds, ProtectedResource } from '../edge/index.js';
import { fetchOver, Names, Http1Upstream } from '../http-client/index.js';
import { AccessLog, openTracer, RecentRequests, RequestWatch, TRACE_FLUSH_MS_MAX } from '../observation/index.js';
import { StoreDamage, openRecordStore, openStore, type RecordStore, AuditRecords } from '../store/index.js';
import { createCredentials, SecretKeys, StoredSecrets, UserGrants } from '../credentials/index.js';
import { AuditTrail } from './common/audit.js';
import { Compositions } from './compositions/compositions.js';
import { ConsentFlow } from './connect/consent-flow.js';
import { AdminClient } from './dataplane/admin-client.js';
import { LiveFigures } from './dataplane/live-figures.js';
import { CONSOLE_DIRECTORY, readConsole } from './http/routes/console-routes.js';
import { createHttpApp, type HttpApp } from './http/http-app.js';
import { RateLimiter } from './http/control-plane-admission.js';
import { McpEndpoints } from './mcp/mcp-endpoints.js';
import { Directory } from './registry/directory.js';
import { CredentialedProber, ProbeThread } from './prober/probe-thread.js';
import { Registry } from './registry/registry.js';
import { SignInFlow } from './sign-in/sign-in-flow.js';

/** The most requests to the control plane's own MCP endpoints that can be looked up by id. Beyond that, the oldest is forgotten. */
const CONTROL_PLANE_REQUESTS_KEPT = 1_024;

/** Resolves when the control plane listens. Rejects with a `StartFault`. */
export async function startControlPlane(options: ControlPlaneOptions, logger: Logger) {
  const { upstream, connections, sessionIdleTimeoutMs, bodyBytesMax, answers, eras, shares } = options;
  const { allowedHosts, allowedOrigins, composerQuotas: quotas, probeTimeoutMs: timeoutMs } = options;
  const records = await openRecords(options.store, logger);
  const { nameServers, allowedNetworks, proxy } = connections.names;
  const probeNames = { nameServers, allowedNetworks, proxy };
  const { connectTimeoutMs, connectUrl, authorities, mode, secretKeys } = upstream;
  const store = secretKeys.length === 0 ? undefined : await openStore(options.store, logger);
  const storedSecrets = store && StoredSecrets.of(store, secretKeys);
  const keys = new SecretKeys(secretKeys);
  const userGrants = store && UserGrants.of(store, keys);
  // Looks up host names for requests to authorization servers.
  const names = new Names(connections.names);
  const http = new Http1Upstream({ connectTimeoutMs, names, authorities });
  const deadlines = new DeadlineWheel();
  const credentials = createCredentials(upstream, { http, deadlines, storedSecrets, userGrants });
  const outbound = { http, names, mode, logger };
  const overload = new Overload(logger);
  const directory = new Directory(records);
  const registry = new Registry({
    records,
    directory,
    prober: new CredentialedProber(new ProbeThread({ timeoutMs, mode, authorities, names: probeNames }), credentials),
    logger,
    healthIntervalMs: options.healthCheckIntervalMs,
    serversMax: quotas.serversMax,
  });
  const compositions = new Compositions({ records, directory, registry, quotas, logger });
  const tracer = await openTracer(options.traces, 'control-plane', logger);
  const accessLog = new AccessLog(logger, options.accessLog);
  const recentRequests = options.requestIds === 'off' ? undefined : new RecentRequests(CONTROL_PLANE_REQUESTS_KEPT);
  const auditRecords = new AuditRecords(records, logger);
  const { dataplaneAdmin } = options;
  const adminClient = dataplaneAdmin && new AdminClient(dataplaneAdmin);
  const liveFigures = adminClient && new LiveFigures(adminClient);
  const mcp = new McpEndpoints({
    watch: new RequestWatch(accessLog, undefined, recentRequests, tracer),
    ...{ overload, directory, compositions, upstream, answers, eras, shares, connections, storedSecrets, userGrants },
    names: new Names(connections.names),
    ...{ sessionIdleTimeoutMs, bodyBytesMax, logger },
  });
  // Lists that were cached before a registry change may be outdated.
  registry.addChangeListener(async () => mcp.forgetLists());
  const tokens = new TokenVerifier({ ...options.token, fetch: names.proxy && fetchOver(http) });
  await tokens.watchKeys(logger);
  const consentFlow =
    connectUrl && userGrants
      ? new ConsentFlow({ ...outbound, connectUrl, records, keys, grants: userGrants, secrets: credentials.secrets })
      : undefined;
  const { audience } = options.token;
  const app = await createHttpApp({
    ...{
      overload,
      records,
      registry,
      compositions,
      mcp,
      auditRecords,
      tokenVerifier: tokens,
      recentRequests,
      accessLog,
      logger,
      liveFigures,
      adminClient,
    },
    consentFlow,
    signInFlow: options.signIn && new SignInFlow(options.signIn, { ...outbound, tokens, audience, keys: secretKeys }),
    console: readConsole(CONSOLE_DIRECTORY),
    hosts: new HostPolicy({ listenHost: options.address.host, allowedHosts, allowedOrigins, areOwnPagesAllowed: true }),
    protectedResource: new ProtectedResource(options.protectedResource),
    rateLimiter: new RateLimiter(options.requestsPerMinuteMax),
    bodyBytesMax,
    publicationWaitMs: options.publicationWaitMs,
    requestIds: new RequestIds(options.requestIds),
    audit: new AuditTrail(logger, options.auditSubjects, auditRecords),
  });
  const overloadWatch = new OverloadWatch(overload, options.memoryBytes, new ProcessGauges('managed'));
  /** Accepts no more connections, lets requests finish within `drainTimeoutMs`, then closes everything. */
  const drain = async (drainTimeoutMs: number): Promise<void> => {
    const cutTimer = setTimeout(() => app.server.closeAllConnections(), drainTimeoutMs);
    mcp.drain();
    liveFigures?.close();
    await app.close();
    clearTimeout(cutTimer);
    overloadWatch.stop();
    tokens.close();
    await mcp.stop();
    await Promise.all([registry.stop(), compositions.stop()]);
    await http.close();
    names.close();
    deadlines.stop();
    await auditRecords.stop();
    await store?.close();
    await records.close();
    await tracer?.close(TRACE_FLUSH_MS_MAX);
  };
  const address = await listen(app, options.address);
  overloadWatch.start();
  registry.start();
  compositions.start();
  return { address, records, drain };
}

async function openRecords(options: StoreOptions, logger: Logger): Promise<RecordStore> {
  try {
    return await openRecordStore(options, logger);
  } catch (error) {
    if (error instanceof StoreDamage) throw new StartFault(exitStatus.cannotCreate, error.message, error);
    const reason = error instanceof Error ? error.message : String(error);
    const advice = 'give --store-path a directory that this user may write';
    throw new StartFault(exitStatus.cannotCreate, `the store cannot be opened: ${reason}; ${advice}`, error);
  }
}

async function listen(app: HttpApp, address: ListenAddress): Promise<ListenAddress> {
  try {
    await app.listen({ host: address.host, port: address.port });
  } catch (error) {
    throw listenFault(address, '--address', error);
  }
  return { host: address.host, port: (app.server.address() as AddressInfo).port };
}
