// The endpoint table of the control plane (decisions 3): its whole HTTP interface, with the role that each endpoint
// requires. Each kind of thing, such as servers, has its part of the table in its own file.
import { compositionOperations } from './composition-operations.js';
import type { Operation } from './operation.js';
import {
  json,
  resourceMetadataOperation,
  jsonList,
  aggregateQuery,
  mcpAnswers,
  mcpEnded,
  mcpStream,
  messageHeaders,
  sessionEndHeaders,
  streamHeaders,
} from './operation-parts.js';
import { serverOperations } from './server-operations.js';
import { viewOperations } from './view-operations.js';

// The part of the endpoint table for MCP: all servers as one, and each composition.

const mcpOperations = {
  getAggregate: {
    id: 'getAggregate',
    role: 'reader',
    method: 'GET',
    path: '/mcp',
    tag: 'mcp',
    summary: 'The stream of a session',
    query: aggregateQuery,
    headers: streamHeaders,
    answers: [mcpStream],
    refusals: [404],
  },
  postAggregate: {
    id: 'postAggregate',
    role: 'reader',
    method: 'POST',
    path: '/mcp',
    tag: 'mcp',
    summary: 'All active servers as one MCP server',
    query: aggregateQuery,
    headers: messageHeaders,
    description:
      'Tools are named `<server name>-<tool>`. `tools/list` and `tools/call` work with and without a session.',
    body: 'JsonRpcMessages',
    answers: mcpAnswers,
    refusals: [404],
  },
  deleteAggregate: {
    id: 'deleteAggregate',
    role: 'reader',
    method: 'DELETE',
    path: '/mcp',
    tag: 'mcp',
    summary: 'End a session',
    query: aggregateQuery,
    headers: sessionEndHeaders,
    answers: [mcpEnded],
    refusals: [404],
  },
  getCompositionStream: {
    id: 'getCompositionStream',
    role: 'any',
    method: 'GET',
    path: '/servers/{composition}/mcp',
    tag: 'mcp',
    summary: 'The stream of a session with a composition',
    headers: streamHeaders,
    answers: [mcpStream],
    refusals: [404],
  },
  postComposition: {
    id: 'postComposition',
    role: 'any',
    method: 'POST',
    path: '/servers/{composition}/mcp',
    tag: 'mcp',
    summary: 'A composition as one MCP server',
    headers: messageHeaders,
    description: 'For its subjects.',
    body: 'JsonRpcMessages',
    answers: mcpAnswers,
    refusals: [404],
  },
  deleteComposition: {
    id: 'deleteComposition',
    role: 'any',
    method: 'DELETE',
    path: '/servers/{composition}/mcp',
    tag: 'mcp',
    summary: 'End a session with a composition',
    headers: sessionEndHeaders,
    answers: [mcpEnded],
    refusals: [404],
  },
} as const satisfies Record<string, Operation>;

// The part of the endpoint table for users' consents to servers that require one.

const connectionOperations = {
  linkConnection: {
    id: 'linkConnection',
    role: 'any',
    method: 'POST',
    path: '/servers/{server}/connect',
    tag: 'connections',
    summary: 'A link at which a browser gives the consent that the server wants',
    description:
      'For a server whose `auth` is `oauth2-user`. The link is valid for ten minutes and one use, and gives the consent in the name of the caller.',
    body: 'ConnectionLinkInput',
    answers: [json(200, 'The link.', 'ConnectionLink')],
    refusals: [404, 422, 503],
  },
  listConnections: {
    id: 'listConnections',
    role: 'any',
    method: 'GET',
    path: '/connect',
    tag: 'connections',
    summary: 'List the servers that the caller has connected',
    answers: [jsonList('What the caller has granted.', 'Connection')],
    refusals: [503],
  },
  disconnect: {
    id: 'disconnect',
    role: 'any',
    method: 'DELETE',
    path: '/connect/{server}',
    tag: 'connections',
    isAudited: true,
    summary: 'Forget what the caller has granted at a server',
    description:
      '`{server}` is the name in the list of connections. The next call asks for consent again. The consent is also withdrawn at the authorization server, if that offers it.',
    answers: [
      json(200, 'The consent is deleted here; the body has the result at the authorization server.', 'Disconnection'),
    ],
    refusals: [404, 503],
  },
  showConsent: {
    id: 'showConsent',
    method: 'GET',
    path: '/connect/{server}',
    tag: 'connections',
    summary: 'The page at which a user connects a server',
    description: 'A call without consent returns a link to this page, and so does `POST /servers/{server}/connect`.',
    isOpen: true,
    query: { ticket: { type: 'string', description: 'Of the link.' } },
    answers: [{ status: 200, description: 'What is asked for, and by whom.', contents: [{ mediaType: 'text/html' }] }],
  },
  beginConsent: {
    id: 'beginConsent',
    method: 'POST',
    path: '/connect/{server}',
    tag: 'connections',
    summary: 'Go on at the authorization server',
    description: 'The form of that page.',
    isOpen: true,
    answers: [{ status: 200, description: 'A page that goes on there.', contents: [{ mediaType: 'text/html' }] }],
  },
  endConsent: {
    id: 'endConsent',
    method: 'GET',
    path: '/connect/callback',
    tag: 'connections',
    summary: 'Where the authorization server sends the browser back to',
    isOpen: true,
    answers: [{ status: 200, description: 'How it ended.', contents: [{ mediaType: 'text/html' }] }],
  },
} as const satisfies Record<string, Operation>;

// The part of the endpoint table for signing in to the console by OpenID Connect, used by the console's own page.

const signInOperations = {
  getSignIn: {
    id: 'getSignIn',
    method: 'GET',
    path: '/ui/sign-in',
    tag: 'documentation',
    summary: 'How people sign in to the console',
    isOpen: true,
    isUncounted: true,
    answers: [json(200, 'The issuer, if there is one.', 'SignIn')],
  },
  beginSignIn: {
    id: 'beginSignIn',
    method: 'POST',
    path: '/ui/sign-in',
    tag: 'documentation',
    summary: 'Begin to sign in to the console at its issuer',
    description:
      'The answer sets a cookie for this browser. The sign-in can be completed with it once, within ten minutes.',
    isOpen: true,
    answers: [json(200, 'Where it goes on.', 'SignInBeginning')],
    refusals: [404, 503],
  },
  endSignIn: {
    id: 'endSignIn',
    method: 'POST',
    path: '/ui/sign-in/token',
    tag: 'documentation',
    summary: 'End a sign-in with what the issuer has sent the browser back with',
    description: 'From the browser that has begun it, with the cookie.',
    isOpen: true,
    body: 'SignInAnswer',
    answers: [json(200, 'A token of the issuer, for this interface.', 'SignedIn')],
    refusals: [403, 404, 422, 503],
  },
} as const satisfies Record<string, Operation>;

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
