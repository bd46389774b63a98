// What prompts, resources or templates a server has, page by page. Of each no more is kept than two digests. A server that
// declares such lists and does not give them, or gives too long ones, is no worse for it: it serves its tools all the same.
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { listKinds, type ListKind } from '../../protocol/list-kinds.js';
import { limits } from '../../shared/limits.js';
import { digestOfItem, digestOfKey, digestOfList, type ItemDigests } from '../registry/item-digest.js';
import type { ServerList, ServerListName, ServerLists } from '../registry/server-lists.js';
import { isDeeperThan } from './depth.js';
import type { ProbeClient } from './probe-client.js';
import { ProbeFault } from './probe-fault.js';

const pageSchema = z.looseObject({ nextCursor: z.string().nullish() });

/** Throws for a list that never ends; one that is too long counts as not given. */
export async function readLists(client: ProbeClient, signal: AbortSignal): Promise<ServerLists> {
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
  const items = await readItems(client, name, signal);
  return items && { items, digest: digestOfList(items) };
}

async function readItems(
  client: ProbeClient,
  name: ServerListName,
  signal: AbortSignal,
): Promise<ItemDigests | undefined> {
  const kind = listKinds[name];
  const digests = new Map<string, string>();
  const { allowedAs } = kind;
  if (allowedAs === undefined || client.capabilities[allowedAs] === undefined) return digests;
  let cursor: string | undefined;
  for (let pages = 0; pages < limits.listPagesMax; pages++) {
    const page = await pageAt(client, kind, cursor, signal);
    if (page === undefined || !addItems(digests, page[kind.member], kind)) return undefined;
    if (digests.size > limits.probeToolsMax) return undefined;
    const { nextCursor } = page;
    if (typeof nextCursor !== 'string') return digests;
    if (nextCursor === cursor) break;
    cursor = nextCursor;
  }
  throw new ProbeFault('answer-invalid');
}

/** What has no key nobody can ask for. @returns false for what is no list. */
function addItems(digests: Map<string, string>, items: unknown, { key }: ListKind): boolean {
  if (!Array.isArray(items)) return false;
  for (const item of items as readonly unknown[]) {
    if (isDeeperThan(item, limits.jsonDepthMax)) return false;
    const known = typeof item === 'object' && item !== null ? (item as Record<string, unknown>)[key] : undefined;
    if (typeof known !== 'string') continue;
    const keyDigest = digestOfKey(known);
    if (!digests.has(keyDigest)) digests.set(keyDigest, digestOfItem(item));
  }
  return true;
}

/** `undefined` when the server answers with an error. */
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
