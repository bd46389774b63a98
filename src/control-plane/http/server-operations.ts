// Operations on registered servers.
import type { ServerInput, ServerRecord, ListName } from '../records/server-record.js';
import type { ServerQuery } from '../registry/registry.js';
import { serverETag } from '../registry/server-state.js';
import {
  operationsOf,
  type Operation,
  unpublishedChange,
  itemsOf,
  jsonAnswer,
  jsonListAnswer,
  pageHeaders,
  pageQuery,
  pathParameter,
} from './operation.js';
import { crudOperations } from './crud-operations.js';
import type { SchemaName } from './schemas.js';

const { create, read, replace, patch, remove } = crudOperations<ServerRecord, ServerInput>({
  noun: 'server',
  schema: 'Server',
  created: 'The server is registered.',
  changed: 'The changed server.',
  defaults: {
    ...{ description: '', tags: [], enabled: true, auth: null, curation: null, team: null },
    transport: 'STREAMABLEHTTP',
  },
  tagOf: serverETag,
  find: ({ registry }, reference) => registry.find(reference),
  create: ({ registry }, _request, input, change) => registry.register(input, change),
  replace: ({ registry }, _request, reference, input, change) => registry.replace(reference, input, change),
  remove: ({ registry }, reference, change) => registry.remove(reference, change),
});

/** The operation that reads a list. Lists are sent as stored, unparsed, because they may be large. */
function createListOperation(list: ListName, schema: SchemaName, id: string, items: string = list) {
  return {
    ...{ id, summary: `List the ${items} of a server, as last read` },
    role: 'reader',
    answers: [jsonListAnswer(`The ${list}.`, schema)],
    refusals: [404],
    handle: async ({ registry }, request, reply) => {
      reply.type('application/json');
      return registry.listJson(pathParameter(request, 'server'), list);
    },
  } as const satisfies Partial<Operation>;
}

export const serverOperations = operationsOf('servers', {
  'GET /servers': {
    id: 'listServers',
    role: 'reader',
    summary: 'List the registered servers, sorted by name',
    query: {
      tags: { type: 'string', description: 'Separated by commas: servers that have any of them.' },
      status: { type: 'string', enum: ['active', 'inactive'] },
      ...pageQuery,
    },
    answers: [{ ...jsonListAnswer('The servers.', 'Server'), headers: pageHeaders }],
    refusals: [422],
    handle: async ({ registry }, request, reply) => {
      const { tags, ...query } = request.query as Omit<ServerQuery, 'tags'> & { readonly tags?: string };
      const named = tags === undefined ? {} : { tags: tags.split(',').map((tag) => tag.trim()) };
      return itemsOf(request, reply, await registry.list({ ...query, ...named }));
    },
  },
  'POST /servers': {
    ...create,
    id: 'registerServer',
    summary: 'Register a server',
    description: 'The server is probed first. One that cannot be reached is registered as `inactive`.',
  },
  'POST /probes': {
    id: 'previewServer',
    role: 'editor',
    summary: 'Probe a server, and show what would be registered',
    description: 'Nothing is kept. A name or a prefix that is taken is refused as it would be at registration.',
    body: 'ServerInput',
    answers: [jsonAnswer(200, 'What would be registered.', 'ServerPreview')],
    refusals: [409, 422],
    handle: async ({ registry }, { body }, reply) => {
      const { server, toolsJson } = await registry.preview(body as ServerInput);
      reply.type('application/json');
      return Buffer.concat([Buffer.from(`{"server":${JSON.stringify(server)},"tools":`), toolsJson, Buffer.from('}')]);
    },
  },
  'GET /servers/{server}': { ...read, id: 'readServer', summary: 'Read one server' },
  'PUT /servers/{server}': {
    ...replace,
    id: 'replaceServer',
    summary: 'Change a server',
    description:
      'What is left out of description, tags, enabled, auth, curation and team stays as it is. A server with another URL is probed.',
  },
  'PATCH /servers/{server}': {
    ...patch,
    id: 'patchServer',
    summary: 'Change some properties of a server',
    description:
      'A JSON merge patch (RFC 7396): omitted members stay, null removes a member. Without `If-Match`, it is applied to the current server, including changes that others made meanwhile.',
  },
  'DELETE /servers/{server}': { ...remove, id: 'removeServer', summary: 'Remove a server' },
  'POST /servers/{server}/refresh': {
    id: 'refreshServer',
    role: 'editor',
    isAudited: true,
    summary: 'Probe a server now and read its lists again',
    description: 'Sets the status to active or inactive.',
    answers: [
      jsonAnswer(200, 'What the probe found; a server that could not be read is named in `error`.', 'RefreshReport'),
      unpublishedChange('RefreshReport'),
    ],
    refusals: [404, 409],
    handle: async ({ registry }, request, _reply, change) => registry.refresh(pathParameter(request, 'server'), change),
  },
  'GET /servers/{server}/health': {
    id: 'listHealth',
    role: 'reader',
    summary: 'List the health history of a server, newest first',
    description: 'One entry for each probe whose result differs from that of the probe before.',
    answers: [jsonListAnswer('Health history.', 'HealthEntry')],
    refusals: [404],
    handle: async ({ registry }, request) => registry.health(pathParameter(request, 'server')),
  },
  'GET /servers/{server}/tools': createListOperation('tools', 'Tool', 'listTools'),
  'GET /servers/{server}/prompts': createListOperation('prompts', 'Prompt', 'listPrompts'),
  'GET /servers/{server}/resources': createListOperation('resources', 'Resource', 'listResources'),
  'GET /servers/{server}/templates': createListOperation(
    'templates',
    'ResourceTemplate',
    'listTemplates',
    'templates of resources',
  ),
});
