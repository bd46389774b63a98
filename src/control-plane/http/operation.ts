// One endpoint of the control plane as plain data, from which its route is mounted and its documentation generated.
import type { Role } from '../../shared/roles.js';
import type { JsonSchema } from './schema-parts.js';
import type { SchemaName } from './schemas.js';

type OperationMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Refusals beyond those that any endpoint may give. */
export type RefusalStatus = 403 | 404 | 409 | 412 | 422 | 503;

export interface Content {
  readonly mediaType: 'application/json' | 'application/merge-patch+json' | 'text/html' | 'text/event-stream';
  /** Absent: no schema is documented. */
  readonly schema?: SchemaName;
  readonly isList?: true;
}

export interface Answer {
  readonly status: 200 | 201 | 202 | 204 | 503;
  readonly description: string;
  /** One for each media type that the caller may choose; empty: no body. */
  readonly contents: readonly Content[];
  /** Name → description. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Operation {
  readonly id: string;
  readonly method: OperationMethod;
  /** In OpenAPI's form, as in `/servers/{server}`. */
  readonly path: string;
  readonly tag: 'status' | 'servers' | 'connections' | 'compositions' | 'views' | 'mcp' | 'documentation';
  readonly summary: string;
  readonly description?: string;
  /** Answered without a token. */
  readonly isOpen?: true;
  /** The required role, where roles are taken from tokens; `any`: a token without a role suffices. Open endpoints have none. */
  readonly role?: Role | 'any';
  /** Changes something: the handler records the change, which is then audited. */
  readonly isAudited?: true;
  /** Not counted by the rate limit. */
  readonly isUncounted?: true;
  readonly query?: Readonly<Record<string, JsonSchema>>;
  /** Names of the required query parameters. */
  readonly requiredQuery?: readonly string[];
  /** Headers of the request, by name. */
  readonly headers?: Readonly<Record<string, { readonly isRequired?: true; readonly description: string }>>;
  readonly body?: SchemaName;
  /** `application/json` by default. */
  readonly bodyType?: 'application/merge-patch+json';
  readonly answers: readonly Answer[];
  readonly refusals?: readonly RefusalStatus[];
}

/** The default is `admin`. */
export function roleOf({ isOpen, role = 'admin' }: Pick<Operation, 'isOpen' | 'role'>): Role | 'any' {
  return isOpen === true ? 'any' : role;
}

/** The path as the router writes it: `/servers/:server`. */
export function routePath({ path }: Operation): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/** The names of a path's parameters. */
export function pathParameters({ path }: Operation): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
}
