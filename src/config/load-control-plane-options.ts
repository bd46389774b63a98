// The control plane's options: read, held against each other, and put into the shape that everything after start-up sees.
import { deepFreeze } from './deep-freeze.js';
import type { CommandWords } from './command-line.js';
import type { ComposerShares, ControlPlaneOptions } from './control-plane-options.js';
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
  checkStore,
  checkToken,
  checkConnections,
} from './plane-options.js';

/** Throws OptionFaults with every fault. Nothing is opened or started. */
export function loadControlPlaneOptions(
  words: CommandWords,
  environment: NodeJS.ProcessEnv = process.env,
): ControlPlaneOptions {
  const reader = new OptionReader(controlPlaneOptionTable, words, environment);
  checkStore(reader);
  checkToken(reader);
  checkConnections(reader);
  const values = reader.finish();
  const memoryBytes = values['control-plane-memory'] ?? defaultWorkerMemoryBytes(1);
  return deepFreeze({
    address: values.address,
    store: arrangeStore(values),
    token: arrangeToken(values),
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
    auditSubjects: values['audit-subjects'],
    drainTimeoutMs: values['drain-timeout'],
  });
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
