// A composition's servers as they are sent back when something else in it changes, or when its tools change: the settings that people have
// made for each server are preserved.
import { z } from 'zod';

/** The members that people set for a server in a composition; the response has more. */
const MEMBERS = ['name', 'tools', 'prompts', 'resources', 'curation'] as const;

const serversShape = z.array(z.looseObject({ name: z.string() })).catch([]);

export interface ServerTools {
  readonly name: string;
  readonly tools: readonly string[];
}

/** @param servers as in the control plane's response. */
export function saidOfServers(servers: unknown): Readonly<Record<string, unknown>>[] {
  return serversShape.parse(servers).map((server) => {
    const said = MEMBERS.filter((member) => server[member] !== undefined && server[member] !== null);
    return Object.fromEntries(said.map((member) => [member, server[member]]));
  });
}

/** Replaces the tools. A server that is no longer named keeps its prompts and resources, if it has any, and is dropped otherwise. */
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

/** Compares names as the registry does. */
function isSame(name: string, other: unknown): boolean {
  return typeof other === 'string' && name.toLowerCase() === other.toLowerCase();
}
