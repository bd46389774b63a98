// The part of the endpoint table for users' consents to servers that require one.
import type { Operation } from './operation.js';
import { json, jsonList } from './operation-parts.js';

export const connectionOperations = {
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
