// The servers of a composition as they are sent back when something else of it is changed, or when its tools are: what people
// have said of each stays as it is.
import { z } from 'zod';

/** What people say of a server in a composition; the answer has more of it. */
const MEMBERS = ['name', 'tools', 'prompts', 'resources', 'curation'] as const;

const serversShape = z.array(z.looseObject({ name: z.string() })).catch([]);

export interface ServerTools {
  readonly name: string;
  readonly tools: readonly string[];
}

/** @param servers as the control plane has answered. */
export function saidOfServers(servers: unknown): Readonly<Record<string, unknown>>[] {
  return serversShape.parse(servers).map((server) => {
    const said = MEMBERS.filter((member) => server[member] !== undefined && server[member] !== null);
    return Object.fromEntries(said.map((member) => [member, server[member]]));
  });
}

/** With other tools, of other servers perhaps. One that had prompts or resources as well and is not named any more keeps these. */
export function withTools(servers: unknown, wanted: readonly ServerTools[]): Readonly<Record<string, unknown>>[] {
  const known = saidOfServers(servers);
  const kept = known.flatMap((server) => {
    const named = wanted.find(({ name }) => isSame(name, server['name']));
    if (named !== undefined) return [{ ...server, tools: named.tools }];
    return hasOthers(server) ? [{ ...server, tools: [] }] : [];
  });
  const added = wanted.filter(({ name }) => !known.some((server) => isSame(name, server['name'])));
  return [...kept, ...added.map(({ name, tools }) => ({ name, tools }))];
}

function hasOthers({ prompts, resources }: Readonly<Record<string, unknown>>): boolean {
  return [prompts, resources].some((list) => Array.isArray(list) && list.length > 0);
}

/** As the registry tells names apart. */
function isSame(name: string, other: unknown): boolean {
  return typeof other === 'string' && name.toLowerCase() === other.toLowerCase();
}
