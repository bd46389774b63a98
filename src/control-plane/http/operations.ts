// The endpoint table of the control plane (specification 3). Most topics, such as servers, have their rows in a file of their own.
import { LATEST_LEGACY_VERSION } from '../../mcp/index.js';
import { PROGRAM_VERSION } from '../../shared/index.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';
import { compositionOperations } from './crud-operations.js';
import { connectionOperations } from './connection-operations.js';
import { operationsOf, type Operation, aggregateQuery, jsonAnswer, htmlAnswer } from './operation.js';
import { serverOperations } from './server-operations.js';
import { signInOperations } from './sign-in-operations.js';
import { viewOperations } from './view-operations.js';

function statusOf(isHealthy: boolean): 'healthy' | 'unhealthy' {
  return isHealthy ? 'healthy' : 'unhealthy';
}

const statusOperations = operationsOf('status', {
  'GET /health': {
    id: 'getHealth',
    summary: 'Whether the control plane can do its work',
    isOpen: true,
    // Not counted against the rate limit: other callers without a token may share the monitor's address.
    isUncounted: true,
    answers: [
      jsonAnswer(200, 'It can.', 'Health'),
      {
        status: 503,
        description: 'The store cannot be reached, or the control plane is overloaded and accepts nothing.',
        contents: [{ mediaType: 'application/json', schema: 'Health' }],
      },
    ],
    handle: async ({ overload, records }, _request, reply) => {
      const status = statusOf(overload.healthRefusal === undefined && (await records.ping()));
      if (status !== 'healthy') reply.code(503);
      return { status };
    },
  },
  'GET /live': {
    id: 'getLiveness',
    summary: 'Whether the process answers at all, whatever the store does',
    isOpen: true,
    isUncounted: true,
    answers: [jsonAnswer(200, 'It does.', 'Liveness')],
    handle: async () => ({ status: 'live' as const }),
  },
  'GET /version': {
    id: 'getVersion',
    summary: 'Version and status',
    isOpen: true,
    answers: [jsonAnswer(200, 'Version and status.', 'Version')],
    handle: async ({ records, registry, compositions }) => {
      const reachable = await records.ping();
      return {
        app: { name: 'switchyard', version: PROGRAM_VERSION, mcpProtocolVersion: LATEST_LEGACY_VERSION },
        status: statusOf(reachable),
        timestamp: new Date().toISOString(),
        uptimeSeconds: Math.round(process.uptime() * 1_000) / 1_000,
        store: { kind: records.kind, reachable },
        servers: reachable ? await registry.count() : null,
        unpublishedChanges: reachable ? await compositions.countUnpublished() : null,
      };
    },
  },
});

const documentationOperations = operationsOf('documentation', {
  'GET /openapi.json': {
    id: 'getOpenApi',
    summary: 'This document',
    isOpen: true,
    answers: [{ status: 200, description: 'OpenAPI 3.1.', contents: [{ mediaType: 'application/json' }] }],
    handle: async ({ document }) => document,
  },
  'GET /docs': {
    id: 'getDocs',
    summary: 'This document as a page',
    isOpen: true,
    answers: [htmlAnswer('A page for people.')],
  },
  'GET /ui': {
    id: 'getConsole',
    summary: 'The console, for people with a browser',
    description: 'Whatever stands behind `/ui/` is a page of it.',
    isOpen: true,
    isUncounted: true,
    answers: [
      {
        ...htmlAnswer('Its document, which loads the rest from below `/ui/assets/`.'),
        headers: { 'content-encoding': '`br` or `gzip`, as the caller accepts.' },
      },
    ],
    refusals: [404],
  },
});

/** What the operations have in common that tell clients where to get a token (RFC 9728). */
const resourceMetadata = {
  isOpen: true,
  description:
    'The answer is the same whether the composition exists or not: 404 if there is no authorization server to name (`--authorization-servers`).',
  answers: [jsonAnswer(200, 'The resource and its authorization servers.', 'ResourceMetadata')],
  refusals: [404],
  handle: async ({ admission }, request, reply) => {
    const metadata = admission.metadata(request);
    if (metadata === undefined) throw new ControlPlaneFault('not-found', 'Not Found');
    reply.type('application/json');
    return metadata;
  },
} as const satisfies Partial<Operation>;

const callerOperations = operationsOf('status', {
  'GET /.well-known/oauth-protected-resource': {
    ...resourceMetadata,
    id: 'getResourceMetadata',
    summary: 'Where clients get a token for this program (RFC 9728)',
  },
  'GET /.well-known/oauth-protected-resource/mcp': {
    ...resourceMetadata,
    id: 'getAggregateMetadata',
    summary: 'Where MCP clients get a token for all servers',
  },
  'GET /.well-known/oauth-protected-resource/servers/{composition}/mcp': {
    ...resourceMetadata,
    id: 'getCompositionMetadata',
    summary: 'Where MCP clients get a token for a composition',
  },
  'GET /whoami': {
    id: 'getCaller',
    role: 'any',
    summary: 'Who the token is of, and what it is for',
    description: 'Without `--token-roles-claim` every token is an admin’s.',
    answers: [jsonAnswer(200, 'The caller.', 'Caller')],
    handle: async (_parts, { subject, caller }) => {
      if (caller === undefined) return { subject, role: 'admin', teams: [] };
      return { subject, role: caller.role ?? null, teams: caller.teams };
    },
  },
});

const messageHeaders = {
  'mcp-session-id': { description: 'From the answer to `initialize`; left out for a request without a session.' },
  'mcp-protocol-version': { description: 'The version that `initialize` agreed on.' },
};

function sessionHeaders(description: string) {
  return { ...messageHeaders, 'mcp-session-id': { isRequired: true, description } } as const;
}

// By method, what the operations on the two MCP endpoints have in common.
const mcpGet = {
  headers: sessionHeaders('The session that the stream belongs to.'),
  answers: [
    {
      status: 200,
      description:
        'Messages of servers that belong to no request, until the session ends or another GET replaces this stream.',
      contents: [{ mediaType: 'text/event-stream' }],
    },
  ],
  refusals: [404],
} as const satisfies Partial<Operation>;
const mcpPost = {
  headers: messageHeaders,
  body: 'JsonRpcMessages',
  answers: [
    {
      status: 200,
      description: 'The JSON-RPC answer, as JSON or as an event stream, depending on `Accept`.',
      contents: [{ mediaType: 'application/json', schema: 'JsonRpcMessages' }, { mediaType: 'text/event-stream' }],
      headers: { 'mcp-session-id': 'The new session, on the answer to `initialize`.' },
    },
    { status: 202, description: 'A notification or response was accepted.', contents: [] },
  ],
  refusals: [404],
} as const satisfies Partial<Operation>;
const mcpDelete = {
  headers: sessionHeaders('The session to end.'),
  answers: [{ status: 200, description: 'The session has ended.', contents: [] }],
  refusals: [404],
} as const satisfies Partial<Operation>;
const aggregateMembers = { role: 'reader', query: aggregateQuery } as const;

const mcpOperations = operationsOf('mcp', {
  'GET /mcp': { ...mcpGet, ...aggregateMembers, id: 'getAggregate', summary: 'The stream of a session' },
  'POST /mcp': {
    ...{ ...mcpPost, ...aggregateMembers, id: 'postAggregate', summary: 'All active servers as one MCP server' },
    description:
      'Tools are named `<server name>-<tool>`. `tools/list` and `tools/call` work with and without a session.',
  },
  'DELETE /mcp': { ...mcpDelete, ...aggregateMembers, id: 'deleteAggregate', summary: 'End a session' },
  'GET /servers/{composition}/mcp': {
    ...{ ...mcpGet, role: 'any', id: 'getCompositionStream', summary: 'The stream of a session with a composition' },
  },
  'POST /servers/{composition}/mcp': {
    ...{ ...mcpPost, role: 'any', id: 'postComposition', summary: 'A composition as one MCP server' },
    description: 'For its subjects.',
  },
  'DELETE /servers/{composition}/mcp': {
    ...{ ...mcpDelete, role: 'any', id: 'deleteComposition', summary: 'End a session with a composition' },
  },
});

export const operations: readonly Operation[] = [
  ...statusOperations,
  ...documentationOperations,
  ...signInOperations,
  ...callerOperations,
  ...serverOperations,
  ...connectionOperations,
  ...compositionOperations,
  ...viewOperations,
  ...mcpOperations,
];
