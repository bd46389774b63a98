// The endpoint table of the control plane (decisions 3): its whole HTTP interface, with the role that each endpoint
// requires. Each kind of thing, such as servers, has its part of the table in its own file.
import { compositionOperations } from './composition-operations.js';
import { connectionOperations } from './connection-operations.js';
import { mcpOperations } from './mcp-operations.js';
import type { Operation } from './operation.js';
import { json, resourceMetadataOperation } from './operation-parts.js';
import { serverOperations } from './server-operations.js';
import { signInOperations } from './sign-in-operations.js';
import { viewOperations } from './view-operations.js';

export const operations = {
  health: {
    id: 'getHealth',
    method: 'GET',
    path: '/health',
    tag: 'status',
    summary: 'Whether the control plane can do its work',
    isOpen: true,
    // Callers without a token behind one proxy share an address, and must not use up the monitor's requests.
    isUncounted: true,
    answers: [
      json(200, 'It can.', 'Health'),
      {
        status: 503,
        description: 'The store cannot be reached, or the control plane is overloaded and accepts nothing.',
        contents: [{ mediaType: 'application/json', schema: 'Health' }],
      },
    ],
  },
  live: {
    id: 'getLiveness',
    method: 'GET',
    path: '/live',
    tag: 'status',
    summary: 'Whether the process answers at all, whatever the store does',
    isOpen: true,
    isUncounted: true,
    answers: [json(200, 'It does.', 'Liveness')],
  },
  version: {
    id: 'getVersion',
    method: 'GET',
    path: '/version',
    tag: 'status',
    summary: 'Version and status',
    isOpen: true,
    answers: [json(200, 'Version and status.', 'Version')],
  },
  openApi: {
    id: 'getOpenApi',
    method: 'GET',
    path: '/openapi.json',
    tag: 'documentation',
    summary: 'This document',
    isOpen: true,
    answers: [{ status: 200, description: 'OpenAPI 3.1.', contents: [{ mediaType: 'application/json' }] }],
  },
  docs: {
    id: 'getDocs',
    method: 'GET',
    path: '/docs',
    tag: 'documentation',
    summary: 'This document as a page',
    isOpen: true,
    answers: [{ status: 200, description: 'A page for people.', contents: [{ mediaType: 'text/html' }] }],
  },
  console: {
    id: 'getConsole',
    method: 'GET',
    path: '/ui',
    tag: 'documentation',
    summary: 'The console, for people with a browser',
    description: 'Whatever stands behind `/ui/` is a page of it.',
    isOpen: true,
    isUncounted: true,
    answers: [
      {
        status: 200,
        description: 'Its document, which loads the rest from below `/ui/assets/`.',
        contents: [{ mediaType: 'text/html' }],
        headers: { 'content-encoding': '`br` or `gzip`, as the caller accepts.' },
      },
    ],
    refusals: [404],
  },

  ...signInOperations,

  resourceMetadata: {
    ...resourceMetadataOperation,
    id: 'getResourceMetadata',
    path: '/.well-known/oauth-protected-resource',
    summary: 'Where clients get a token for this program (RFC 9728)',
  },
  aggregateMetadata: {
    ...resourceMetadataOperation,
    id: 'getAggregateMetadata',
    path: '/.well-known/oauth-protected-resource/mcp',
    summary: 'Where MCP clients get a token for all servers',
  },
  compositionMetadata: {
    ...resourceMetadataOperation,
    id: 'getCompositionMetadata',
    path: '/.well-known/oauth-protected-resource/servers/{composition}/mcp',
    summary: 'Where MCP clients get a token for a composition',
  },

  whoAmI: {
    id: 'getCaller',
    role: 'any',
    method: 'GET',
    path: '/whoami',
    tag: 'status',
    summary: 'Who the token is of, and what it is for',
    description: 'Without `--token-roles-claim` every token is an admin’s.',
    answers: [json(200, 'The caller.', 'Caller')],
  },

  ...serverOperations,
  ...connectionOperations,
  ...compositionOperations,
  ...viewOperations,
  ...mcpOperations,
} as const satisfies Record<string, Operation>;
