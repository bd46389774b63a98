// What can be tried in the playground: all servers, one of them, a composition; and which names are whose.
import type { Composition, Server } from '../api/types.js';

export interface Target {
  readonly key: string;
  readonly name: string;
  /** Of the MCP endpoint. */
  readonly path: string;
  /** What the names of its tools and prompts begin with; `''` for all. */
  readonly prefix: string;
  /** What the URIs of its resources begin with; `''` for all. */
  readonly uriPrefix: string;
  /** Why there may be nothing to see; `''` for none. */
  readonly obstacle: string;
}

const ALL: Target = { key: 'all', name: 'All servers', path: '/mcp', prefix: '', uriPrefix: '', obstacle: '' };

export function targetsOf(servers: readonly Server[], compositions: readonly Composition[]): readonly Target[] {
  return [
    ALL,
    ...servers.map((server) => ({
      ...ALL,
      key: `server:${server.id}`,
      name: `Server ${server.name}`,
      prefix: prefixOf(server),
      uriPrefix: uriNameOf(server.name),
      obstacle: obstacleOf(server),
    })),
    ...compositions.map(({ id, name }) => ({
      ...ALL,
      key: `composition:${id}`,
      name: `Composition ${name}`,
      path: `/servers/${id}/mcp`,
    })),
  ];
}

/** The target that an address names. */
export function placeOf(params: URLSearchParams): string {
  const [server, composition] = [params.get('server'), params.get('composition')];
  return server !== null ? `server:${server}` : composition !== null ? `composition:${composition}` : 'all';
}

/** With its `-`; a prefix that is empty has none. */
function prefixOf({ name, curation }: Server): string {
  const prefix = curation?.prefix ?? name;
  return prefix === '' ? '' : `${prefix}-`;
}

/** As a server's name stands in a URI: letters, digits and `-` stay, anything else is its code. */
function uriNameOf(name: string): string {
  const written = name.replaceAll(/[^A-Za-z0-9-]/g, (char) => `.${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return /^[A-Za-z]/.test(written) ? written : `x.-${written}`;
}

function obstacleOf({ name, enabled, status, lastError }: Server): string {
  if (!enabled) return `${name} is disabled: enable it on its page to try it`;
  if (status === 'inactive') return `${name} is inactive${lastError === null ? '' : `: ${lastError}`}`;
  return '';
}
