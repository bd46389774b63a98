// Reads a server's prompts, resources and templates, page by page, as the server sent them, with two digests of each. A server
// that declares such a list but does not give it, or gives one that is too long, still counts as reached and serves its tools.
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { listKinds, type ListKind } from '../../mcp/index.js';
import { limits } from '../../shared/index.js';
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

const pageSchema = z.looseObject({ nextCursor: z.string().nullish() });
const toolPageSchema = z.looseObject({
  tools: z.array(
    z.looseObject({ name: z.string().min(1), description: z.string().optional(), inputSchema: z.unknown() }),
  ),
  nextCursor: z.string().nullish(),
});

/** In the server's order; of tools with one name, the first. Throws if the response is no list, or the list is too long. */
export async function readTools(client: ProbeClient, signal: AbortSignal): Promise<readonly ServerTool[]> {
  if (client.capabilities['tools'] === undefined) return [];
  const tools = new Map<string, ServerTool>();
  // Not `listTools`, which would also compile the tools' schemas: they are not needed here.
  for await (const page of pagesOf(client, 'tools/list', toolPageSchema, signal)) {
    for (const tool of page.tools) {
      if (!tools.has(tool.name)) tools.set(tool.name, tool);
      if (tools.size > limits.probeToolsMax) throw new ProbeFault('answer-too-large');
    }
  }
  return [...tools.values()];
}

/** A list whose pages lead back to one that was read, or are too many, is cut there. */
async function* pagesOf<Page extends z.infer<typeof pageSchema>>(
  client: ProbeClient,
  method: string,
  schema: z.ZodType<Page>,
  signal: AbortSignal,
): AsyncGenerator<Page, void> {
  const asked = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 0; pages < limits.listPagesMax; pages++) {
    const page = await client.ask(method, cursor === undefined ? {} : { cursor }, schema).catch((error: unknown) => {
      if (cursor === '' && isRefusal(error, signal)) return undefined;
      throw error;
    });
    // An empty cursor may be a cursor like any other, or an empty word for the end.
    if (page === undefined) return;
    yield page;
    const { nextCursor } = page;
    if (typeof nextCursor !== 'string' || asked.has(nextCursor)) return;
    asked.add(nextCursor);
    cursor = nextCursor;
  }
}

function isRefusal(error: unknown, signal: AbortSignal): boolean {
  return error instanceof McpError && !signal.aborted;
}

/** A value nested more deeply than JSON readers elsewhere accept must not get into the store. */
export function isDeeperThan(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depthMax === 0 || Object.values(value).some((member) => isDeeperThan(member, depthMax - 1));
}

/** A list that is too long counts as not given. */
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
  const { allowedAs } = kind;
  if (allowedAs === undefined || client.capabilities[allowedAs] === undefined) return known;
  try {
    for await (const page of pagesOf(client, kind.method, pageSchema, signal)) {
      if (!addItems(known, page[kind.member], kind) || known.size > limits.probeToolsMax) return undefined;
    }
    return known;
  } catch (error) {
    if (isRefusal(error, signal)) return undefined;
    throw error;
  }
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
