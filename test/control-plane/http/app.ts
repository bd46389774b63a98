// The control plane's HTTP interface for tests: each test passes the parts that it needs; the rest are stand-ins that do nothing.
import type { Test } from 'tap';
import { TokenVerifier } from '../../../src/auth/token-verifier.js';
import { AuditTrail } from '../../../src/control-plane/common/audit.js';
import { createHttpApp, type HttpApp, type HttpAppParts } from '../../../src/control-plane/http/http-app.js';
import { RateLimiter } from '../../../src/control-plane/http/control-plane-admission.js';
import { AccessLog } from '../../../src/observation/access-log.js';
import { Overload } from '../../../src/fair/overload.js';
import { HostPolicy } from '../../../src/shared/host-policy.js';
import { ProtectedResource } from '../../../src/edge/edge.js';
import { RequestIds } from '../../../src/edge/request-head.js';
import { tokenOptions } from '../../auth/token-options.js';
import { logInto } from '../../support/log-lines.js';

/** The secret of the tokens that the app accepts. */
export const SECRET = Buffer.alloc(32, 7);

export type Kept = Pick<HttpAppParts, 'registry' | 'compositions' | 'records'>;

/** For tests that ask for no servers and no compositions. */
export const NOTHING_KEPT = { registry: {}, compositions: {}, records: {} } as Kept;

/** What a caller sends besides method and path. */
export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly payload?: string | Buffer;
}

export async function openApp(t: Test, parts: Kept & Partial<HttpAppParts>): Promise<HttpApp> {
  const app = await createHttpApp({
    console: new Map(),
    mcp: { handle: () => {} },
    hosts: new HostPolicy({ listenHost: '127.0.0.1', allowedHosts: [], allowedOrigins: [] }),
    protectedResource: new ProtectedResource({ publicUrl: undefined, authorizationServers: [] }),
    tokenVerifier: new TokenVerifier(tokenOptions({ secret: SECRET })),
    rateLimiter: new RateLimiter(0),
    bodyBytesMax: 100_000,
    publicationWaitMs: 10_000,
    requestIds: new RequestIds('make'),
    accessLog: new AccessLog(logInto([]), false),
    audit: new AuditTrail(logInto([]), 'hash'),
    auditRecords: { list: async () => ({ items: [], cursor: undefined }) },
    overload: new Overload(logInto([])),
    logger: logInto([]),
    ...parts,
  });
  t.teardown(() => app.close());
  return app;
}
