// Views of the dataplane over HTTP. Admins see everybody's data, and why a view fails; others see their own data only.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { limits } from '../../../shared/limits.js';
import { isAdmin } from '../../common/principal.js';
import { ControlPlaneFault } from '../../common/control-plane-fault.js';
import { UNNAMED, type DataplaneViews } from '../../dataplane/dataplane-views.js';
import type { LiveFigures } from '../../dataplane/live-figures.js';
import { HttpRefusal } from '../answered-error.js';
import { mount } from '../mount.js';
import { nextLink } from '../../common/page.js';
import { viewOperations } from '../view-operations.js';

interface ExplainQuery {
  readonly subject?: string;
  readonly virtualHost: string;
  readonly tool?: string;
}

interface SessionsQuery {
  readonly subject?: string;
  readonly session?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

/** @param live `undefined` where no dataplane is known. */
export function mountDataplaneRoutes(
  app: FastifyInstance,
  views: DataplaneViews,
  live: Pick<LiveFigures, 'open'> | undefined,
): void {
  mount(app, viewOperations.watchLoad, async (request, reply) => {
    if (live === undefined) throw new ControlPlaneFault('dataplane-unnamed', UNNAMED);
    if (request.method === 'HEAD') return '';
    const stream = live.open(request.subject, isAdmin(request.caller));
    if (stream === undefined) throw new HttpRefusal(503, TOO_MANY, { 'retry-after': RETRY_S }, FULL);
    // A proxy that buffers the response would deliver outdated figures.
    reply.type('text/event-stream').header('x-accel-buffering', 'no');
    return stream;
  });

  mount(app, viewOperations.explain, async (request) => {
    const { subject: said = request.subject, virtualHost, tool = '' } = request.query as ExplainQuery;
    const subject = mayAskOf(request, said);
    const told = await views.explain(request.subject, { subject, virtualHost, tool });
    return { subject, virtualHost, tool, ...told };
  });

  mount(app, viewOperations.listSessions, async (request, reply) => {
    const query = request.query as SessionsQuery;
    const subject = mayAskOf(request, query.subject ?? (isAdmin(request.caller) ? '' : request.subject));
    const { session = '', limit = limits.adminSessionsPageMax, cursor = '' } = query;
    const question = { subject, session, limit, cursor };
    const { next, ...page } = await views.sessions(request.subject, question);
    if (next !== undefined) reply.header('link', nextLink(request.url, next));
    return page;
  });

  mount(app, viewOperations.readRequest, async (request) => {
    const { request: id } = request.params as { readonly request: string };
    const of = isAdmin(request.caller) ? undefined : request.subject;
    const requests = await views.requests(request.subject, id, of);
    if (requests.length === 0) throw new HttpRefusal(404, UNKNOWN);
    return requests;
  });
}

const TOO_MANY = 'Too many pages show live figures of the dataplane: close one of them, or try again';
const FULL = { outcome: 'refused', code: 'live-full' } as const;
const UNKNOWN =
  'No recent request with this id: each process remembers only its latest requests with a valid token, and only admins see those of other subjects';

function mayAskOf(request: FastifyRequest, subject: string): string {
  if (isAdmin(request.caller) || subject === request.subject) return subject;
  const failure = { outcome: 'refused', code: 'role-missing' } as const;
  throw new HttpRefusal(403, 'Asking about other subjects requires the role admin: leave subject out', {}, failure);
}

const RETRY_S = '2';
