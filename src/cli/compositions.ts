// `switchyard compositions …`: the compositions of a running control plane.
import { z } from 'zod';
import { toolsByServer, type NamedTools } from '../config/index.js';
import { pathOf, type CommandContext } from './control-plane-connection.js';
import { type CommandResult, printable } from './command-result.js';
import { compositionsView, compositionView } from './views.js';

// A composition's servers as they are sent back when something else in it changes, or when its tools change: the settings that people have
// made for each server are preserved.

/** The members that people set for a server in a composition; the response has more. */
const MEMBERS = ['name', 'tools', 'prompts', 'resources', 'curation'] as const;

const serversShape = z.array(z.looseObject({ name: z.string() })).catch([]);

/** @param servers as in the control plane's response. */
export function saidOfServers(servers: unknown): Readonly<Record<string, unknown>>[] {
  return serversShape.parse(servers).map((server) => {
    const said = MEMBERS.filter((member) => server[member] !== undefined && server[member] !== null);
    return Object.fromEntries(said.map((member) => [member, server[member]]));
  });
}

/** Replaces the tools. A server that is no longer named keeps its prompts and resources, if it has any, and is dropped otherwise. */
export function withTools(servers: unknown, wanted: readonly NamedTools[]): Readonly<Record<string, unknown>>[] {
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

interface Named {
  readonly composition: string;
}

interface Creation {
  readonly name: string;
  readonly 'server:tool': readonly string[];
  readonly properties: object;
  readonly isForced: boolean;
}

/** `change`: only the members that change. */
interface ChangeArguments extends Named {
  readonly change: object & { readonly servers?: readonly NamedTools[] | undefined };
  readonly isForced: boolean;
}

export async function list(_action: object, { connection, columns }: CommandContext): Promise<CommandResult> {
  const answer = await connection.list('/compositions');
  return { answer, text: compositionsView(answer, columns) };
}

export async function create(
  { name, 'server:tool': tools, properties, isForced }: Creation,
  { connection }: CommandContext,
): Promise<CommandResult> {
  const body = { name, servers: toolsByServer(tools), ...properties };
  const answer = await connection.request('POST', `/compositions${forceQuery(isForced)}`, body);
  return { answer, text: compositionView(answer) };
}

export async function update(
  { composition, change, isForced }: ChangeArguments,
  { connection }: CommandContext,
): Promise<CommandResult> {
  const { servers, ...others } = change;
  const whole = (said: Readonly<Record<string, unknown>>): object => ({
    name: said['name'],
    servers: servers === undefined ? saidOfServers(said['servers']) : withTools(said['servers'], servers),
    ...others,
  });
  const answer = await connection.update(pathOf('compositions', composition), whole, forceQuery(isForced));
  return { answer, text: compositionView(answer) };
}

export async function show({ composition }: Named, { connection }: CommandContext): Promise<CommandResult> {
  const answer = await connection.request('GET', pathOf('compositions', composition));
  return { answer, text: compositionView(answer) };
}

export async function remove({ composition }: Named, { connection }: CommandContext): Promise<CommandResult> {
  await connection.request('DELETE', pathOf('compositions', composition));
  return { answer: undefined, text: `Deleted ${printable(composition)}.\n` };
}

function forceQuery(isForced: boolean): string {
  return isForced ? '?force=true' : '';
}
