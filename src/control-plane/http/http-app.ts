// The control plane's HTTP interface. The steps from a request's head to its response:
//
//   onRequest     security headers; Host and Origin (403), repeated headers (400), rate (429), token (401); unknown path or
//                 method (404, 405); role (403); overload (503)
//   preValidation members in snake_case are renamed to camelCase
//   validation    body (415, 413, 400), then the schemas of body and query (422)
//   handler       registry, compositions, MCP endpoints
//   onError       errors of all these steps become `{"detail": …}` (answered-error.ts)
import type { Socket } from 'node:net';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { limitConnections } from '../../fair/index.js';
import type { Role } from '../../config/index.js';
import { limits, type Logger } from '../../shared/index.js';
import type { RequestIds } from '../../edge/index.js';
import type { AccessLog } from '../../observation/index.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';
import { isAdmin, type Principal } from '../common/principal.js';
import { type AdmissionParts, ControlPlaneAdmission, isPreflight } from './control-plane-admission.js';
import { faultOf } from './answered-error.js';
import { type ConsoleFiles, mountConsoleRoutes } from './routes/console-routes.js';
import { setValidators, mountMcpRoutes, mountOperation, type MountParts, type ServedMcp } from './mount.js';
import { MERGE_PATCH, acceptJsonBodies, acceptPatchBodies } from './merge-patch.js';
import type { Operation } from './operation.js';
import { createOpenApiDocument } from './open-api.js';
import { operations } from './operations.js';
import { mountConnectPages } from './routes/connect-routes.js';
import { mountDocumentationRoutes } from './routes/documentation-routes.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The token's subject; `''` on routes that need no token. */
    subject: string;
    /** Role and teams from the token; `undefined` where roles are not taken from tokens, or no token is needed. */
    caller: Principal | undefined;
    /** Why the request was refused or failed; `null` if it was not. */
    failure: ControlPlaneFault | null;
    /** Whether the relay handles the request, and logs its outcome itself. */
    isRelayed: boolean;
  }

  interface FastifyContextConfig {
    /** Whether the route is answered without a token. */
    readonly isOpen?: boolean;
    /** Whether the route is exempt from the rate limit. */
    readonly isUncounted?: boolean;
    /** The required role; if absent, any role or none will do. */
    readonly role?: Role | 'any';
  }
}

/** Sent with every response: browsers must not guess types, frame, store or load anything, nor send a referrer. */
const securityHeaders: readonly (readonly [name: string, value: string])[] = [
  ['x-content-type-options', 'nosniff'],
  ['x-frame-options', 'DENY'],
  ['referrer-policy', 'no-referrer'],
  ['cross-origin-resource-policy', 'same-origin'],
  ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ['cache-control', 'no-store'],
];

/** Logs each request that the relay did not handle, without arguments, tokens and whole session ids (`--access-log`). */
function addAccessLogHook(app: FastifyInstance, log: AccessLog): void {
  app.decorateRequest('failure', null);
  app.decorateRequest('isRelayed', false);
  app.addHook('onResponse', async (request, reply) => {
    if (request.isRelayed) return;
    const { subject, method, routeOptions, failure, id } = request;
    const { server, composition } = request.params as Record<string, string | undefined>;
    const { outcome = 'ok', code = '', why: cause = '', host } = failure ?? {};
    log.logAnswered({
      ...{ requestId: id, subject, method, route: routeOptions.url ?? '', server, composition },
      ...{ outcome, code, cause, host, status: reply.statusCode, durationMs: reply.elapsedTime },
      requestBytes: Number(request.headers['content-length'] ?? 0),
      bytes: Number(reply.getHeader('content-length') ?? 0),
    });
  });
}

/** The most connections to the control plane. For one more, the one that has been idle longest is closed. */
const CONTROL_PLANE_CONNECTIONS_MAX = 4_096;

export interface HttpAppParts extends Omit<MountParts, 'admission' | 'document' | 'overload'>, AdmissionParts {
  readonly mcp: ServedMcp;
  readonly console: ConsoleFiles;
  readonly bodyBytesMax: number;
  readonly requestIds: RequestIds;
  readonly accessLog: AccessLog;
  readonly logger: Logger;
}

export type HttpApp = FastifyInstance;

export async function createHttpApp(parts: HttpAppParts): Promise<HttpApp> {
  const app = fastify({
    bodyLimit: parts.bodyBytesMax,
    // While the process drains, a request on an open connection is answered as usual, and is the connection's last.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: limits.requestReceiveMsMax,
    http: { maxHeaderSize: limits.requestHeaderBytesMax },
    genReqId: ({ headers }) => parts.requestIds.of(String(headers['x-request-id'] ?? '')),
    routerOptions: { maxParamLength: limits.pathParameterCharsMax, ignoreTrailingSlash: true },
    // Requests whose path cannot be decoded skip every hook.
    frameworkErrors: (error, request, reply) => {
      setSecurityHeaders(reply);
      sendError(error, request, reply, parts.logger);
    },
    clientErrorHandler: answerClientError,
  });
  limitConnections(app.server, CONTROL_PLANE_CONNECTIONS_MAX);
  setValidators(app);
  // Responses are not serialized by schema, which would silently drop members that the schema lacks.
  app.setSerializerCompiler(() => (value) => JSON.stringify(value));
  acceptJsonBodies(app);
  const admission = new ControlPlaneAdmission(parts);
  addAdmissionHook(app, admission);
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, parts.logger));
  addAccessLogHook(app, parts.accessLog);
  // While the process drains, no connection outlasts the request that it was open for.
  app.addHook('onResponse', async () => void (app.server.listening || app.server.closeIdleConnections()));
  const document = createOpenApiDocument();
  const mountAll = (scope: FastifyInstance, isWanted: (operation: Operation) => boolean): void => {
    for (const operation of operations.filter(isWanted))
      if (operation.handle !== undefined)
        mountOperation(scope, operation, operation.handle, { ...parts, admission, document });
  };
  mountAll(app, ({ bodyType }) => bodyType !== MERGE_PATCH);
  await app.register(async (scope) => {
    acceptPatchBodies(scope);
    mountAll(scope, ({ bodyType }) => bodyType === MERGE_PATCH);
  });
  await mountConnectPages(app, parts.consentFlow);
  mountDocumentationRoutes(app, document);
  mountConsoleRoutes(app, parts.console);
  await mountMcpRoutes(app, parts.mcp);
  await app.ready();
  return app;
}

function addAdmissionHook(app: FastifyInstance, admission: ControlPlaneAdmission): void {
  app.decorateRequest('subject', '');
  app.decorateRequest('caller', undefined);
  app.addHook('onRequest', async (request, reply) => {
    setSecurityHeaders(reply);
    if (request.id !== '') reply.raw.setHeader('x-request-id', request.id);
    admission.checkHead(request);
    const corsHeaders = admission.corsHeaders(request);
    for (let i = 0; i < corsHeaders.length; i += 2) reply.raw.setHeader(corsHeaders[i] ?? '', corsHeaders[i + 1] ?? '');
    if (isPreflight(request)) return reply.code(204).send();
    await admission.checkCaller(request);
    if (request.is404) throw unknownRouteFault(request);
    admission.checkRole(request);
    admission.checkLoad(request);
    return undefined;
  });
}

/** Sets the headers on Node.js's own response, so that MCP responses have them, too. */
function setSecurityHeaders(reply: FastifyReply): void {
  for (const [name, value] of securityHeaders) reply.raw.setHeader(name, value);
}

/** The fault for a request without a route: 404 for an unknown path, 405 for an unknown method. */
function unknownRouteFault({ url }: FastifyRequest): ControlPlaneFault {
  const [path = ''] = url.split('?', 1);
  const patternOf = (template: string): string => template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+');
  const methods = operations
    .filter((operation) => new RegExp(`^${patternOf(operation.path)}$`).test(path))
    .flatMap(({ method, tag }) => (method === 'GET' && tag !== 'mcp' ? ['GET', 'HEAD'] : [method]));
  if (methods.length === 0) return new ControlPlaneFault('path-unknown', 'Not Found');
  return new ControlPlaneFault('method-not-allowed', 'Method Not Allowed', { headers: { allow: methods.join(', ') } });
}

function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply, logger: Logger): void {
  const known = faultOf(error);
  if (known === undefined) logger.error({ err: error, route: request.routeOptions.url }, 'request failed');
  const fault = known ?? new ControlPlaneFault('internal-error', 'Internal error: see the log', { why: '' });
  request.failure = fault;
  // fastify would close the connection while the body is incomplete, and a client that is still sending would not see the
  // response. Node.js discards the rest of the body.
  reply.removeHeader('connection');
  const detail = isAdmin(request.caller) ? fault.messageForAdmins : fault.message;
  void reply.code(fault.status).headers(fault.headers).type('application/json').send({ detail });
}

/** Answers requests that Node.js cannot parse. */
function answerClientError(error: Error & { readonly code?: string }, socket: Socket): void {
  const [status, detail] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'Request header fields too large']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'The request did not arrive in time']
        : ['400 Bad Request', 'The request is not valid HTTP/1.1'];
  if (!socket.writable) return;
  const body = JSON.stringify({ detail });
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
