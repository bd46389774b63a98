// The options of a dataplane whose workers are stubs, for tests that start it and for those that start nothing.
import { tokenOptions } from '../auth/token-options.js';
import type { DataplaneOptions } from '../../src/config/dataplane-options.js';
import { answerOptions } from '../support/answer-options.js';
import { ERAS } from '../support/eras.js';
import { shareOptions } from '../support/shares.js';
import { connectionOptions, upstreamOptions } from '../support/upstream-options.js';

export function stubOptions(changes: Partial<DataplaneOptions> = {}): DataplaneOptions {
  return {
    isCheckOnly: false,
    address: { host: '127.0.0.1', port: 0 },
    tls: undefined,
    adminAddress: undefined,
    metrics: true,
    pathPrefix: '/gw-rs',
    workerCount: 2,
    workerMemoryBytes: 1024 * 1024 * 1024,
    store: { kind: 'embedded', path: 'unused' },
    protectedResource: { publicUrl: undefined, authorizationServers: [] },
    token: tokenOptions({ publicKey: 'a key' }),
    connections: connectionOptions,
    upstream: { ...upstreamOptions, mode: 'tls-only' },
    eras: ERAS,
    answers: answerOptions,
    shares: shareOptions(),
    sessionDirectory: 'none',
    allowedOrigins: [],
    allowedHosts: [],
    bodyBytesMax: 1024,
    sessionIdleTimeoutMs: 1_000,
    traces: undefined,
    requestIds: 'make',
    slowReaderTimeoutMs: 60_000,
    listener: 'uws',
    logLevel: 'debug',
    accessLog: false,
    reloadTimeoutMs: 60_000,
    drainNoticeMs: 0,
    drainTimeoutMs: 10_000,
    workerHangTimeoutMs: 0,
    ...changes,
  };
}
