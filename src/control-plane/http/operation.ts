// One endpoint of the control plane as plain data: its route is mounted from it, and the OpenAPI document is written
// from it.
import type { Role } from '../../shared/roles.js';
import type { JsonSchema } from './schema-parts.js';
import type { SchemaName } from './schemas.js';

export type OperationMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Refusals beyond those that any endpoint may give. */
export type RefusalStatus = 403 | 404 | 409 | 412 | 422 | 503;

export interface Content {
  readonly mediaType: 'application/json' | 'application/merge-patch+json' | 'text/html' | 'text/event-stream';
  /** Absent: nothing is said of it. */
  readonly schema?: SchemaName;
  readonly isList?: true;
}

export interface Answer {
  readonly status: 200 | 201 | 202 | 204 | 503;
  readonly description: string;
  /** In the forms that the caller may choose from; none: there is no body. */
  readonly contents: readonly Content[];
  /** Name → what it says. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Operation {
  readonly id: string;
  readonly method: OperationMethod;
  /** As OpenAPI writes it, as in `/servers/{server}`. */
  readonly path: string;
  readonly tag: 'status' | 'servers' | 'connections' | 'compositions' | 'views' | 'mcp' | 'documentation';
  readonly summary: string;
  readonly description?: string;
  /** Answered without a token. */
  readonly isOpen?: true;
  /** What a token must be for, where roles are taken from tokens; `any`: one without a role will do. Of those that are not open. */
  readonly role?: Role | 'any';
  /** Changes something: its handler writes down what, and a line of the log tells it. */
  readonly isAudited?: true;
  /** Not counted by the rate limit. */
  readonly isUncounted?: true;
  readonly query?: Readonly<Record<string, JsonSchema>>;
  /** Those of them that must be there. */
  readonly requiredQuery?: readonly string[];
  /** Headers of the request, by name. */
  readonly headers?: Readonly<Record<string, { readonly isRequired?: true; readonly description: string }>>;
  readonly body?: SchemaName;
  /** `application/json` unless said. */
  readonly bodyType?: 'application/merge-patch+json';
  readonly answers: readonly Answer[];
  readonly refusals?: readonly RefusalStatus[];
}

/** One that says nothing of it is for those who may do everything. */
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
