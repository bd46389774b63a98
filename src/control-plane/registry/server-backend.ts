// A registered server as a backend of a virtual host: all that it has, with or without its curation.
import type { BackendConfig } from '../../user-config/user-config-schema.js';
import { readCuration } from '../common/curation.js';
import type { ServerRecord } from '../records/server-record.js';

type ServedMembers = Pick<ServerRecord, 'name' | 'url' | 'transport' | 'auth'>;

/** A backend that exposes everything the server has. */
export function wholeBackendOf(server: ServedMembers & Pick<ServerRecord, 'curation'>): BackendConfig {
  return { ...uncuratedBackendOf(server), ...readCuration(server.curation) };
}

/** The same with the names that the server itself gives. */
export function uncuratedBackendOf(server: ServedMembers): BackendConfig {
  return {
    name: server.name,
    url: server.url,
    transport: server.transport,
    passthrough_headers: [],
    ...(server.auth && { auth: server.auth }),
    allowed_tool_names: [],
    allowed_resource_names: [],
    allowed_prompt_names: [],
  };
}
