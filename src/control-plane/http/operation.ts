// An operation is one endpoint of the control plane: its description, from which route and documentation are made, and its
// handler.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Overload } from '../../fair/index.js';
import type { Role } from '../../config/index.js';
import type { AuditRecords, RecordStore } from '../../store/index.js';
import type { Change } from '../common/change.js';
import type { Compositions } from '../compositions/compositions.js';
import type { ConsentFlow } from '../connect/consent-flow.js';
import type { RecentRequests } from '../../observation/index.js';
import type { AdminClient } from '../dataplane/admin-client.js';
import type { LiveFigures } from '../dataplane/live-figures.js';
import type { Registry } from '../registry/registry.js';
import type { SignInFlow } from '../sign-in/sign-in-flow.js';
import type { ControlPlaneAdmission } from './control-plane-admission.js';
import type { JsonSchema } from '../common/schema-parts.js';
import type { Page } from '../mirror/named-mirror.js';
import { limits } from '../../shared/index.js';
import type { SchemaName } from './schemas.js';

type OperationMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Statuses that not every endpoint may answer with. */
export type RefusalStatus = 403 | 404 | 409 | 412 | 422 | 503;

export interface ContentDescription {
  readonly mediaType: 'application/json' | 'application/merge-patch+json' | 'text/html' | 'text/event-stream';
  readonly schema?: SchemaName;
  readonly isList?: true;
}

export interface AnswerDescription {
  readonly status: 200 | 201 | 202 | 204 | 503;
  readonly description: string;
  /** The response's contents, one for each media type; empty if it has no body. */
  readonly contents: readonly ContentDescription[];
  /** Descriptions of the response's headers, by name. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface OperationParts {
  readonly admission: Pick<ControlPlaneAdmission, 'metadata'>;
  readonly overload: Pick<Overload, 'healthRefusal'>;
  readonly records: Pick<RecordStore, 'kind' | 'ping'>;
  readonly registry: Pick<
    Registry,
    'list' | 'count' | 'find' | 'preview' | 'register' | 'replace' | 'remove' | 'refresh' | 'listJson' | 'health'
  >;
  readonly compositions: Pick<Compositions, 'list' | 'find' | 'create' | 'replace' | 'remove' | 'countUnpublished'>;
  /** `undefined` if users cannot connect servers. */
  readonly consentFlow?: ConsentFlow | undefined;
  /** `undefined` if people sign in to the console only with a token. */
  readonly signInFlow?: SignInFlow | undefined;
  /** `undefined` if no dataplane is known. */
  readonly adminClient?: Pick<AdminClient, 'ask'> | undefined;
  /** The latest requests to the control plane's own MCP endpoints, by id; `undefined` if requests have no ids. */
  readonly recentRequests?: Pick<RecentRequests, 'find'> | undefined;
  readonly liveFigures?: Pick<LiveFigures, 'open'> | undefined;
  readonly auditRecords: Pick<AuditRecords, 'list'>;
  readonly document: object;
}

/** Resolves with the response body. The status is that of the first answer, unless the handler sets another one. */
export type Handle = (
  parts: OperationParts,
  request: FastifyRequest,
  reply: FastifyReply,
  change: Change & Required<Pick<Change, 'outcome'>>,
) => Promise<unknown>;

export interface Operation {
  readonly id: string;
  readonly method: OperationMethod;
  /** The path with parameters in braces: `/servers/{server}`. */
  readonly path: string;
  readonly tag: 'status' | 'servers' | 'connections' | 'compositions' | 'views' | 'mcp' | 'documentation';
  readonly summary: string;
  readonly description?: string;
  /** Whether the operation needs no token. */
  readonly isOpen?: true;
  /** The role that the caller needs: `admin` by default; for `any`, a token without a role suffices. Open endpoints need none. */
  readonly role?: Role | 'any';
  readonly isAudited?: true;
  /** Whether the operation is exempt from the rate limit. */
  readonly isUncounted?: true;
  readonly query?: Readonly<Record<string, JsonSchema>>;
  readonly requiredQuery?: readonly string[];
  readonly headers?: Readonly<Record<string, { readonly isRequired?: true; readonly description: string }>>;
  readonly body?: SchemaName;
  readonly bodyType?: 'application/merge-patch+json';
  readonly answers: readonly AnswerDescription[];
  readonly refusals?: readonly RefusalStatus[];
  /** Absent if the route is mounted elsewhere, because it takes or sends something other than JSON. */
  readonly handle?: Handle;
}

/** Operations that have a tag in common. @param rows the operations by method and path. */
export function operationsOf(
  tag: Operation['tag'],
  rows: Readonly<Record<`${OperationMethod} /${string}`, Omit<Operation, 'method' | 'path' | 'tag'>>>,
): Operation[] {
  return Object.entries(rows).map(([route, row]) => {
    const [method = '', path = ''] = route.split(' ');
    return { ...row, method: method as OperationMethod, path, tag };
  });
}

export function roleOf({ isOpen, role = 'admin' }: Pick<Operation, 'isOpen' | 'role'>): Role | 'any' {
  return isOpen === true ? 'any' : role;
}

/** The path in the form of fastify: `/servers/:server`. */
export function routePath({ path }: Operation): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

export function pathParameters({ path }: Operation): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
}

export const pageQuery = {
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: limits.listPageMax,
    description:
      'The most entries on a page; the maximum if left out. A page may be shorter: only the `Link` header says whether there are more.',
  },
  cursor: { type: 'string', pattern: '^[A-Za-z0-9_-]+$', description: 'From the `Link` header of the page before.' },
};

export const pageHeaders = { link: 'Where the next page is, `rel="next"`; absent on the last one.' };

/** The value of the `Link` header (RFC 8288), which points to the same request with another cursor. */
export function nextLink(url: string, cursor: string): string {
  const [path = '', query = ''] = url.split('?', 2);
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', cursor);
  return `<${path}?${parameters.toString()}>; rel="next"`;
}

/** The items of a page. Sets the `Link` header to the next page. */
export function itemsOf<Item>(request: FastifyRequest, reply: FastifyReply, { items, cursor }: Page<Item>) {
  if (cursor !== undefined) reply.header('link', nextLink(request.url, cursor));
  return items;
}

export function pathParameter({ params }: FastifyRequest, name: string): string {
  return (params as Readonly<Record<string, string>>)[name] ?? '';
}

export function jsonAnswer(status: 200 | 201 | 202, description: string, schema: SchemaName): AnswerDescription {
  return { status, description, contents: [{ mediaType: 'application/json', schema }] };
}

export function jsonListAnswer(description: string, schema: SchemaName): AnswerDescription {
  return { status: 200, description, contents: [{ mediaType: 'application/json', schema, isList: true }] };
}

export function htmlAnswer(description: string): AnswerDescription {
  return { status: 200, description, contents: [{ mediaType: 'text/html' }] };
}

export const etagHeader = {
  etag: 'A tag of the properties that people set: send it in `If-Match` to change only this version.',
};

export const locationHeader = { location: 'The path of what was made.', ...etagHeader };

/** The answer if publishing a change takes longer than the request waits. */
export const unpublishedAnswer = {
  description:
    'The change is made, but publishing it takes longer than a request waits. It continues; until then the dataplane serves some subjects without the change.',
  headers: { 'switchyard-unpublished': 'User configs that do not have the change yet.' },
};

export function unpublishedChange(
  schema: SchemaName,
  headers: Readonly<Record<string, string>> = {},
): AnswerDescription {
  const described = jsonAnswer(202, unpublishedAnswer.description, schema);
  return { ...described, headers: { ...unpublishedAnswer.headers, ...headers } };
}

export const aggregateQuery = {
  exposure: {
    type: 'string',
    enum: ['all', 'search'],
    description:
      'What `tools/list` shows: all tools, as without it, or find_tools and call_tool, with which programs find and call the others, and those with a page. A session has it in the URL of each of its requests.',
  },
};
