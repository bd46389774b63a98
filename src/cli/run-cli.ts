// The commands for people: each asks a running control plane for something and prints the answer, as a table or as JSON.
// Exit statuses: cli-fault.ts.
import type { CliAction, CliRequest } from '../config/cli-request.js';
import { exitStatus } from '../shared/exit-status.js';
import { CliFault } from './cli-fault.js';
import { ControlPlaneConnection, pathOf } from './control-plane-connection.js';
import { print, printOutcome, type Outcome } from './outcome.js';
import { saidOfServers, withTools } from './composition-servers.js';
import { exportServers, importServers } from './server-files.js';
import { printable } from './text-table.js';
import {
  callerView,
  compositionsView,
  compositionView,
  refreshView,
  serversView,
  serverView,
  toolsView,
  type Terminal,
} from './views.js';

/** Resolves with the program's exit status, when everything is printed. */
export async function runCli({ controlPlaneUrl, token, isJson, action }: CliRequest): Promise<number> {
  const connection = new ControlPlaneConnection(controlPlaneUrl, token);
  const terminal = { columns: process.stdout.isTTY ? process.stdout.columns : undefined };
  const status = await printOutcome(isJson, () => perform(action, connection, terminal));
  const { unpublishedCount } = connection;
  if (unpublishedCount > 0) {
    const words = `done, but ${unpublishedCount} user configs do not have it yet; they are still being written`;
    await print(process.stderr, `switchyard: ${words}\n`);
  }
  return status;
}

async function perform(action: CliAction, connection: ControlPlaneConnection, terminal: Terminal): Promise<Outcome> {
  switch (action.command) {
    case 'servers list': {
      const answer = await connection.list(`/servers${queryOf(action)}`);
      return { answer, text: serversView(answer, terminal) };
    }
    case 'servers add': {
      const { name, url, description, tags, transport, auth, team } = action;
      const body = { name, url, description, tags, transport, auth, team };
      const answer = await connection.request('POST', '/servers', body);
      return { answer, text: serverView(answer) };
    }
    case 'servers import':
      return importServers(action.file, action.way, action.isTrial, connection, terminal);
    case 'servers export':
      return exportServers(connection);
    case 'servers show': {
      const path = pathOf('servers', action.server);
      const [server, tools] = [await connection.request('GET', path), await connection.request('GET', `${path}/tools`)];
      return { answer: { ...Object(server), tools }, text: serverView(server) + toolsView(tools, terminal) };
    }
    case 'servers refresh':
      return refresh(action.server, connection);
    case 'servers update': {
      const { server, change } = action;
      const answer = await connection.update(pathOf('servers', server), (said) => ({
        name: said['name'],
        url: said['url'],
        ...change,
      }));
      return { answer, text: serverView(answer) };
    }
    case 'servers remove':
      await connection.request('DELETE', pathOf('servers', action.server));
      return { answer: undefined, text: `Removed ${printable(action.server)}.\n` };
    case 'whoami': {
      const answer = await connection.request('GET', '/whoami');
      return { answer, text: callerView(answer) };
    }
    case 'servers connect': {
      const { server, isForProbes: probes } = action;
      const answer = await connection.request('POST', pathOf('servers', server, 'connect'), { probes });
      return { answer, text: `${printable((answer as { readonly url: string }).url)}\n` };
    }
    case 'servers disconnect': {
      const answer = await connection.request('DELETE', pathOf('connect', action.name));
      const isWithdrawn = (answer as { readonly revocation: string }).revocation === 'revoked';
      const advice = isWithdrawn
        ? ''
        : ' Its authorization server was not told, or did not take it: withdraw the consent there, too.';
      return { answer, text: `Disconnected ${printable(action.name)}.${advice}\n` };
    }
    case 'compositions list': {
      const answer = await connection.list('/compositions');
      return { answer, text: compositionsView(answer, terminal) };
    }
    case 'compositions create': {
      const { name, description, exposure, servers, subjects, team, isForced } = action;
      const body = { name, description, exposure, servers, subjects, team };
      const answer = await connection.request('POST', `/compositions${forceQuery(isForced)}`, body);
      return { answer, text: compositionView(answer) };
    }
    case 'compositions update': {
      const { composition, change, servers, isForced } = action;
      const path = pathOf('compositions', composition);
      const update = (said: Readonly<Record<string, unknown>>): object => ({
        name: said['name'],
        servers: servers === undefined ? saidOfServers(said['servers']) : withTools(said['servers'], servers),
        ...change,
      });
      const answer = await connection.update(path, update, forceQuery(isForced));
      return { answer, text: compositionView(answer) };
    }
    case 'compositions show': {
      const answer = await connection.request('GET', pathOf('compositions', action.composition));
      return { answer, text: compositionView(answer) };
    }
    case 'compositions delete':
      await connection.request('DELETE', pathOf('compositions', action.composition));
      return { answer: undefined, text: `Deleted ${printable(action.composition)}.\n` };
  }
}

async function refresh(server: string, connection: ControlPlaneConnection): Promise<Outcome> {
  const answer = await connection.request('POST', pathOf('servers', server, 'refresh')).catch((error: unknown) => {
    // The one thing that a refresh can meet with is another one.
    if (!(error instanceof CliFault) || error.exitStatus !== exitStatus.refused) throw error;
    throw new CliFault(exitStatus.tryAgain, error.message, error);
  });
  const { text, isRead } = refreshView(answer);
  return { answer, text, exitStatus: isRead ? exitStatus.ok : exitStatus.serverUnread };
}

function forceQuery(isForced: boolean): string {
  return isForced ? '?force=true' : '';
}

function queryOf({ tags, status }: Extract<CliAction, { command: 'servers list' }>): string {
  const query = new URLSearchParams();
  if (tags.length > 0) query.set('tags', tags.join(','));
  if (status !== undefined) query.set('status', status);
  return query.size === 0 ? '' : `?${query.toString()}`;
}
