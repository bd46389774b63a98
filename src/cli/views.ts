// Turns the control plane's responses into texts for people. Only the members that are shown are checked, so that responses of other
// versions can be shown as well.
import * as z from 'zod';
import { textLines, textTable, parseResponse } from './command-result.js';

const serverShape = z.object({
  id: z.string(),
  name: z.string(),
  slug: z.string(),
  url: z.string(),
  description: z.string(),
  tags: z.array(z.string()),
  status: z.string(),
  enabled: z.boolean(),
  owner: z.string().optional(),
  team: z.string().optional(),
  toolCount: z.number(),
  lastSeen: z.string().nullable(),
  lastError: z.string().nullable(),
});
const toolShape = z.object({ name: z.string(), description: z.string().optional() });
const reportShape = z
  .looseObject({ status: z.string(), error: z.string().optional() })
  .transform(({ status, error, ...report }) => {
    const countOf = (name: string): number => z.number().catch(0).parse(report[name]);
    const lists = ['tools', 'prompts', 'resources', 'templates'].map((list) => ({
      list,
      counts: [countOf(`${list}Added`), countOf(`${list}Updated`), countOf(`${list}Removed`)],
    }));
    return { status, error, lists };
  });
const compositionShape = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  servers: z.array(z.object({ name: z.string(), tools: z.array(z.string()) })),
  exposure: z.string().optional(),
  subjects: z.array(z.string()),
  owner: z.string().optional(),
  team: z.string().optional(),
  missingTools: z.array(z.object({ server: z.string(), tool: z.string() })),
});

type Server = z.infer<typeof serverShape>;
type Composition = z.infer<typeof compositionShape>;

/** The terminal's width; `undefined` if the output is not a terminal. */
export type Columns = number | undefined;

export function serversView(answer: unknown, columns: Columns): string {
  const servers = parseResponse('control plane', z.array(serverShape), answer);
  if (servers.length === 0) return 'No servers.\n';
  const rows = servers.map((server) => [
    server.name,
    statusText(server),
    String(server.toolCount),
    server.tags.join(','),
    server.url,
    server.lastError ?? '',
  ]);
  return textTable(['NAME', 'STATUS', 'TOOLS', 'TAGS', 'URL', 'LAST ERROR'], rows, columns);
}

/** A hint for servers with http URLs: by default, the control plane connects to them, but the dataplane does not. */
const PLAIN_HTTP_HINT =
  'plain HTTP: a dataplane refuses it unless it runs with --upstream-connection-mode plain-text-or-tls';

export function serverView(answer: unknown): string {
  const server = parseResponse('control plane', serverShape, answer);
  return textLines([
    ['name', server.name],
    ['status', statusText(server)],
    ['url', server.url],
    ['note', server.url.toLowerCase().startsWith('http:') ? PLAIN_HTTP_HINT : undefined],
    ['description', server.description],
    ['tags', server.tags.join(', ')],
    ['tools', String(server.toolCount)],
    ['last seen', server.lastSeen ?? 'never'],
    ['last error', server.lastError ?? 'none'],
    ['owner', server.owner],
    ['team', server.team],
    ['slug', server.slug],
    ['id', server.id],
  ]);
}

export function toolsView(answer: unknown, columns: Columns): string {
  const tools = parseResponse('control plane', z.array(toolShape), answer);
  if (tools.length === 0) return '';
  const rows = tools.map(({ name, description = '' }) => [name, description]);
  return `\n${textTable(['TOOL', 'DESCRIPTION'], rows, columns)}`;
}

export function refreshView(answer: unknown): { readonly text: string; readonly isRead: boolean } {
  const { status, error, lists } = parseResponse('control plane', reportShape, answer);
  const isRead = error === undefined;
  const shown = lists.filter(({ list, counts }) => isRead && (list === 'tools' || counts.some((count) => count > 0)));
  const lines = shown.map(({ list, counts: [added, updated, removed] }): [string, string] => {
    return [list, `${added} added, ${updated} updated, ${removed} removed`];
  });
  return { text: textLines([['status', status], ['error', error], ...lines]), isRead };
}

export function compositionsView(answer: unknown, columns: Columns): string {
  const compositions = parseResponse('control plane', z.array(compositionShape), answer);
  if (compositions.length === 0) return 'No compositions.\n';
  const rows = compositions.map((composition) => [
    composition.name,
    composition.id,
    toolWordsOf(composition).join(','),
    composition.subjects.join(','),
    missingToolsText(composition),
  ]);
  return textTable(['NAME', 'ID', 'TOOLS', 'SUBJECTS', 'MISSING'], rows, columns);
}

export function compositionView(answer: unknown): string {
  const composition = parseResponse('control plane', compositionShape, answer);
  return textLines([
    ['name', composition.name],
    ['description', composition.description],
    ['tools', toolWordsOf(composition).join(', ')],
    ['missing', missingToolsText(composition) || 'none'],
    ['exposure', composition.exposure],
    ['subjects', composition.subjects.join(', ')],
    ['owner', composition.owner],
    ['team', composition.team],
    ['id', composition.id],
  ]);
}

const callerShape = z.object({ subject: z.string(), role: z.string().nullable(), teams: z.array(z.string()) });

export function callerView(answer: unknown): string {
  const { subject, role, teams } = parseResponse('control plane', callerShape, answer);
  return textLines([
    ['subject', subject],
    ['role', role ?? 'none'],
    ['teams', teams.join(', ') || 'none'],
  ]);
}

function statusText({ status, enabled }: Server): string {
  return enabled ? status : `${status}, disabled`;
}

/** The composition's tools in the form that the command line takes: `server:tool`. */
function toolWordsOf({ servers }: Composition): string[] {
  return servers.flatMap(({ name, tools }) => tools.map((tool) => `${name}:${tool}`));
}

function missingToolsText({ missingTools }: Composition): string {
  return missingTools.map(({ server, tool }) => `${server}:${tool}`).join(',');
}
