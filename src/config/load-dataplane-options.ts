// The dataplane's options: read, checked against each other, and converted to the form that all code after start-up uses.
import { deepFreeze } from './values.js';
import type { CommandWords } from './command.js';
import type { DataplaneOptions } from './dataplane-options.js';
import type { OptionValues } from './option.js';
import { defaultWorkerMemoryBytes } from './machine-memory.js';
import { OptionReader } from './option-reader.js';
import { dataplaneOptionTable } from './option-table.js';
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
  pairFault,
} from './plane-options.js';

type Table = typeof dataplaneOptionTable;
type Values = OptionValues<Table>;

const LISTENER_FILES = ['server-certificate', 'server-private-key'] as const;

/** Opens and starts nothing. @throws {OptionFaults} with every fault. */
export function loadDataplaneOptions(
  words: CommandWords,
  environment: NodeJS.ProcessEnv = process.env,
): DataplaneOptions {
  const reader = new OptionReader(dataplaneOptionTable, words, environment);
  checkTlsListener(reader);
  checkAdminListener(reader);
  checkStoreOptions(reader);
  checkToken(reader);
  checkConnections(reader);
  return deepFreeze(arrange(reader.finish()));
}

function checkTlsListener(reader: OptionReader<Table>): void {
  const isWanted = reader.isGiven('tls-address');
  for (const name of LISTENER_FILES) {
    if (isWanted && !reader.isGiven(name)) reader.fault(name, 'is required by --tls-address; give a PEM file');
    if (!isWanted && reader.isGiven(name))
      reader.fault(name, 'has no effect without --tls-address; give both or neither');
  }
  const [certificateName, privateKeyName] = LISTENER_FILES;
  const fault = pairFault(certificateName, reader.value(certificateName), reader.value(privateKeyName));
  if (fault !== undefined) reader.fault(privateKeyName, fault);
  const [plain, tls] = [reader.value('address'), reader.value('tls-address')];
  if (plain && tls && tls.port !== 0 && tls.port === plain.port && tls.host === plain.host) {
    reader.fault('tls-address', 'is the same as --address; give the two listeners different ports');
  }
}

/** The admin listener must never share an address that callers can reach. */
function checkAdminListener(reader: OptionReader<Table>): void {
  const admin = reader.value('admin-address');
  for (const name of ['address', 'tls-address'] as const) {
    const other = reader.value(name);
    if (admin === undefined || other === undefined || other.port === 0 || other.port !== admin.port) continue;
    const isOne =
      [admin.host, other.host].some((host) => host === '0.0.0.0' || host === '::') || admin.host === other.host;
    if (isOne) reader.fault('admin-address', `is the same as --${name}; give it another port, or off`);
  }
}

function arrange(values: Values): DataplaneOptions {
  const workerCount = values['number-of-cpus'];
  const workerMemoryBytes = values['worker-memory'] ?? defaultWorkerMemoryBytes(workerCount);
  return {
    address: values.address,
    listener: values.listener,
    tls: arrangeTls(values),
    adminAddress: values['admin-address'],
    metrics: values.metrics && values['admin-address'] !== undefined,
    pathPrefix: values['path-prefix'],
    workerCount,
    workerMemoryBytes,
    store: arrangeStore(values),
    token: arrangeToken(values),
    protectedResource: arrangeProtectedResource(values),
    upstream: arrangeUpstream(values),
    answers: arrangeAnswers(values),
    eras: arrangeEras(values),
    traces: arrangeTraces(values),
    shares: arrangeShares(values, workerMemoryBytes),
    connections: arrangeConnections(values),
    allowedOrigins: values['allowed-origins'] ?? [],
    allowedHosts: values['allowed-hosts'] ?? [],
    bodyBytesMax: values['max-body-bytes'],
    sessionDirectory: values['session-directory'],
    sessionIdleTimeoutMs: values['session-idle-timeout'],
    requestIds: values['request-ids'],
    slowReaderTimeoutMs: values['slow-reader-timeout'],
    logLevel: values['log-level'],
    accessLog: values['access-log'],
    reloadTimeoutMs: values['reload-timeout'],
    drainNoticeMs: values['drain-notice'],
    drainTimeoutMs: values['drain-timeout'],
    workerHangTimeoutMs: values['worker-hang-timeout'],
  };
}

function arrangeTls(values: Values): DataplaneOptions['tls'] {
  const address = values['tls-address'];
  const certificate = values['server-certificate'];
  const privateKey = values['server-private-key'];
  if (address === undefined || certificate === undefined || privateKey === undefined) return undefined;
  return { address, certificatePath: certificate.path, privateKeyPath: privateKey.path };
}
