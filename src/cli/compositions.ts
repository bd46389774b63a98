// `switchyard compositions …`: the compositions of a running control plane.
import type { CompositionChange, CompositionCreation } from '../config/cli-request.js';
import { saidOfServers, withTools } from './composition-servers.js';
import { pathOf } from './control-plane-connection.js';
import type { CommandResult } from './command-result.js';
import type { Way } from './run-cli.js';
import { printable } from './text-table.js';
import { compositionsView, compositionView } from './views.js';

interface Named {
  readonly composition: string;
}

export async function list(_action: object, { connection, terminal }: Way): Promise<CommandResult> {
  const answer = await connection.list('/compositions');
  return { answer, text: compositionsView(answer, terminal) };
}

export async function create({ isForced, ...body }: CompositionCreation, { connection }: Way): Promise<CommandResult> {
  const answer = await connection.request('POST', `/compositions${forceQuery(isForced)}`, body);
  return { answer, text: compositionView(answer) };
}

export async function update(
  { composition, change, servers, isForced }: CompositionChange,
  { connection }: Way,
): Promise<CommandResult> {
  const whole = (said: Readonly<Record<string, unknown>>): object => ({
    name: said['name'],
    servers: servers === undefined ? saidOfServers(said['servers']) : withTools(said['servers'], servers),
    ...change,
  });
  const answer = await connection.update(pathOf('compositions', composition), whole, forceQuery(isForced));
  return { answer, text: compositionView(answer) };
}

export async function show({ composition }: Named, { connection }: Way): Promise<CommandResult> {
  const answer = await connection.request('GET', pathOf('compositions', composition));
  return { answer, text: compositionView(answer) };
}

export async function remove({ composition }: Named, { connection }: Way): Promise<CommandResult> {
  await connection.request('DELETE', pathOf('compositions', composition));
  return { answer: undefined, text: `Deleted ${printable(composition)}.\n` };
}

function forceQuery(isForced: boolean): string {
  return isForced ? '?force=true' : '';
}
