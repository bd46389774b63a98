// `switchyard servers …`: the registry of a running control plane.
import type { ServerProperties } from '../config/index.js';
import { exitStatus } from '../shared/index.js';
import { CliFault, type CommandResult, printable } from './command-result.js';
import { pathOf, type CommandContext } from './control-plane-connection.js';
import { refreshView, serversView, serverView, toolsView } from './views.js';

interface ServerName {
  readonly server: string;
}

export async function list(
  { tags, status }: { readonly tags: readonly string[] | undefined; readonly status: string | undefined },
  { connection, columns }: CommandContext,
): Promise<CommandResult> {
  const query = new URLSearchParams();
  if (tags !== undefined) query.set('tags', tags.join(','));
  if (status !== undefined) query.set('status', status);
  const answer = await connection.list(`/servers${query.size === 0 ? '' : `?${query.toString()}`}`);
  return { answer, text: serversView(answer, columns) };
}

export async function add(
  {
    name,
    url,
    properties,
  }: { readonly name: string; readonly url: string; readonly properties: Partial<ServerProperties> },
  { connection }: CommandContext,
): Promise<CommandResult> {
  const { auth, ...others } = properties;
  const answer = await connection.request('POST', '/servers', { name, url, ...others, auth: auth ?? undefined });
  return { answer, text: serverView(answer) };
}

export async function show({ server }: ServerName, { connection, columns }: CommandContext): Promise<CommandResult> {
  const path = pathOf('servers', server);
  const [found, tools] = [await connection.request('GET', path), await connection.request('GET', `${path}/tools`)];
  return { answer: { ...Object(found), tools }, text: serverView(found) + toolsView(tools, columns) };
}

/** Changes a server. `change` has only the members to change; the others keep their values. */
export async function update(
  { server, change }: ServerName & { readonly change: object },
  { connection }: CommandContext,
): Promise<CommandResult> {
  const answer = await connection.update(pathOf('servers', server), (current) => ({
    name: current['name'],
    url: current['url'],
    ...change,
  }));
  return { answer, text: serverView(answer) };
}

export async function enable({ server }: ServerName, context: CommandContext): Promise<CommandResult> {
  return update({ server, change: { enabled: true } }, context);
}

export async function disable({ server }: ServerName, context: CommandContext): Promise<CommandResult> {
  return update({ server, change: { enabled: false } }, context);
}

export async function rename(
  { server, name }: ServerName & { readonly name: string },
  context: CommandContext,
): Promise<CommandResult> {
  return update({ server, change: { name } }, context);
}

export async function remove({ server }: ServerName, { connection }: CommandContext): Promise<CommandResult> {
  await connection.request('DELETE', pathOf('servers', server));
  return { answer: undefined, text: `Removed ${printable(server)}.\n` };
}

export async function refresh({ server }: ServerName, { connection }: CommandContext): Promise<CommandResult> {
  const answer = await connection.request('POST', pathOf('servers', server, 'refresh')).catch((error: unknown) => {
    // The control plane refuses a refresh only while another refresh of the server is running.
    if (!(error instanceof CliFault) || error.exitStatus !== exitStatus.refused) throw error;
    throw new CliFault(exitStatus.tryAgain, error.message, error);
  });
  const { text, isRead } = refreshView(answer);
  return { answer, text, exitStatus: isRead ? exitStatus.ok : exitStatus.serverUnread };
}

export async function connect(
  { server, isForProbes: probes }: ServerName & { readonly isForProbes: boolean },
  { connection }: CommandContext,
): Promise<CommandResult> {
  const answer = await connection.request('POST', pathOf('servers', server, 'connect'), { probes });
  return { answer, text: `${printable((answer as { readonly url: string }).url)}\n` };
}

/** Withdraws the user's consent for a server. @param name the name that the server had when the consent was given. */
export async function disconnect(
  { name }: { readonly name: string },
  { connection }: CommandContext,
): Promise<CommandResult> {
  const answer = await connection.request('DELETE', pathOf('connect', name));
  const isWithdrawn = (answer as { readonly revocation: string }).revocation === 'revoked';
  const advice = isWithdrawn
    ? ''
    : ' The consent could not be withdrawn at its authorization server: withdraw it there, too.';
  return { answer, text: `Disconnected ${printable(name)}.${advice}\n` };
}
