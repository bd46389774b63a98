// Reads a server's prompts, resources and templates, page by page, as the server sent them, with two digests of each. A server
// that declares such a list but does not give it, or gives one that is too long, still counts as reached and serves its tools.
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { listKinds, type ListKind } from '../../protocol/list-kinds.js';
import { limits } from '../../shared/limits.js';
import {
  digestOfItem,
  digestOfKey,
  digestOfList,
  type ServerList,
  type ServerListName,
  type ServerLists,
} from '../records/server-lists.js';
import type { ProbeClient } from './probe-client.js';
import type { ServerTool } from '../records/server-record.js';
import { ProbeFault } from './probe-fault.js';

// Reads all of a server's tools, page by page, with every member that the server gave them.

const toolPageSchema = z.looseObject({
  tools: z.array(
    z.looseObject({ name: z.string().min(1), description: z.string().optional(), inputSchema: z.unknown() }),
  ),
  nextCursor: z.string().nullish(),
});

/**
 * In the server's order; of tools with one name, the first. A list whose pages lead back to one that was read, or are too many, is cut
 * there. Throws if the response is no list, or the list is too long.
 */
export async function readTools(client: ProbeClient, signal: AbortSignal): Promise<readonly ServerTool[]> {
  if (client.capabilities['tools'] === undefined) return [];
  const tools = new Map<string, ServerTool>();
  const asked = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 0; pages < limits.listPagesMax; pages++) {
    const params = cursor === undefined ? {} : { cursor };
    // Not `listTools`, which would also compile the tools' schemas: they are not needed here.
    const page = await client.ask('tools/list', params, toolPageSchema).catch((error: unknown) => {
      if (cursor === '' && error instanceof McpError && !signal.aborted) return undefined;
      throw error;
    });
    // An empty cursor may be a cursor like any other, or an empty word for the end.
    if (page === undefined) break;
    for (const tool of page.tools) {
      if (!tools.has(tool.name)) tools.set(tool.name, tool);
      if (tools.size > limits.probeToolsMax) throw new ProbeFault('answer-too-large');
    }
    const { nextCursor } = page;
    if (typeof nextCursor !== 'string' || asked.has(nextCursor)) break;
    asked.add(nextCursor);
    cursor = nextCursor;
  }
  return [...tools.values()];
}

/** A value nested more deeply than JSON readers elsewhere accept must not get into the store. */
export function isDeeperThan(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depthMax === 0 || Object.values(value).some((member) => isDeeperThan(member, depthMax - 1));
}

const pageSchema = z.looseObject({ nextCursor: z.string().nullish() });

/** A list whose pages lead back to one that was read, or are too many, is cut there; a list that is too long counts as not given. */
export async function readServerLists(client: ProbeClient, signal: AbortSignal): Promise<ServerLists> {
  return {
    prompts: await readList(client, 'prompts', signal),
    resources: await readList(client, 'resources', signal),
    templates: await readList(client, 'templates', signal),
  };
}

async function readList(
  client: ProbeClient,
  name: ServerListName,
  signal: AbortSignal,
): Promise<ServerList | undefined> {
  const known = await readItems(client, name, signal);
  if (known === undefined) return undefined;
  const items = new Map([...known].map(([key, { digest }]) => [key, digest]));
  const json = Buffer.from(JSON.stringify([...known.values()].map(({ item }) => item)));
  return { items, digest: digestOfList(items) + FORM, json };
}

/** Earlier versions stored only digests, and had other list digests: the suffix causes such lists to be written again. */
const FORM = '.2';

interface KnownItem {
  readonly item: unknown;
  readonly digest: string;
}

async function readItems(
  client: ProbeClient,
  name: ServerListName,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, KnownItem> | undefined> {
  const kind = listKinds[name];
  const known = new Map<string, KnownItem>();
  const asked = new Set<string>();
  const { allowedAs } = kind;
  if (allowedAs === undefined || client.capabilities[allowedAs] === undefined) return known;
  let cursor: string | undefined;
  for (let pages = 0; pages < limits.listPagesMax; pages++) {
    const page = await pageAt(client, kind, cursor, signal);
    if (page === undefined && cursor === '') break;
    if (page === undefined || !addItems(known, page[kind.member], kind)) return undefined;
    if (known.size > limits.probeToolsMax) return undefined;
    const { nextCursor } = page;
    if (typeof nextCursor !== 'string' || asked.has(nextCursor)) break;
    asked.add(nextCursor);
    cursor = nextCursor;
  }
  return known;
}

/** Skips items without a key, which nobody can ask for. @returns false if the list is no array, or an item is nested too deeply. */
function addItems(known: Map<string, KnownItem>, items: unknown, { key }: ListKind): boolean {
  if (!Array.isArray(items)) return false;
  for (const item of items as readonly unknown[]) {
    if (isDeeperThan(item, limits.jsonDepthMax)) return false;
    const name = typeof item === 'object' && item !== null ? (item as Record<string, unknown>)[key] : undefined;
    if (typeof name !== 'string') continue;
    const keyDigest = digestOfKey(name);
    if (!known.has(keyDigest)) known.set(keyDigest, { item, digest: digestOfItem(item) });
  }
  return true;
}

/** `undefined` when the server responds with an error. */
async function pageAt(
  client: ProbeClient,
  { method }: ListKind,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<z.infer<typeof pageSchema> | undefined> {
  const params = cursor === undefined ? {} : { cursor };
  try {
    return await client.ask(method, params, pageSchema);
  } catch (error) {
    if (error instanceof McpError && !signal.aborted) return undefined;
    throw error;
  }
}
