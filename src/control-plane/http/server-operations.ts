// The registered servers over HTTP.
import type { FastifyReply } from 'fastify';
import { notFound } from '../common/control-plane-fault.js';
import type { ServerListName } from '../records/server-lists.js';
import type { ServerInput, ServerRecord } from '../records/server-record.js';
import type { ServerQuery } from '../registry/registry.js';
import { serverTag } from '../registry/server-state.js';
import { patchThing } from './merge-patch.js';
import { operationsOf, type Handle } from './operation.js';
import {
  changeRefusals,
  changedUnpublished,
  conditionHeaders,
  itemsOf,
  json,
  jsonList,
  located,
  pageHeaders,
  pageQuery,
  parameterOf,
  removed,
  removedUnpublished,
  serverChanged,
  tagged,
} from './operation-parts.js';

/** The schema has checked the types; a record's other members cannot be set by people. */
function inputOf(body: unknown): ServerInput {
  const { name, url, description, tags, transport, enabled, auth, curation, team } = body as ServerInput;
  return { name, url, description, tags, transport, enabled, auth, curation, team };
}

/** Values of members that a patch has removed. */
const BLANK: Omit<ServerInput, 'name' | 'url'> = {
  ...{ description: '', tags: [], enabled: true, auth: null, curation: null, team: null },
  transport: 'STREAMABLEHTTP',
};

function shown(reply: FastifyReply, server: ServerRecord): ServerRecord {
  reply.header('etag', serverTag(server));
  return server;
}

/** Sent as stored, unparsed: a list may be large. */
function sendList(name: 'tools' | ServerListName): Handle {
  return async ({ registry }, request, reply) => {
    reply.type('application/json');
    return registry.listJson(parameterOf(request, 'server'), name);
  };
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
    answers: [{ ...jsonList('The servers.', 'Server'), headers: pageHeaders }],
    refusals: [422],
    handle: async ({ registry }, request, reply) => {
      const { tags, ...query } = request.query as Omit<ServerQuery, 'tags'> & { readonly tags?: string };
      const named = tags === undefined ? {} : { tags: tags.split(',').map((tag) => tag.trim()) };
      return itemsOf(request, reply, await registry.list({ ...query, ...named }));
    },
  },
  'POST /servers': {
    id: 'registerServer',
    role: 'editor',
    isAudited: true,
    summary: 'Register a server',
    description: 'The server is probed first. One that cannot be reached is registered as `inactive`.',
    body: 'ServerInput',
    answers: [
      { ...json(201, 'The server is registered.', 'Server'), headers: located },
      changedUnpublished('Server', located),
    ],
    refusals: [409, 422],
    handle: async ({ registry }, { body }, reply, change) => {
      const server = await registry.register(inputOf(body), change);
      reply.header('location', `/servers/${server.id}`);
      return shown(reply, server);
    },
  },
  'POST /probes': {
    id: 'previewServer',
    role: 'editor',
    summary: 'Probe a server, and show what would be registered',
    description: 'Nothing is kept. A name or a prefix that is taken is refused as it would be at registration.',
    body: 'ServerInput',
    answers: [json(200, 'What would be registered.', 'ServerPreview')],
    refusals: [409, 422],
    // The tool list is passed on unparsed: it may be large.
    handle: async ({ registry }, { body }, reply) => {
      const { server, toolsJson } = await registry.preview(inputOf(body));
      reply.type('application/json');
      return Buffer.concat([Buffer.from(`{"server":${JSON.stringify(server)},"tools":`), toolsJson, Buffer.from('}')]);
    },
  },
  'GET /servers/{server}': {
    id: 'readServer',
    role: 'reader',
    summary: 'Read one server',
    answers: [{ ...json(200, 'The server.', 'Server'), headers: tagged }],
    refusals: [404],
    handle: async ({ registry }, request, reply) => {
      const reference = parameterOf(request, 'server');
      const server = await registry.find(reference);
      if (server === undefined) throw notFound('server', reference);
      return shown(reply, server);
    },
  },
  'PUT /servers/{server}': {
    id: 'replaceServer',
    role: 'editor',
    isAudited: true,
    summary: 'Change a server',
    description:
      'What is left out of description, tags, enabled, auth, curation and team stays as it is. A server with another URL is probed.',
    body: 'ServerInput',
    headers: conditionHeaders,
    answers: serverChanged,
    refusals: changeRefusals,
    handle: async ({ registry }, request, reply, change) =>
      shown(reply, await registry.replace(parameterOf(request, 'server'), inputOf(request.body), change)),
  },
  'PATCH /servers/{server}': {
    id: 'patchServer',
    role: 'editor',
    isAudited: true,
    summary: 'Change some properties of a server',
    description:
      'A JSON merge patch (RFC 7396): omitted members stay, null removes a member. Without `If-Match`, it is applied to the current server, including changes that others made meanwhile.',
    body: 'ServerPatch',
    bodyType: 'application/merge-patch+json',
    headers: conditionHeaders,
    answers: serverChanged,
    refusals: changeRefusals,
    handle: async ({ registry }, request, reply, change) => {
      const reference = parameterOf(request, 'server');
      const server = await patchThing<ServerRecord>(request, 'ServerInput', {
        read: async () => {
          const found = await registry.find(reference);
          if (found === undefined) throw notFound('server', reference);
          change.condition.refuseUnlessMet('server', found.name, serverTag(found));
          return found;
        },
        said: ({ name, url, description, tags, transport, enabled, auth, curation, team }) => {
          return { name, url, description, tags, transport, enabled, auth, curation, team };
        },
        tag: serverTag,
        change: ({ id }, whole, condition) =>
          registry.replace(id, { ...BLANK, ...(whole as ServerInput) }, { ...change, condition }),
      });
      return shown(reply, server);
    },
  },
  'DELETE /servers/{server}': {
    id: 'removeServer',
    role: 'editor',
    isAudited: true,
    summary: 'Remove a server',
    headers: conditionHeaders,
    answers: [removed, removedUnpublished],
    refusals: [404, 412],
    handle: async ({ registry }, request, _reply, change) => registry.remove(parameterOf(request, 'server'), change),
  },
  'POST /servers/{server}/refresh': {
    id: 'refreshServer',
    role: 'editor',
    isAudited: true,
    summary: 'Probe a server now and read its lists again',
    description: 'Sets the status to active or inactive.',
    answers: [
      json(200, 'What the probe found; a server that could not be read is named in `error`.', 'RefreshReport'),
      changedUnpublished('RefreshReport'),
    ],
    refusals: [404, 409],
    handle: async ({ registry }, request, _reply, change) => registry.refresh(parameterOf(request, 'server'), change),
  },
  'GET /servers/{server}/health': {
    id: 'listHealth',
    role: 'reader',
    summary: 'List the health history of a server, newest first',
    description: 'One entry for each probe whose result differs from that of the probe before.',
    answers: [jsonList('Health history.', 'HealthEntry')],
    refusals: [404],
    handle: async ({ registry }, request) => registry.health(parameterOf(request, 'server')),
  },
  'GET /servers/{server}/tools': {
    id: 'listTools',
    role: 'reader',
    summary: 'List the tools of a server, as last read',
    answers: [jsonList('The tools.', 'Tool')],
    refusals: [404],
    handle: sendList('tools'),
  },
  'GET /servers/{server}/prompts': {
    id: 'listPrompts',
    role: 'reader',
    summary: 'List the prompts of a server, as last read',
    answers: [jsonList('The prompts.', 'Prompt')],
    refusals: [404],
    handle: sendList('prompts'),
  },
  'GET /servers/{server}/resources': {
    id: 'listResources',
    role: 'reader',
    summary: 'List the resources of a server, as last read',
    answers: [jsonList('The resources.', 'Resource')],
    refusals: [404],
    handle: sendList('resources'),
  },
  'GET /servers/{server}/templates': {
    id: 'listTemplates',
    role: 'reader',
    summary: 'List the templates of resources of a server, as last read',
    answers: [jsonList('The templates.', 'ResourceTemplate')],
    refusals: [404],
    handle: sendList('templates'),
  },
});
