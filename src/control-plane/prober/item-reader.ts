// Reads a server's lists, page by page, as the server sent them, with a digest of each item. A server that declares prompts, resources or
// templates but does not give them, or gives too many, still counts as reached and serves its tools.
import * as z from 'zod';
import { listKinds, type ListKind } from '../../mcp/index.js';
import { isObject, limits } from '../../shared/index.js';
import {
  type AllLists,
  digestOfItem,
  digestOfKey,
  digestOfList,
  type ListName,
  type ServerList,
} from '../records/server-record.js';
import { ProbeFault } from './probe-fault.js';
import type { ProbedServer } from './probed-session.js';

const pageSchema = z.looseObject({ nextCursor: z.string().nullish() });
const toolsSchema = z.array(z.looseObject({ name: z.string().min(1), description: z.string().nullish() }));

/** Ends at a page whose cursor was used before, and after `limits.listPagesMax` pages. */
async function* pagesOf(server: ProbedServer, method: string): AsyncGenerator<z.infer<typeof pageSchema>, void> {
  const usedCursors = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 0; pages < limits.listPagesMax; pages++) {
    const page = await server
      .ask(method, cursor === undefined ? {} : { cursor }, pageSchema)
      .catch((error: unknown) => {
        if (cursor === '' && isRefusal(error)) return undefined;
        throw error;
      });
    // An empty cursor may be a cursor like any other, or mean the end: if asking with it is refused, the list has ended.
    if (page === undefined) return;
    yield page;
    const { nextCursor } = page;
    if (typeof nextCursor !== 'string' || usedCursors.has(nextCursor)) return;
    usedCursors.add(nextCursor);
    cursor = nextCursor;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof ProbeFault && error.kind === 'rpc-error';
}

/** A value nested more deeply than JSON readers elsewhere accept must not get into the store. */
export function isDeeperThan(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depthMax === 0 || Object.values(value).some((member) => isDeeperThan(member, depthMax - 1));
}

/** Rejects if the tools cannot be read. Another list that is refused, invalid or too long is `undefined`. */
export async function readLists(server: ProbedServer): Promise<AllLists & { readonly tools: ServerList }> {
  return {
    tools: toList(await readItems(server, 'tools')),
    prompts: await readOptional(server, 'prompts'),
    resources: await readOptional(server, 'resources'),
    templates: await readOptional(server, 'templates'),
  };
}

async function readOptional(server: ProbedServer, name: ListName): Promise<ServerList | undefined> {
  try {
    return toList(await readItems(server, name), DIGEST_VERSION);
  } catch (error) {
    if (error instanceof ListFault || isRefusal(error)) return undefined;
    throw error;
  }
}

/** A suffix of list digests. Earlier versions stored no items: because their digests differ, the lists are written again. */
const DIGEST_VERSION = '.2';

/** What the server gave is not a list, or is too long. */
class ListFault extends ProbeFault {}

interface ReadItem {
  readonly item: unknown;
  readonly digest: string;
}

function toList(read: ReadonlyMap<string, ReadItem>, digestVersion = ''): ServerList {
  const items = new Map([...read].map(([key, { digest }]) => [key, digest]));
  const json = Buffer.from(JSON.stringify([...read.values()].map(({ item }) => item)));
  return { items, digest: digestOfList(items) + digestVersion, json };
}

/** Items by their keys, in the server's order; of items with one key, the first. */
async function readItems(server: ProbedServer, name: ListName): Promise<Map<string, ReadItem>> {
  const kind = listKinds[name];
  const read = new Map<string, ReadItem>();
  if (kind.allowedAs === undefined || !isObject(server.capabilities[kind.allowedAs])) return read;
  for await (const page of pagesOf(server, kind.method)) {
    const items = page[kind.member];
    addItems(read, name === 'tools' ? toolsSchema.parse(items) : items, kind);
    if (read.size > limits.probeToolsMax) throw new ListFault('answer-too-large');
  }
  return read;
}

/** Skips items without a key, which nobody can ask for. */
function addItems(read: Map<string, ReadItem>, items: unknown, { key, name: list }: ListKind): void {
  if (!Array.isArray(items) || isDeeperThan(items, limits.jsonDepthMax)) throw new ListFault('answer-invalid');
  for (const item of items as readonly unknown[]) {
    const name = typeof item === 'object' && item !== null ? (item as Record<string, unknown>)[key] : undefined;
    if (typeof name !== 'string') continue;
    const itemKey = list === 'tools' ? name : digestOfKey(name);
    if (!read.has(itemKey)) read.set(itemKey, { item, digest: digestOfItem(item) });
  }
}
