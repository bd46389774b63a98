// The part of the endpoint table for views of what happens in the gateway, and of who has changed what.
import { limits } from '../../shared/limits.js';
import type { Operation } from './operation.js';
import { json, jsonList, pageHeaders } from './operation-parts.js';

const ofSubject = 'If left out, the caller’s own. Only admins may ask about other subjects.';
const text = { type: 'string', maxLength: limits.pathParameterCharsMax };

export const viewOperations = {
  explain: {
    id: 'explain',
    role: 'reader',
    method: 'GET',
    path: '/dataplane/explanation',
    tag: 'views',
    summary: 'What a subject may reach at a virtual host, and why a tool is there or not',
    description:
      'As each worker of the dataplane knows it; no backend is asked. The virtual host of a composition is the composition’s id. Answers 404 without --dataplane-admin-address.',
    query: {
      subject: { ...text, description: ofSubject },
      virtualHost: { ...text, minLength: 1, description: 'The id of a composition, or another virtual host’s.' },
      tool: { ...text, description: 'As clients call it.' },
    },
    requiredQuery: ['virtualHost'],
    answers: [json(200, 'What each worker says.', 'Explanation')],
    refusals: [404, 422, 503],
  },
  listSessions: {
    id: 'listSessions',
    role: 'reader',
    method: 'GET',
    path: '/dataplane/sessions',
    tag: 'views',
    summary: 'Sessions of the dataplane, with the states of their backends',
    description: 'Subjects and sessions appear as hashes, as in the log. Only admins see sessions of other subjects.',
    query: {
      subject: {
        ...text,
        description: 'If left out, all that the caller may see. Only admins may ask about other subjects.',
      },
      session: { ...text, description: 'The hash of one.' },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: limits.adminSessionsPageMax,
        description: 'The most sessions on a page.',
      },
      cursor: { type: 'string', pattern: '^\\d{1,4}\\.\\d{1,9}$', description: 'From the `Link` header.' },
    },
    answers: [{ ...json(200, 'One page of them.', 'DataplaneSessions'), headers: pageHeaders }],
    refusals: [404, 422, 503],
  },
  readRequest: {
    id: 'readRequest',
    role: 'any',
    method: 'GET',
    path: '/requests/{request}',
    tag: 'views',
    summary: 'What became of a request, by the `x-request-id` of its answer',
    description:
      'Covers requests to this control plane’s MCP endpoints, and to the dataplane if --dataplane-admin-address is set. Returns several if several requests had this id. Only admins see requests of other subjects.',
    answers: [jsonList('What became of it.', 'ToldRequest')],
    refusals: [404, 503],
  },
  watchLoad: {
    id: 'watchLoad',
    role: 'reader',
    method: 'GET',
    path: '/dataplane/live',
    tag: 'views',
    summary: 'Live figures of the dataplane, as a stream',
    description:
      'Server-sent events: `load` with the figures of the last seconds, `fault` with the reason when there are none; comments in between. The stream ends after a while: open it again. Only admins get figures of backends, and addresses in faults.',
    answers: [
      {
        status: 200,
        description: 'Until the caller goes away.',
        contents: [{ mediaType: 'text/event-stream' }],
      },
    ],
    refusals: [404, 503],
  },
  listChanges: {
    id: 'listChanges',
    role: 'editor',
    method: 'GET',
    path: '/audit',
    tag: 'views',
    summary: 'Who has changed what, the newest first',
    description:
      'The latest changes that were made through this interface, each with the changed properties before and after, without secrets. Admins see all changes; editors see their own, and those of records that they may change. The log has all of them.',
    query: {
      record: { ...text, description: 'The id or the name of a server or a composition: changes of it alone.' },
      limit: { type: 'integer', minimum: 1, maximum: limits.auditPageMax, description: 'The most entries on a page.' },
      cursor: { type: 'string', pattern: '^\\d{1,15}$', description: 'From the `Link` header.' },
    },
    answers: [
      { ...jsonList('One page of them; it may be shorter than asked for.', 'AuditEntry'), headers: pageHeaders },
    ],
    refusals: [422],
  },
} as const satisfies Record<string, Operation>;
