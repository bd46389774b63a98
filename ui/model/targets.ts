// What the playground can try: all servers, one server, or a composition; and which names belong to which.
import type { Composition, Server } from '../api/types.js';
import { reasonWords } from './reason-words.js';

export interface Target {
  readonly key: string;
  readonly name: string;
  /** Path of the MCP endpoint. */
  readonly path: string;
  /** The prefix of its tools' and prompts' names; `''` for all. */
  readonly prefix: string;
  /** The prefix of its resources' URIs; `''` for all. */
  readonly uriPrefix: string;
  /** Why the target may have nothing to show; `''` when nothing is known. */
  readonly obstacle: string;
}

const ALL: Target = { key: 'all', name: 'All servers', path: '/mcp', prefix: '', uriPrefix: '', obstacle: '' };

/** @param caller the subject as whom everything is tried. */
export function targetsOf(
  servers: readonly Server[],
  compositions: readonly Composition[],
  caller: string,
): readonly Target[] {
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
    ...compositions.map(({ id, name, subjects }) => ({
      ...ALL,
      key: `composition:${id}`,
      name: `Composition ${name}`,
      path: `/servers/${id}/mcp`,
      obstacle: subjects.includes(caller) ? '' : othersWords(name, caller),
    })),
  ];
}

/** The key of the target that the address names. */
export function placeOf(params: URLSearchParams): string {
  const [server, composition] = [params.get('server'), params.get('composition')];
  return server !== null ? `server:${server}` : composition !== null ? `composition:${composition}` : 'all';
}

/** The page on which it is changed. */
export function pageOf({ key }: Target): string {
  const [kind, id = ''] = key.split(':');
  return kind === 'server' ? `/servers/${id}` : `/compose/${id}`;
}

/** The prefix with its `-`; an empty prefix has none. */
function prefixOf({ name, curation }: Server): string {
  const prefix = curation?.prefix ?? name;
  return prefix === '' ? '' : `${prefix}-`;
}

/** A server's name as written in a URI: letters, digits and `-` stay, any other character becomes its code. */
export function uriNameOf(name: string): string {
  const written = name.replaceAll(/[^A-Za-z0-9-]/g, (char) => `.${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return /^[A-Za-z]/.test(written) ? written : `x.-${written}`;
}

function obstacleOf({ name, enabled, status, lastError }: Server): string {
  if (!enabled) return `${name} is disabled: enable it on its page to try it`;
  if (status === 'inactive') return `${name} is inactive${lastError === null ? '' : `: ${reasonWords(lastError)}`}`;
  return '';
}

function othersWords(name: string, caller: string): string {
  return `${name} is for others: tools are called as you, ${caller}. Add yourself to its users, or try its servers`;
}
