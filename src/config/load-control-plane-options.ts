// The control plane's options: read, checked against each other, and converted to the form that all code after start-up uses.
import { deepFreeze } from './values.js';
import type { CommandWords } from './command.js';
import type { TokenOptions } from './dataplane-options.js';
import { OWN_ROLE_NAMES } from './standing-claims.js';
import type { ComposerShares, ControlPlaneOptions, SignInOptions } from './control-plane-options.js';
import { defaultWorkerMemoryBytes } from './machine-memory.js';
import type { OptionValues } from './option.js';
import { OptionReader } from './option-reader.js';
import { controlPlaneOptionTable } from './option-table.js';
import { arrangeShares } from './share-options.js';
import {
  arrangeAnswers,
  arrangeConnections,
  arrangeEras,
  arrangeProtectedResource,
  arrangeStore,
  arrangeToken,
  arrangeTraces,
  arrangeUpstream,
  checkStoreOptions,
  checkToken,
  checkConnections,
} from './plane-options.js';

// Options for signing in to the console by OpenID Connect, checked against the others. What would fail only at the first sign-in is refused
// at start-up, where it is noticed.

type Table = typeof controlPlaneOptionTable;

/** Adds faults that involve several options. */
function checkSignIn(reader: OptionReader<Table>): void {
  if (!reader.isGiven('sign-in-issuer')) {
    for (const name of DETAILS) {
      if (reader.isGiven(name)) reader.fault(name, 'has no effect without --sign-in-issuer; give that, too');
    }
    return;
  }
  for (const name of ['sign-in-client-id', 'connect-url'] as const) {
    if (!reader.isGiven(name)) reader.fault('sign-in-issuer', `needs --${name}; give that, too`);
  }
  const issuer = reader.value('sign-in-issuer');
  if (issuer === undefined) return;
  if (issuer.startsWith('http:') && reader.value('upstream-connection-mode') === 'tls-only')
    reader.fault('sign-in-issuer', 'is an http URL, which needs --upstream-connection-mode plain-text-or-tls');
  const trusted = [
    ...(reader.value('token-issuer') ?? []),
    ...(reader.value('token-jwks-url') ?? []).map((source) => source.issuer),
  ];
  if (trusted.includes(issuer)) return;
  reader.fault(
    'sign-in-issuer',
    'is in neither --token-jwks-url nor --token-issuer, so its tokens would be refused; add it there, with exactly the same spelling',
  );
}

/** `undefined` when OpenID Connect is not used to sign in. */
function arrangeSignIn(values: OptionValues<Table>): SignInOptions | undefined {
  const { 'sign-in-issuer': issuer, 'sign-in-client-id': clientId, 'connect-url': consoleUrl } = values;
  if (issuer === undefined || clientId === undefined || consoleUrl === undefined) return undefined;
  return {
    ...{ issuer, clientId, consoleUrl },
    clientSecret: values['sign-in-client-secret-file'],
    scope: values['sign-in-scope'],
    resource: values['sign-in-resource'],
  };
}

const DETAILS = ['sign-in-client-id', 'sign-in-client-secret-file', 'sign-in-scope', 'sign-in-resource'] as const;

/** Opens and starts nothing. @throws {OptionFaults} with every fault. */
export function loadControlPlaneOptions(
  words: CommandWords,
  environment: NodeJS.ProcessEnv = process.env,
): ControlPlaneOptions {
  const reader = new OptionReader(controlPlaneOptionTable, words, environment);
  checkStoreOptions(reader);
  checkToken(reader);
  checkStanding(reader);
  checkSignIn(reader);
  checkConnections(reader);
  const values = reader.finish();
  const memoryBytes = values['control-plane-memory'] ?? defaultWorkerMemoryBytes(1);
  return deepFreeze({
    address: values.address,
    store: arrangeStore(values),
    token: { ...arrangeToken(values), ...arrangeStanding(values) },
    signIn: arrangeSignIn(values),
    protectedResource: arrangeProtectedResource(values),
    upstream: arrangeUpstream(values),
    answers: arrangeAnswers(values),
    eras: arrangeEras(values),
    traces: arrangeTraces(values),
    memoryBytes,
    composerShares: arrangeComposerShares(values),
    shares: arrangeShares(values, memoryBytes),
    connections: arrangeConnections(values),
    allowedOrigins: values['allowed-origins'] ?? [],
    allowedHosts: values['allowed-hosts'] ?? [],
    bodyBytesMax: values['max-body-bytes'],
    healthCheckIntervalMs: values['health-check-interval'],
    probeTimeoutMs: values['probe-timeout'],
    publicationWaitMs: values['publication-wait'],
    requestsPerMinuteMax: values['rate-limit'],
    sessionIdleTimeoutMs: values['session-idle-timeout'],
    logLevel: values['log-level'],
    accessLog: values['access-log'],
    requestIds: values['request-ids'],
    dataplaneAdmin: values['dataplane-admin-address'],
    auditSubjects: values['audit-subjects'],
    drainTimeoutMs: values['drain-timeout'],
  });
}

function checkStanding(reader: OptionReader<typeof controlPlaneOptionTable>): void {
  if (reader.isGiven('token-roles-claim')) return;
  for (const name of ['token-role-names', 'token-teams-claim'] as const) {
    if (reader.isGiven(name)) reader.fault(name, 'has no effect without --token-roles-claim; give that, too');
  }
}

function arrangeStanding(values: OptionValues<typeof controlPlaneOptionTable>): Pick<TokenOptions, 'standing'> {
  const role = values['token-roles-claim'];
  if (role === undefined) return {};
  const roleNames = values['token-role-names'] ?? OWN_ROLE_NAMES;
  return { standing: { role, teams: values['token-teams-claim'], roleNames } };
}

function arrangeComposerShares(values: OptionValues<typeof controlPlaneOptionTable>): ComposerShares {
  return {
    serversMax: values['max-servers'],
    compositionsMax: values['max-compositions'],
    makerCompositionsMax: values['max-compositions-per-maker'],
    makerComposedBytesMax: values['max-composed-bytes-per-maker'],
    makerPublishedBytesMax: values['max-published-bytes-per-maker'],
    makerConfigBytesMax: values['max-config-bytes-per-maker'],
  };
}
