// Views of what happens in the gateway, and of who has changed what. Admins see all data, and why a view fails. Others see
// their own data; editors also see the changes of records that they may change.
import type { FastifyRequest } from 'fastify';
import { describeRequest } from '../../observation/index.js';
import {
  type DataplaneSessions,
  explanationShape,
  limits,
  requestsShape,
  sessionsShape,
  subjectHash,
} from '../../shared/index.js';
import type { AuditEntry } from '../../store/index.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';
import type { PageQuery } from '../mirror/named-mirror.js';
import { isAdmin, mayChange, type Principal } from '../common/principal.js';
import {
  type AdminClient,
  type DataplaneAnswers,
  type Shape,
  slotName,
  withSlotNames,
} from '../dataplane/admin-client.js';
import {
  operationsOf,
  itemsOf,
  jsonAnswer,
  jsonListAnswer,
  nextLink,
  type OperationParts,
  pageHeaders,
  pathParameter,
} from './operation.js';

const subjectDescription = 'If left out, the caller’s own. Only admins may ask about other subjects.';
const textSchema = { type: 'string', maxLength: limits.pathParameterCharsMax };

/** The query parameters of the operations in this file. */
type ViewQuery = Readonly<Partial<Record<'subject' | 'tool' | 'session' | 'record', string>>> & PageQuery;

const TOO_MANY_WATCHERS = 'Too many pages show live figures of the dataplane: close one of them, or try again';
const SOME_SILENT = 'No dataplane that responds has served a request with this id, and some do not respond: try again';
const UNKNOWN_REQUEST =
  'No recent request with this id: each process remembers only its latest requests with a valid token, and only admins see those of other subjects';

/** The subject that a view is about. Throws unless the caller may see it. */
function permittedSubject(request: FastifyRequest, subject: string): string {
  if (isAdmin(request.caller) || subject === request.subject) return subject;
  throw new ControlPlaneFault('role-missing', 'Asking about other subjects requires the role admin: leave subject out');
}

/** Whether the caller may see an entry of the audit list. @param caller `undefined` if roles are not in use. */
export function maySee(caller: Principal | undefined, { kind, subject, owner, team }: AuditEntry): boolean {
  if (caller === undefined || isAdmin(caller)) return true;
  // A command made this change: `subject` is the user of the machine who ran the command, not a caller of the control plane.
  if (kind === 'user-configs' || kind === 'secrets') return false;
  if (subject === caller.subject) return true;
  if (kind === 'connections') return false;
  return mayChange(caller, { owner, team });
}

const DATAPLANE_UNNAMED =
  'This control plane does not know the dataplane’s admin listener: start it with --dataplane-admin-address, e.g. 127.0.0.1:8002';

function requireDataplane<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new ControlPlaneFault('dataplane-unnamed', DATAPLANE_UNNAMED);
  return part;
}

/**
 * Throws if every dataplane that answered lacks the view, as older versions do.
 * @returns the answers, and which workers and dataplanes did not respond.
 */
async function askForView<View extends { readonly silent: readonly number[] }>(
  adminClient: OperationParts['adminClient'],
  path: string,
  shape: Shape<View>,
  subject: string,
) {
  const { answered, silent } = await requireDataplane(adminClient).ask(path, shape, subject);
  if (answered.length === 0)
    throw new ControlPlaneFault('dataplane-refused', 'The dataplane has no such view: it may be an older version');
  const slots = answered.flatMap(({ machine, value }) => value.silent.map((slot) => slotName(machine, slot)));
  return { answered, silent: [...slots, ...silent.map(({ machine }) => machine)] };
}

async function requestsOfDataplane(adminClient: Pick<AdminClient, 'ask'>, subject: string, id: string) {
  const { answered, silent } = await adminClient.ask(`/requests/${encodeURIComponent(id)}`, requestsShape, subject);
  const found = answered.flatMap(({ machine, value }) => withSlotNames(machine, value.requests));
  // A dataplane that did not respond may have served the request.
  if (found.length === 0 && silent.length > 0) throw new ControlPlaneFault('dataplane-unreachable', SOME_SILENT);
  return found.map((request) => ({ plane: 'dataplane', ...request }));
}

/**
 * One page of sessions, all of them of one dataplane: the pages of several dataplanes follow each other.
 * @param from the dataplane that the cursor names; `''` for the first page.
 */
function sessionsPageOf(answered: DataplaneAnswers<DataplaneSessions>['answered'], from: string) {
  const withSessions = answered.filter(({ value }) => value.total > 0);
  // If only one dataplane is left, the page is from that one, whatever the cursor names.
  const page = from === '' ? withSessions[0] : answered.find(({ machine }) => machine === from || machine === '');
  const after = withSessions.find(({ machine }) => Number(machine) > Number(page?.machine ?? from));
  const nextDataplane = after && `${after.machine}/${FIRST_CURSOR}`;
  return {
    sessions: page === undefined ? [] : withSlotNames(page.machine, page.value.sessions),
    total: withSessions.reduce((sum, { value }) => sum + value.total, 0),
    next: page?.value.next === undefined ? nextDataplane : slotName(page.machine, page.value.next),
  };
}

const FIRST_CURSOR = '0.0';

export const viewOperations = operationsOf('views', {
  'GET /dataplane/explanation': {
    id: 'explain',
    role: 'reader',
    summary: 'What a subject may reach at a virtual host, and why a tool is there or not',
    description:
      'As each worker of the dataplane knows it; no backend is asked. The virtual host of a composition is the composition’s id. Answers 404 without --dataplane-admin-address.',
    query: {
      subject: { ...textSchema, description: subjectDescription },
      virtualHost: { ...textSchema, minLength: 1, description: 'The id of a composition, or another virtual host’s.' },
      tool: { ...textSchema, description: 'As clients call it.' },
    },
    requiredQuery: ['virtualHost'],
    answers: [jsonAnswer(200, 'What each worker says.', 'Explanation')],
    refusals: [404, 422, 503],
    handle: async ({ adminClient }, request) => {
      const { virtualHost } = request.query as { readonly virtualHost: string };
      const { subject: named = request.subject, tool = '' } = request.query as ViewQuery;
      const subject = permittedSubject(request, named);
      const query = new URLSearchParams({ subject, virtual_host: virtualHost, tool });
      const path = `/explain?${query.toString()}`;
      const { answered, silent } = await askForView(adminClient, path, explanationShape, request.subject);
      const workers = answered.flatMap(({ machine, value }) => withSlotNames(machine, value.workers));
      return { subject, virtualHost, tool, workers, silent };
    },
  },
  'GET /dataplane/sessions': {
    id: 'listSessions',
    role: 'reader',
    summary: 'Sessions of the dataplane, with the states of their backends',
    description: 'Subjects and sessions appear as hashes, as in the log. Only admins see sessions of other subjects.',
    query: {
      subject: {
        ...textSchema,
        description: 'If left out, all that the caller may see. Only admins may ask about other subjects.',
      },
      session: { ...textSchema, description: 'The hash of one.' },
      limit: { type: 'integer', minimum: 1, maximum: limits.viewPageMax, description: 'The most sessions on a page.' },
      cursor: { type: 'string', pattern: '^(\\d{1,2}/)?\\d{1,4}\\.\\d{1,9}$', description: 'From the `Link` header.' },
    },
    answers: [{ ...jsonAnswer(200, 'One page of them.', 'DataplaneSessions'), headers: pageHeaders }],
    refusals: [404, 422, 503],
    handle: async ({ adminClient }, request, reply) => {
      const query = request.query as ViewQuery;
      const subject = permittedSubject(request, query.subject ?? (isAdmin(request.caller) ? '' : request.subject));
      const { session = '', limit = limits.viewPageMax } = query;
      const [cursor = '', machine = ''] = (query.cursor ?? '').split('/').reverse();
      const parameters = Object.entries({ subject, session, cursor, limit: String(limit) });
      const path = `/sessions?${new URLSearchParams(parameters.filter(([, value]) => value !== '')).toString()}`;
      const { answered, silent } = await askForView(adminClient, path, sessionsShape, request.subject);
      const { next, ...page } = sessionsPageOf(answered, machine);
      if (next !== undefined) reply.header('link', nextLink(request.url, next));
      return { ...page, silent };
    },
  },
  'GET /requests/{request}': {
    id: 'readRequest',
    role: 'any',
    summary: 'What became of a request, by the `x-request-id` of its answer',
    description:
      'Covers requests to this control plane’s MCP endpoints, and to the dataplane if --dataplane-admin-address is set. Returns several if several requests had this id. Only admins see requests of other subjects.',
    answers: [jsonListAnswer('What became of it.', 'ToldRequest')],
    refusals: [404, 503],
    // The dataplane is asked only if this process knows no such request.
    handle: async ({ adminClient, recentRequests }, request) => {
      const id = pathParameter(request, 'request');
      const recent = recentRequests?.find(id) ?? [];
      const own = recent.map((each) => ({ plane: 'control-plane', ...describeRequest(each) }));
      const found =
        own.length > 0 ? own : await requestsOfDataplane(requireDataplane(adminClient), request.subject, id);
      const mine = subjectHash(request.subject);
      const requests = isAdmin(request.caller) ? found : found.filter(({ subject }) => subject === mine);
      if (requests.length === 0) throw new ControlPlaneFault('not-found', UNKNOWN_REQUEST);
      return requests;
    },
  },
  'GET /dataplane/live': {
    id: 'watchLoad',
    role: 'reader',
    summary: 'Live figures of the dataplane, as a stream',
    description:
      'Server-sent events: `load` with the figures of the last seconds, `fault` with the reason when there are none; comments in between. The stream ends after a while: open it again. Only admins get figures of backends, and addresses in faults.',
    answers: [
      { status: 200, description: 'Until the caller goes away.', contents: [{ mediaType: 'text/event-stream' }] },
    ],
    refusals: [404, 503],
    handle: async ({ liveFigures }, request, reply) => {
      const watched = requireDataplane(liveFigures);
      if (request.method === 'HEAD') return '';
      const stream = watched.open(request.subject, isAdmin(request.caller));
      if (stream === undefined) throw new ControlPlaneFault('live-full', TOO_MANY_WATCHERS);
      // A proxy that buffers would deliver outdated figures.
      reply.type('text/event-stream').header('x-accel-buffering', 'no');
      return stream;
    },
  },
  'GET /audit': {
    id: 'listChanges',
    role: 'editor',
    summary: 'Who has changed what, the newest first',
    description:
      'The latest changes that were made through this interface, each with the changed properties before and after, without secrets. Admins see all changes; editors see their own, and those of records that they may change. The log has all of them.',
    query: {
      record: { ...textSchema, description: 'The id or the name of a server or a composition: changes of it alone.' },
      limit: { type: 'integer', minimum: 1, maximum: limits.viewPageMax, description: 'The most entries on a page.' },
      cursor: { type: 'string', pattern: '^\\d{1,15}$', description: 'From the `Link` header.' },
    },
    answers: [
      { ...jsonListAnswer('One page of them; it may be shorter than asked for.', 'AuditEntry'), headers: pageHeaders },
    ],
    refusals: [422],
    handle: async ({ auditRecords }, request, reply) => {
      const { record = '', limit = limits.viewPageMax, cursor } = request.query as ViewQuery;
      const page = await auditRecords.list({ record, limit, cursor }, (entry) => maySee(request.caller, entry));
      return itemsOf(request, reply, page);
    },
  },
});
