// Reads a server's lists, page by page, as the server sent them, with two digests of each item. A server that declares prompts, resources
// or templates but does not give them, or gives too many, still counts as reached and serves its tools.
import { z } from 'zod';
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

/** A list whose pages lead back to one that was read, or are too many, is cut there. */
async function* pagesOf(server: ProbedServer, method: string): AsyncGenerator<z.infer<typeof pageSchema>, void> {
  const asked = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 0; pages < limits.listPagesMax; pages++) {
    const page = await server
      .ask(method, cursor === undefined ? {} : { cursor }, pageSchema)
      .catch((error: unknown) => {
        if (cursor === '' && isRefusal(error)) return undefined;
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

function isRefusal(error: unknown): boolean {
  return error instanceof ProbeFault && error.kind === 'rpc-error';
}

/** A value nested more deeply than JSON readers elsewhere accept must not get into the store. */
export function isDeeperThan(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depthMax === 0 || Object.values(value).some((member) => isDeeperThan(member, depthMax - 1));
}

/** Throws if there are no tools to be had; another list that is refused, invalid or too long counts as not given. */
export async function readLists(server: ProbedServer): Promise<AllLists & { readonly tools: ServerList }> {
  return {
    tools: toList(await readItems(server, 'tools')),
    prompts: await readGiven(server, 'prompts'),
    resources: await readGiven(server, 'resources'),
    templates: await readGiven(server, 'templates'),
  };
}

async function readGiven(server: ProbedServer, name: ListName): Promise<ServerList | undefined> {
  try {
    return toList(await readItems(server, name), FORM);
  } catch (error) {
    if (error instanceof ListFault || isRefusal(error)) return undefined;
    throw error;
  }
}

/** Earlier versions stored only digests, and had other list digests: the suffix causes such lists to be written again. */
const FORM = '.2';

/** What the server gave is no list, or too long a one. */
class ListFault extends ProbeFault {}

interface KnownItem {
  readonly item: unknown;
  readonly digest: string;
}

function toList(known: ReadonlyMap<string, KnownItem>, form = ''): ServerList {
  const items = new Map([...known].map(([key, { digest }]) => [key, digest]));
  const json = Buffer.from(JSON.stringify([...known.values()].map(({ item }) => item)));
  return { items, digest: digestOfList(items) + form, json };
}

/** In the server's order; of items with one key, the first. */
async function readItems(server: ProbedServer, name: ListName): Promise<Map<string, KnownItem>> {
  const kind = listKinds[name];
  const known = new Map<string, KnownItem>();
  if (kind.allowedAs === undefined || !isObject(server.capabilities[kind.allowedAs])) return known;
  for await (const page of pagesOf(server, kind.method)) {
    const items = page[kind.member];
    addItems(known, name === 'tools' ? toolsSchema.parse(items) : items, kind);
    if (known.size > limits.probeToolsMax) throw new ListFault('answer-too-large');
  }
  return known;
}

/** Skips items without a key, which nobody can ask for. */
function addItems(known: Map<string, KnownItem>, items: unknown, { key, name: list }: ListKind): void {
  if (!Array.isArray(items) || isDeeperThan(items, limits.jsonDepthMax)) throw new ListFault('answer-invalid');
  for (const item of items as readonly unknown[]) {
    const name = typeof item === 'object' && item !== null ? (item as Record<string, unknown>)[key] : undefined;
    if (typeof name !== 'string') continue;
    const itemKey = list === 'tools' ? name : digestOfKey(name);
    if (!known.has(itemKey)) known.set(itemKey, { item, digest: digestOfItem(item) });
  }
}
