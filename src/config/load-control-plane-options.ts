// The control plane's options: read, checked against each other, and converted to the form that all code after start-up uses.
import { deepFreeze } from './deep-freeze.js';
import type { CommandWords } from './command.js';
import type { TokenOptions } from './dataplane-options.js';
import { OWN_ROLE_NAMES } from './standing-claims.js';
import type { ComposerShares, ControlPlaneOptions } from './control-plane-options.js';
import { defaultWorkerMemoryBytes } from './machine-memory.js';
import type { OptionValues } from './option.js';
import { OptionReader } from './option-reader.js';
import { controlPlaneOptionTable } from './option-table.js';
import { arrangeShares } from './share-options.js';
import { arrangeSignIn, checkSignIn } from './sign-in-check.js';
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
