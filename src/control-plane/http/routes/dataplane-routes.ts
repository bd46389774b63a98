// What happens in the dataplane, and why, over HTTP. Admins are told of everybody and why something cannot be told; others of themselves.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { limits } from '../../../shared/limits.js';
import { DataplaneFault, type DataplaneFaultCode } from '../../dataplane/dataplane-fault.js';
import { UNNAMED, type DataplaneViews } from '../../dataplane/dataplane-views.js';
import type { LiveFigures } from '../../dataplane/live-figures.js';
import { Refused } from '../answered-error.js';
import { mount } from '../mount.js';
import { nextLink } from '../page-link.js';
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
    if (live === undefined) throw refusedFor(request, new DataplaneFault('dataplane-unnamed', UNNAMED));
    if (request.method === 'HEAD') return '';
    const stream = live.open(request.subject, isAdmin(request));
    if (stream === undefined) throw new Refused(503, TOO_MANY, { 'retry-after': RETRY_S }, FULL);
    // A proxy that gathers answers would tell of seconds that are long gone.
    reply.type('text/event-stream').header('x-accel-buffering', 'no');
    return stream;
  });

  mount(app, viewOperations.explain, async (request) => {
    const { subject: said = request.subject, virtualHost, tool = '' } = request.query as ExplainQuery;
    const subject = mayAskOf(request, said);
    const told = await toldTo(request, () => views.explain(request.subject, { subject, virtualHost, tool }));
    return { subject, virtualHost, tool, ...told };
  });

  mount(app, viewOperations.listSessions, async (request, reply) => {
    const query = request.query as SessionsQuery;
    const subject = mayAskOf(request, query.subject ?? (isAdmin(request) ? '' : request.subject));
    const { session = '', limit = limits.adminSessionsPageMax, cursor = '' } = query;
    const question = { subject, session, limit, cursor };
    const { next, ...page } = await toldTo(request, () => views.sessions(request.subject, question));
    if (next !== undefined) reply.header('link', nextLink(request.url, next));
    return page;
  });

  mount(app, viewOperations.readRequest, async (request) => {
    const { request: id } = request.params as { readonly request: string };
    const of = isAdmin(request) ? undefined : request.subject;
    const requests = await toldTo(request, () => views.requests(request.subject, id, of));
    if (requests.length === 0) throw new Refused(404, UNKNOWN);
    return requests;
  });
}

const TOO_MANY = 'Too many watch the dataplane at once: close a page that does, or try again';
const FULL = { outcome: 'refused', code: 'live-full' } as const;
const UNKNOWN =
  'No request of late with this id: each process keeps the last ones that had a good token, and others are told of their own alone';

/** Where roles are not taken from tokens everybody is. */
function isAdmin({ caller }: FastifyRequest): boolean {
  return caller === undefined || caller.role === 'admin';
}

function mayAskOf(request: FastifyRequest, subject: string): string {
  if (isAdmin(request) || subject === request.subject) return subject;
  const failure = { outcome: 'refused', code: 'role-missing' } as const;
  throw new Refused(403, 'Of others than oneself only the role admin may ask: leave subject out', {}, failure);
}

const STATUSES: Readonly<Record<DataplaneFaultCode, 404 | 503>> = {
  'dataplane-unnamed': 404,
  'dataplane-unreachable': 503,
  'dataplane-busy': 503,
  'dataplane-refused': 503,
};

async function toldTo<Value>(request: FastifyRequest, ask: () => Promise<Value>): Promise<Value> {
  try {
    return await ask();
  } catch (error) {
    throw error instanceof DataplaneFault ? refusedFor(request, error) : error;
  }
}

/** Where the listener is, and what it has said, is for admins and for the log. */
function refusedFor(request: FastifyRequest, { code, message, wordsForAdmins }: DataplaneFault): Refused {
  const status = STATUSES[code];
  const headers = status === 503 ? { 'retry-after': RETRY_S } : {};
  const failure = { outcome: status === 503 ? 'fault' : 'error', code, cause: wordsForAdmins } as const;
  return new Refused(status, isAdmin(request) ? wordsForAdmins : message, headers, failure);
}

const RETRY_S = '2';
