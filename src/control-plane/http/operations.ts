// The endpoint table of the control plane (decisions 3). Who reads this file knows its whole HTTP interface.
import { limits } from '../../shared/limits.js';
import type { Answer, Operation } from './operation.js';
import type { SchemaName } from './schemas.js';

const pageQuery = {
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: limits.listPageMax,
    description:
      'So many at most; as many as this may be when left out. A page may be shorter: the `Link` header alone says whether there is more.',
  },
  cursor: { type: 'string', pattern: '^[A-Za-z0-9_-]+$', description: 'From the `Link` header of the page before.' },
};

const pageHeaders = { link: 'Where the next page is, `rel="next"`; absent on the last one.' };

function json(status: 200 | 201 | 202, description: string, schema: SchemaName): Answer {
  return { status, description, contents: [{ mediaType: 'application/json', schema }] };
}

function jsonList(description: string, schema: SchemaName): Answer {
  return { status: 200, description, contents: [{ mediaType: 'application/json', schema, isList: true }] };
}

const tagged = { etag: 'What people say of it, as a tag: for `If-Match`.' };
const conditionHeaders = {
  'if-match': {
    description: 'The `ETag` of what was read: the change is made only if nobody has made another one since.',
  },
};

const located = { location: 'The path of what was made.', ...tagged };
const removed: Answer = { status: 204, description: 'It is gone.', contents: [] };

/** Of a change that many user configs have to be written for. */
const unpublished = {
  description:
    'The change is made. Publishing it took longer than a request waits: it goes on, and until its end the dataplane serves some subjects as before.',
  headers: { 'switchyard-unpublished': 'User configs that do not have the change yet.' },
};
const removedUnpublished: Answer = { status: 202, contents: [], ...unpublished };

function changedUnpublished(schema: SchemaName, headers: Readonly<Record<string, string>> = {}): Answer {
  const described = json(202, unpublished.description, schema);
  return { ...described, headers: { ...unpublished.headers, ...headers } };
}

const mcpAnswers: readonly Answer[] = [
  {
    status: 200,
    description: 'The JSON-RPC answer, as JSON or as an event stream, depending on `Accept`.',
    contents: [{ mediaType: 'application/json', schema: 'JsonRpcMessages' }, { mediaType: 'text/event-stream' }],
    headers: { 'mcp-session-id': 'The new session, on the answer to `initialize`.' },
  },
  { status: 202, description: 'A notification or response was accepted.', contents: [] },
];
const mcpEnded: Answer = { status: 200, description: 'The session has ended.', contents: [] };

const mcpStream: Answer = {
  status: 200,
  description: 'What servers say that belongs to no request, until the session ends or another GET takes its place.',
  contents: [{ mediaType: 'text/event-stream' }],
};

const messageHeaders = {
  'mcp-session-id': { description: 'From the answer to `initialize`; left out for a request without a session.' },
  'mcp-protocol-version': { description: 'The version that `initialize` agreed on.' },
};
const sessionHeaders = {
  ...messageHeaders,
  'mcp-session-id': { isRequired: true, description: 'The session to end.' },
} as const;
const streamHeaders = {
  ...messageHeaders,
  'mcp-session-id': { isRequired: true, description: 'The session that the stream belongs to.' },
} as const;

const resourceMetadata = {
  method: 'GET',
  tag: 'status',
  isOpen: true,
  description: 'The same for every composition, there or not. Nothing is told without `--authorization-servers`.',
  answers: [json(200, 'The resource and its authorization servers.', 'ResourceMetadata')],
  refusals: [404],
} as const;

export const operations = {
  health: {
    id: 'getHealth',
    method: 'GET',
    path: '/health',
    tag: 'status',
    summary: 'Whether the control plane can do its work',
    isOpen: true,
    // Behind a proxy all who have no token are one address: none of them may use up the monitor's requests.
    isUncounted: true,
    answers: [
      json(200, 'It can.', 'Health'),
      {
        status: 503,
        description: 'The store cannot be reached, or there is too much to do, and nothing is taken.',
        contents: [{ mediaType: 'application/json', schema: 'Health' }],
      },
    ],
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

  resourceMetadata: {
    ...resourceMetadata,
    id: 'getResourceMetadata',
    path: '/.well-known/oauth-protected-resource',
    summary: 'Where clients get a token for this program (RFC 9728)',
  },
  aggregateMetadata: {
    ...resourceMetadata,
    id: 'getAggregateMetadata',
    path: '/.well-known/oauth-protected-resource/mcp',
    summary: 'Where MCP clients get a token for all servers',
  },
  compositionMetadata: {
    ...resourceMetadata,
    id: 'getCompositionMetadata',
    path: '/.well-known/oauth-protected-resource/servers/{composition}/mcp',
    summary: 'Where MCP clients get a token for a composition',
  },

  listServers: {
    id: 'listServers',
    method: 'GET',
    path: '/servers',
    tag: 'servers',
    summary: 'List the registered servers, sorted by name',
    query: {
      tags: { type: 'string', description: 'Separated by commas: servers that have any of them.' },
      status: { type: 'string', enum: ['active', 'inactive'] },
      ...pageQuery,
    },
    answers: [{ ...jsonList('The servers.', 'Server'), headers: pageHeaders }],
    refusals: [422],
  },
  registerServer: {
    id: 'registerServer',
    method: 'POST',
    path: '/servers',
    tag: 'servers',
    isAudited: true,
    summary: 'Register a server',
    description: 'The server is probed first. One that cannot be reached is registered as `inactive`.',
    body: 'ServerInput',
    answers: [
      { ...json(201, 'The server is registered.', 'Server'), headers: located },
      changedUnpublished('Server', located),
    ],
    refusals: [409, 422],
  },
  previewServer: {
    id: 'previewServer',
    method: 'POST',
    path: '/probes',
    tag: 'servers',
    summary: 'Probe a server, and show what would be registered',
    description: 'Nothing is kept. A name or a prefix that is taken is refused as it would be at registration.',
    body: 'ServerInput',
    answers: [json(200, 'What would be registered.', 'ServerPreview')],
    refusals: [409, 422],
  },
  readServer: {
    id: 'readServer',
    method: 'GET',
    path: '/servers/{server}',
    tag: 'servers',
    summary: 'Read one server',
    answers: [{ ...json(200, 'The server.', 'Server'), headers: tagged }],
    refusals: [404],
  },
  replaceServer: {
    id: 'replaceServer',
    method: 'PUT',
    path: '/servers/{server}',
    tag: 'servers',
    isAudited: true,
    summary: 'Change a server',
    description:
      'What is left out of description, tags and enabled stays as it is. A server with another URL is probed.',
    body: 'ServerInput',
    headers: conditionHeaders,
    answers: [{ ...json(200, 'The changed server.', 'Server'), headers: tagged }, changedUnpublished('Server', tagged)],
    refusals: [404, 409, 412, 422],
  },
  removeServer: {
    id: 'removeServer',
    method: 'DELETE',
    path: '/servers/{server}',
    tag: 'servers',
    isAudited: true,
    summary: 'Remove a server',
    headers: conditionHeaders,
    answers: [removed, removedUnpublished],
    refusals: [404, 412],
  },
  refreshServer: {
    id: 'refreshServer',
    method: 'POST',
    path: '/servers/{server}/refresh',
    tag: 'servers',
    isAudited: true,
    summary: 'Probe a server now and read its lists again',
    description: 'Sets the status both ways.',
    answers: [
      json(200, 'What the probe found; a server that could not be read is named in `error`.', 'RefreshReport'),
      changedUnpublished('RefreshReport'),
    ],
    refusals: [404, 409],
  },
  linkConnection: {
    id: 'linkConnection',
    method: 'POST',
    path: '/servers/{server}/connect',
    tag: 'connections',
    summary: 'A link at which a browser gives the consent that the server wants',
    description:
      'For a server whose `auth` is `oauth2-user`. The link is good for ten minutes and one use, and in the name of the caller.',
    body: 'ConnectionLinkInput',
    answers: [json(200, 'The link.', 'ConnectionLink')],
    refusals: [404, 422, 503],
  },
  listConnections: {
    id: 'listConnections',
    method: 'GET',
    path: '/connect',
    tag: 'connections',
    summary: 'List the servers that the caller has connected',
    answers: [jsonList('What the caller has granted.', 'Connection')],
    refusals: [503],
  },
  disconnect: {
    id: 'disconnect',
    method: 'DELETE',
    path: '/connect/{server}',
    tag: 'connections',
    isAudited: true,
    summary: 'Forget what the caller has granted at a server',
    description: 'By the name that the list has. The next call asks for consent again.',
    answers: [removed],
    refusals: [404, 503],
  },
  showConsent: {
    id: 'showConsent',
    method: 'GET',
    path: '/connect/{server}',
    tag: 'connections',
    summary: 'The page at which a user connects a server',
    description: 'A link to it is made by a call without a consent, and by `POST /servers/{server}/connect`.',
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
  listTools: {
    id: 'listTools',
    method: 'GET',
    path: '/servers/{server}/tools',
    tag: 'servers',
    summary: 'List the tools of a server, as last read',
    answers: [jsonList('The tools.', 'Tool')],
    refusals: [404],
  },

  listCompositions: {
    id: 'listCompositions',
    method: 'GET',
    path: '/compositions',
    tag: 'compositions',
    summary: 'List the compositions, sorted by name',
    query: pageQuery,
    answers: [{ ...jsonList('The compositions.', 'Composition'), headers: pageHeaders }],
    refusals: [422],
  },
  createComposition: {
    id: 'createComposition',
    method: 'POST',
    path: '/compositions',
    tag: 'compositions',
    isAudited: true,
    summary: 'Compose a virtual server of tools of registered servers',
    description:
      'The dataplane serves it to its subjects from their next request on. Tools that a server does not have, or not yet, may be named: they are told in `missingTools`, and served once they are there. Patterns such as `*` are refused.',
    body: 'CompositionInput',
    answers: [
      { ...json(201, 'The composition is published.', 'Composition'), headers: located },
      changedUnpublished('Composition', located),
    ],
    refusals: [409, 422],
  },
  readComposition: {
    id: 'readComposition',
    method: 'GET',
    path: '/compositions/{composition}',
    tag: 'compositions',
    summary: 'Read one composition',
    answers: [{ ...json(200, 'The composition.', 'Composition'), headers: tagged }],
    refusals: [404],
  },
  replaceComposition: {
    id: 'replaceComposition',
    method: 'PUT',
    path: '/compositions/{composition}',
    tag: 'compositions',
    isAudited: true,
    summary: 'Change a composition',
    description: 'What is left out of description and subjects stays as it is.',
    body: 'CompositionInput',
    headers: conditionHeaders,
    answers: [
      { ...json(200, 'The changed composition is published.', 'Composition'), headers: tagged },
      changedUnpublished('Composition', tagged),
    ],
    refusals: [404, 409, 412, 422],
  },
  removeComposition: {
    id: 'removeComposition',
    method: 'DELETE',
    path: '/compositions/{composition}',
    tag: 'compositions',
    isAudited: true,
    summary: 'Delete a composition',
    headers: conditionHeaders,
    answers: [removed, removedUnpublished],
    refusals: [404, 412],
  },

  getAggregate: {
    id: 'getAggregate',
    method: 'GET',
    path: '/mcp',
    tag: 'mcp',
    summary: 'The stream of a session',
    headers: streamHeaders,
    answers: [mcpStream],
    refusals: [404],
  },
  postAggregate: {
    id: 'postAggregate',
    method: 'POST',
    path: '/mcp',
    tag: 'mcp',
    summary: 'All active servers as one MCP server',
    headers: messageHeaders,
    description:
      'Tools are named `<server name>-<tool>`. `tools/list` and `tools/call` work with and without a session.',
    body: 'JsonRpcMessages',
    answers: mcpAnswers,
    refusals: [404],
  },
  deleteAggregate: {
    id: 'deleteAggregate',
    method: 'DELETE',
    path: '/mcp',
    tag: 'mcp',
    summary: 'End a session',
    headers: sessionHeaders,
    answers: [mcpEnded],
    refusals: [404],
  },
  getCompositionStream: {
    id: 'getCompositionStream',
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
    method: 'DELETE',
    path: '/servers/{composition}/mcp',
    tag: 'mcp',
    summary: 'End a session with a composition',
    headers: sessionHeaders,
    answers: [mcpEnded],
    refusals: [404],
  },
} as const satisfies Record<string, Operation>;
