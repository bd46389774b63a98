// The control plane's responses in a form for people. Only the members that are shown are checked, so that control planes of other versions
// work as well.
import { z } from 'zod';
import { textLines, textTable, understood } from './command-result.js';

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
const reportShape = z.object({
  status: z.string(),
  toolsAdded: z.number(),
  toolsUpdated: z.number(),
  toolsRemoved: z.number(),
  promptsAdded: z.number().default(0),
  promptsUpdated: z.number().default(0),
  promptsRemoved: z.number().default(0),
  resourcesAdded: z.number().default(0),
  resourcesUpdated: z.number().default(0),
  resourcesRemoved: z.number().default(0),
  templatesAdded: z.number().default(0),
  templatesUpdated: z.number().default(0),
  templatesRemoved: z.number().default(0),
  error: z.string().optional(),
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

export interface Terminal {
  /** `undefined` when the output is not a terminal. */
  readonly columns: number | undefined;
}

export function serversView(answer: unknown, { columns }: Terminal): string {
  const servers = understood('control plane', z.array(serverShape), answer);
  if (servers.length === 0) return 'No servers.\n';
  const rows = servers.map((server) => [
    server.name,
    statusOf(server),
    String(server.toolCount),
    server.tags.join(','),
    server.url,
    server.lastError ?? '',
  ]);
  return textTable(['NAME', 'STATUS', 'TOOLS', 'TAGS', 'URL', 'LAST ERROR'], rows, columns);
}

/** By default, only the control plane connects to such servers. */
const PLAIN_HTTP =
  'plain HTTP: a dataplane refuses it unless it runs with --upstream-connection-mode plain-text-or-tls';

export function serverView(answer: unknown): string {
  const server = understood('control plane', serverShape, answer);
  return textLines([
    ['name', server.name],
    ['status', statusOf(server)],
    ['url', server.url],
    ...(server.url.toLowerCase().startsWith('http:') ? [['note', PLAIN_HTTP] as const] : []),
    ['description', server.description],
    ['tags', server.tags.join(', ')],
    ['tools', String(server.toolCount)],
    ['last seen', server.lastSeen ?? 'never'],
    ['last error', server.lastError ?? 'none'],
    ...ownerLines(server),
    ['slug', server.slug],
    ['id', server.id],
  ]);
}

export function toolsView(answer: unknown, { columns }: Terminal): string {
  const tools = understood('control plane', z.array(toolShape), answer);
  if (tools.length === 0) return '';
  const rows = tools.map(({ name, description = '' }) => [name, description]);
  return `\n${textTable(['TOOL', 'DESCRIPTION'], rows, columns)}`;
}

interface RefreshView {
  readonly text: string;
  readonly isRead: boolean;
}

export function refreshView(answer: unknown): RefreshView {
  const { status, error, ...report } = understood('control plane', reportShape, answer);
  if (error !== undefined)
    return {
      text: textLines([
        ['status', status],
        ['error', error],
      ]),
      isRead: false,
    };
  const others = (['prompts', 'resources', 'templates'] as const)
    .filter((list) => report[`${list}Added`] + report[`${list}Updated`] + report[`${list}Removed`] > 0)
    .map((list): [string, string] => [list, changesIn(report, list)]);
  return {
    text: textLines([['status', status], ['tools', changesIn(report, 'tools')], ...others]),
    isRead: true,
  };
}

type Report = Omit<z.infer<typeof reportShape>, 'status' | 'error'>;

function changesIn(report: Report, list: 'tools' | 'prompts' | 'resources' | 'templates'): string {
  return `${report[`${list}Added`]} added, ${report[`${list}Updated`]} updated, ${report[`${list}Removed`]} removed`;
}

export function compositionsView(answer: unknown, { columns }: Terminal): string {
  const compositions = understood('control plane', z.array(compositionShape), answer);
  if (compositions.length === 0) return 'No compositions.\n';
  const rows = compositions.map((composition) => [
    composition.name,
    composition.id,
    toolsOf(composition).join(','),
    composition.subjects.join(','),
    missingOf(composition),
  ]);
  return textTable(['NAME', 'ID', 'TOOLS', 'SUBJECTS', 'MISSING'], rows, columns);
}

export function compositionView(answer: unknown): string {
  const composition = understood('control plane', compositionShape, answer);
  return textLines([
    ['name', composition.name],
    ['description', composition.description],
    ['tools', toolsOf(composition).join(', ')],
    ['missing', missingOf(composition) || 'none'],
    ...(composition.exposure === undefined ? [] : [['exposure', composition.exposure] as [string, string]]),
    ['subjects', composition.subjects.join(', ')],
    ...ownerLines(composition),
    ['id', composition.id],
  ]);
}

const callerShape = z.object({ subject: z.string(), role: z.string().nullable(), teams: z.array(z.string()) });

export function callerView(answer: unknown): string {
  const { subject, role, teams } = understood('control plane', callerShape, answer);
  return textLines([
    ['subject', subject],
    ['role', role ?? 'none'],
    ['teams', teams.join(', ') || 'none'],
  ]);
}

/** Owner and team, where there are any. */
function ownerLines({ owner, team }: Pick<Server, 'owner' | 'team'>): [string, string][] {
  return [
    ...(owner === undefined ? [] : [['owner', owner] as [string, string]]),
    ...(team === undefined ? [] : [['team', team] as [string, string]]),
  ];
}

function statusOf({ status, enabled }: Server): string {
  return enabled ? status : `${status}, disabled`;
}

/** Tools as they are written on the command line. */
function toolsOf({ servers }: Composition): string[] {
  return servers.flatMap(({ name, tools }) => tools.map((tool) => `${name}:${tool}`));
}

function missingOf({ missingTools }: Composition): string {
  return missingTools.map(({ server, tool }) => `${server}:${tool}`).join(',');
}
