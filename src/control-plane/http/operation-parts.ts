// Parts that operations share: answers, queries and headers, and how the last are read and written.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../../shared/index.js';
import type { Page } from '../mirror/named-mirror.js';
import type { AnswerDescription } from './operation.js';
import type { SchemaName } from './schemas.js';

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

/** The value of the `Link` header (RFC 8288): the same request with the new cursor. */
export function nextLink(url: string, cursor: string): string {
  const [path = '', query = ''] = url.split('?', 2);
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', cursor);
  return `<${path}?${parameters.toString()}>; rel="next"`;
}

/** The items of a page; the header leads to the next one. */
export function itemsOf<Item>(request: FastifyRequest, reply: FastifyReply, { items, cursor }: Page<Item>) {
  if (cursor !== undefined) reply.header('link', nextLink(request.url, cursor));
  return items;
}

/** A parameter in the path. */
export function parameterOf({ params }: FastifyRequest, name: string): string {
  return (params as Readonly<Record<string, string>>)[name] ?? '';
}

export function jsonAnswer(status: 200 | 201 | 202, description: string, schema: SchemaName): AnswerDescription {
  return { status, description, contents: [{ mediaType: 'application/json', schema }] };
}

export function jsonListAnswer(description: string, schema: SchemaName): AnswerDescription {
  return { status: 200, description, contents: [{ mediaType: 'application/json', schema, isList: true }] };
}

export function pageAnswer(description: string): AnswerDescription {
  return { status: 200, description, contents: [{ mediaType: 'text/html' }] };
}

export const etagHeader = {
  etag: 'A tag of the properties that people set: send it in `If-Match` to change only this version.',
};

export const locationHeader = { location: 'The path of what was made.', ...etagHeader };

/** For a change whose publication takes longer than the request waits. */
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
