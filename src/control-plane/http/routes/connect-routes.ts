// Where a user's browser connects a backend, and where a user lists and ends connections. The pages are open: a browser
// has no token to send, so the ticket in the link identifies the user.
import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../../../shared/limits.js';
import { CALLBACK_PATH, type Connect } from '../../connect/connect.js';
import type { Revocation } from '../../connect/revocation.js';
import { isRoleEnough } from '../../../shared/roles.js';
import { refuseUnowned } from '../../common/principal.js';
import { ControlPlaneFault, notFound } from '../../common/control-plane-fault.js';
import type { Registry } from '../../registry/registry.js';
import type { ServerRecord } from '../../records/server-record.js';
import { HttpRefusal } from '../answered-error.js';
import { connectedPage, connectPolicy, consentPage, onwardPage, refusedPage } from '../connect-page.js';
import { mount } from '../mount.js';
import { routePath } from '../operation.js';
import { ROLE_MISSING, roleRefusal } from '../role-refusal.js';
import { operations } from '../operations.js';

const COOKIE = 'switchyard-connect';
const BROWSER_BYTES = 32;
const BROWSER = /^[\w-]{43}$/;

/** @param connect `undefined` where users cannot connect servers. */
export async function mountConnectRoutes(
  app: FastifyInstance,
  connect: Connect | undefined,
  registry: Pick<Registry, 'find'>,
): Promise<void> {
  mount(app, operations.listConnections, async (request) => there(connect).list(request.subject));

  mount(app, operations.disconnect, async (request, _reply, note) => {
    const { server } = request.params as { readonly server: string };
    const connections = there(connect);
    let revocation: Revocation | 'missing' = 'missing';
    const forget = async (): Promise<boolean> => {
      revocation = await connections.disconnect(request.subject, server);
      return revocation !== 'missing';
    };
    if (!(await note.making({ name: server }, undefined, forget)))
      throw new HttpRefusal(404, 'You have connected no server of this name');
    return { revocation };
  });

  mount(app, operations.linkConnection, async (request) => {
    const { server: reference } = request.params as { readonly server: string };
    const { probes = false } = (request.body ?? {}) as { readonly probes?: boolean };
    const found = await registry.find(reference);
    if (found === undefined) throw notFound('server', reference);
    if (probes) refuseUnentitled(request, found);
    const { name, url, auth } = found;
    if (auth?.type !== 'oauth2-user') throw new HttpRefusal(422, 'The server’s auth is not of the type oauth2-user');
    const { origin, pathname, search } = new URL(url);
    const backend = { name, target: { origin, path: pathname + search } };
    return { url: there(connect).links.linkTo(backend, auth, probes ? '' : request.subject) ?? '' };
  });

  await app.register(async (scope) => {
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: 2 * limits.connectTicketCharsMax },
      (_request, body, done) => done(null, body),
    );
    const config = { isOpen: true };
    const page = (handler: (request: FastifyRequest, reply: FastifyReply) => Promise<string>) => {
      return async (request: FastifyRequest, reply: FastifyReply): Promise<string> => {
        // The page's own form may send its origin; no other site may see the URL, which contains a ticket.
        reply.header('content-security-policy', connectPolicy).header('referrer-policy', 'same-origin');
        void reply.type('text/html; charset=utf-8');
        try {
          return await handler(request, reply);
        } catch (error) {
          if (!(error instanceof ControlPlaneFault)) throw error;
          const { code, standing } = error;
          request.failure = { outcome: standing.outcome, code };
          reply.code(standing.status);
          return refusedPage(error.message);
        }
      };
    };
    const show = page(async (request) => {
      const { ticket = '' } = request.query as { readonly ticket?: string };
      const text = single(ticket);
      return consentPage(await pages(connect).preview(serverOf(request), text), text);
    });

    scope.route({ method: 'GET', url: routePath(operations.showConsent), config, handler: show });
    scope.route({
      ...{ method: 'POST', url: routePath(operations.beginConsent), config },
      handler: page(async (request, reply) => {
        const { isTls } = pages(connect);
        const browser = browserOf(request) || randomBytes(BROWSER_BYTES).toString('base64url');
        const ticket = new URLSearchParams(single(request.body)).get('ticket') ?? '';
        const address = await pages(connect).begin(serverOf(request), ticket, browser);
        const maxAgeS = limits.connectTicketMs / 1_000;
        const rules = `Path=/connect; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax${isTls ? '; Secure' : ''}`;
        reply.header('set-cookie', `${COOKIE}=${browser}; ${rules}`);
        return onwardPage(address);
      }),
    });
    const end = page(async (request) => {
      const [, query = ''] = request.url.split('?', 2);
      return connectedPage(await pages(connect).end(new URLSearchParams(query), browserOf(request)));
    });
    scope.route({
      ...{ method: 'GET', url: CALLBACK_PATH, config },
      // A backend may also be named `callback`: then its consent page has this path.
      handler: async (request, reply) => (isAboutBackend(request) ? show(request, reply) : end(request, reply)),
    });
  });
}

/** A grant to the control plane itself shows everybody the server's tools, so only those who may change the server can give it. */
function refuseUnentitled({ caller }: FastifyRequest, server: ServerRecord): void {
  if (caller !== undefined && !isRoleEnough(caller.role, 'editor')) {
    const { message, status } = roleRefusal('editor', caller.role);
    throw new HttpRefusal(status, message, {}, { outcome: 'refused', code: ROLE_MISSING });
  }
  refuseUnowned('server', server, caller);
}

function isAboutBackend({ query }: FastifyRequest): boolean {
  return typeof query === 'object' && query !== null && 'ticket' in query;
}

function serverOf({ url }: FastifyRequest): string {
  const [path = ''] = url.split('?', 1);
  return decodeURIComponent(path.slice(path.lastIndexOf('/') + 1));
}

function browserOf({ headers: { cookie = '' } }: FastifyRequest): string {
  for (const pair of cookie.split(/; */)) {
    const [name, value = ''] = pair.split('=', 2);
    if (name === COOKIE && BROWSER.test(value)) return value;
  }
  return '';
}

function single(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function there(connect: Connect | undefined): Connect {
  if (connect === undefined) throw new HttpRefusal(503, OFF);
  return connect;
}

function pages(connect: Connect | undefined): Connect {
  if (connect === undefined) throw new ControlPlaneFault('consent-unready', OFF);
  return connect;
}

const OFF = 'Servers cannot be connected here: that needs --connect-url and --secrets-key-file';
