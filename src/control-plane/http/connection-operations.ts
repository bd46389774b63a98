// Users' consents to servers. The pages for browsers are in `routes/connect-routes.ts`.
import type { FastifyRequest } from 'fastify';
import { isRoleEnough } from '../../config/index.js';
import { ControlPlaneFault, notFoundFault } from '../common/control-plane-fault.js';
import { refuseUnowned } from '../common/principal.js';
import type { ConsentFlow, Revocation } from '../connect/consent-flow.js';
import type { ServerRecord } from '../records/server-record.js';
import { roleRefusal } from './control-plane-admission.js';
import { operationsOf, jsonAnswer, jsonListAnswer, htmlAnswer, pathParameter } from './operation.js';

export const CONNECT_OFF = 'Servers cannot be connected here: that needs --connect-url and --secrets-key-file';

/** @param consentFlow `undefined` if users cannot connect servers. */
export function requireConsentFlow(consentFlow: ConsentFlow | undefined): ConsentFlow {
  if (consentFlow === undefined) throw new ControlPlaneFault('consent-unready', CONNECT_OFF);
  return consentFlow;
}

/** Throws unless the caller may change the server: with a grant for probes, everybody sees the server's tools. */
function refuseUnentitled({ caller }: FastifyRequest, server: ServerRecord): void {
  if (caller !== undefined && !isRoleEnough(caller.role, 'editor')) {
    throw new ControlPlaneFault('role-missing', roleRefusal('editor', caller.role).message);
  }
  refuseUnowned('server', server, caller);
}

export const connectionOperations = operationsOf('connections', {
  'POST /servers/{server}/connect': {
    id: 'linkConnection',
    role: 'any',
    summary: 'A link at which a browser gives the consent that the server wants',
    description:
      'For a server whose `auth` is `oauth2-user`. The link is valid for ten minutes and one use, and gives the consent in the name of the caller.',
    body: 'ConnectionLinkInput',
    answers: [jsonAnswer(200, 'The link.', 'ConnectionLink')],
    refusals: [404, 422, 503],
    handle: async ({ consentFlow, registry }, request) => {
      const reference = pathParameter(request, 'server');
      const { probes = false } = request.body as { readonly probes?: boolean };
      const found = await registry.find(reference);
      if (found === undefined) throw notFoundFault('server', reference);
      if (probes) refuseUnentitled(request, found);
      const { name, url, auth } = found;
      if (auth?.type !== 'oauth2-user')
        throw new ControlPlaneFault('invalid', 'The server’s auth is not of the type oauth2-user');
      const { origin, pathname, search } = new URL(url);
      const backend = { name, target: { origin, path: pathname + search } };
      return { url: requireConsentFlow(consentFlow).links.linkTo(backend, auth, probes ? '' : request.subject) ?? '' };
    },
  },
  'GET /connect': {
    id: 'listConnections',
    role: 'any',
    summary: 'List the servers that the caller has connected',
    answers: [jsonListAnswer('What the caller has granted.', 'Connection')],
    refusals: [503],
    handle: async ({ consentFlow }, { subject }) => requireConsentFlow(consentFlow).list(subject),
  },
  'DELETE /connect/{server}': {
    id: 'disconnect',
    role: 'any',
    isAudited: true,
    summary: 'Forget what the caller has granted at a server',
    description:
      '`{server}` is the name in the list of connections. The next call asks for consent again. The consent is also withdrawn at the authorization server, if that offers it.',
    answers: [
      jsonAnswer(
        200,
        'The consent is deleted here; the body has the result at the authorization server.',
        'Disconnection',
      ),
    ],
    refusals: [404, 503],
    handle: async ({ consentFlow }, request, _reply, { outcome }) => {
      const server = pathParameter(request, 'server');
      const connections = requireConsentFlow(consentFlow);
      let revocation: Revocation | 'missing' = 'missing';
      const forget = async (): Promise<boolean> => {
        revocation = await connections.disconnect(request.subject, server);
        return revocation !== 'missing';
      };
      if (!(await outcome.record({ name: server }, undefined, forget)))
        throw new ControlPlaneFault('not-found', 'You have connected no server of this name');
      return { revocation };
    },
  },
  'GET /connect/{server}': {
    id: 'showConsent',
    summary: 'The page at which a user connects a server',
    description: 'A call without consent returns a link to this page, and so does `POST /servers/{server}/connect`.',
    isOpen: true,
    query: { ticket: { type: 'string', description: 'Of the link.' } },
    answers: [htmlAnswer('What is asked for, and by whom.')],
  },
  'POST /connect/{server}': {
    id: 'beginConsent',
    summary: 'Go on at the authorization server',
    description: 'The form of that page.',
    isOpen: true,
    answers: [htmlAnswer('A page that goes on there.')],
  },
  'GET /connect/callback': {
    id: 'endConsent',
    summary: 'Where the authorization server sends the browser back to',
    isOpen: true,
    answers: [htmlAnswer('How it ended.')],
  },
});
