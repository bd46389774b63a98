// `switchyard compositions …`: the compositions of a running control plane.
import * as z from 'zod';
import { toolsByServer, type ServerTools } from '../config/index.js';
import { pathOf, type CommandContext } from './control-plane-connection.js';
import { type CommandResult, printable } from './command-result.js';
import { compositionsView, compositionView } from './views.js';

// A composition's servers in the form in which a change sends them back: with the members that users have set.

/** The members of a composition's server that users set. The control plane's response has others as well. */
const SETTABLE_MEMBERS = ['name', 'tools', 'prompts', 'resources', 'curation'] as const;

const serversShape = z.array(z.looseObject({ name: z.string() })).catch([]);

/** The members that users have set for each server. @param servers as in the control plane's response. */
export function serverSettings(servers: unknown): Readonly<Record<string, unknown>>[] {
  return serversShape.parse(servers).map((server) => {
    const set = SETTABLE_MEMBERS.filter((member) => server[member] !== undefined && server[member] !== null);
    return Object.fromEntries(set.map((member) => [member, server[member]]));
  });
}

/** Replaces the tools. A server that is not `wanted` keeps only its prompts and resources; without these, it is dropped. */
export function replaceTools(servers: unknown, wanted: readonly ServerTools[]): Readonly<Record<string, unknown>>[] {
  const known = serverSettings(servers);
  const kept = known.flatMap((server) => {
    const named = wanted.find(({ name }) => isSameServerName(name, server['name']));
    if (named !== undefined) return [{ ...server, tools: named.tools }];
    const hasOthers = [server['prompts'], server['resources']].some((list) => Array.isArray(list) && list.length > 0);
    return hasOthers ? [{ ...server, tools: [] }] : [];
  });
  const added = wanted.filter(({ name }) => !known.some((server) => isSameServerName(name, server['name'])));
  return [...kept, ...added.map(({ name, tools }) => ({ name, tools }))];
}

/** Whether two names mean the same server: as in the registry, case does not matter. */
function isSameServerName(name: string, other: unknown): boolean {
  return typeof other === 'string' && name.toLowerCase() === other.toLowerCase();
}

interface CompositionName {
  readonly composition: string;
}

interface NewComposition {
  readonly name: string;
  readonly 'server:tool': readonly string[];
  readonly properties: object;
  readonly isForced: boolean;
}

/** A change of a composition. `change` has only the members to change; the others keep their values. */
interface CompositionChange extends CompositionName {
  readonly change: object & { readonly servers?: readonly ServerTools[] | undefined };
  readonly isForced: boolean;
}

export async function list(_action: object, { connection, columns }: CommandContext): Promise<CommandResult> {
  const answer = await connection.list('/compositions');
  return { answer, text: compositionsView(answer, columns) };
}

export async function create(
  { name, 'server:tool': tools, properties, isForced }: NewComposition,
  { connection }: CommandContext,
): Promise<CommandResult> {
  const body = { name, servers: toolsByServer(tools), ...properties };
  const answer = await connection.request('POST', `/compositions${forceQuery(isForced)}`, body);
  return { answer, text: compositionView(answer) };
}

export async function update(
  { composition, change, isForced }: CompositionChange,
  { connection }: CommandContext,
): Promise<CommandResult> {
  const { servers, ...others } = change;
  const changed = (current: Readonly<Record<string, unknown>>): object => ({
    name: current['name'],
    servers: servers === undefined ? serverSettings(current['servers']) : replaceTools(current['servers'], servers),
    ...others,
  });
  const answer = await connection.update(pathOf('compositions', composition), changed, forceQuery(isForced));
  return { answer, text: compositionView(answer) };
}

export async function show({ composition }: CompositionName, { connection }: CommandContext): Promise<CommandResult> {
  const answer = await connection.request('GET', pathOf('compositions', composition));
  return { answer, text: compositionView(answer) };
}

export async function remove({ composition }: CompositionName, { connection }: CommandContext): Promise<CommandResult> {
  await connection.request('DELETE', pathOf('compositions', composition));
  return { answer: undefined, text: `Deleted ${printable(composition)}.\n` };
}

function forceQuery(isForced: boolean): string {
  return isForced ? '?force=true' : '';
}
