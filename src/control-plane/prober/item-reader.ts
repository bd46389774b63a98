// Reads a server's lists page by page, and digests each item. A server that fails to give its prompts, resources or
// templates still counts as reached.
import * as z from 'zod';
import { listKinds, type ListKind } from '../../mcp/index.js';
import { isObject, limits } from '../../shared/index.js';
import { type AllLists, digestOf, type ListName, type ServerList, serverListOf } from '../records/server-record.js';
import { ProbeFault } from './probe-fault.js';
import type { ProbedServer } from './probed-session.js';

const pageSchema = z.looseObject({ nextCursor: z.string().nullish() });
const toolsSchema = z.array(z.looseObject({ name: z.string().min(1), description: z.string().nullish() }));

/** The pages of a list, up to one without a cursor or with a cursor that was used before, and at most `limits.listPagesMax`. */
async function* pagesOf(server: ProbedServer, method: string): AsyncGenerator<z.infer<typeof pageSchema>, void> {
  const usedCursors = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 0; pages < limits.listPagesMax; pages++) {
    const page = await server
      .ask(method, cursor === undefined ? {} : { cursor }, pageSchema)
      .catch((error: unknown) => {
        if (cursor === '') return undefined;
        throw error;
      });
    // Servers may use an empty cursor like any other, or to mean that the list ends. If they give no page for it, the list has ended.
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

/** Whether a value has more than `depthMax` levels: other programs that read the store might be unable to parse it. */
export function isDeeperThan(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depthMax === 0 || Object.values(value).some((member) => isDeeperThan(member, depthMax - 1));
}

/** Rejects if the tools cannot be read. Any other list that cannot be read is `undefined`. */
export async function readLists(server: ProbedServer): Promise<AllLists & { readonly tools: ServerList }> {
  return {
    tools: serverListOf(await readItems(server, 'tools')),
    prompts: await readOptionalList(server, 'prompts'),
    resources: await readOptionalList(server, 'resources'),
    templates: await readOptionalList(server, 'templates'),
  };
}

async function readOptionalList(server: ProbedServer, name: ListName): Promise<ServerList | undefined> {
  try {
    return serverListOf(await readItems(server, name));
  } catch (error) {
    if (error instanceof ListFault || isRefusal(error)) return undefined;
    throw error;
  }
}

/** The server's response is not a list, or is too long. */
class ListFault extends ProbeFault {}

/** Items by their keys, in the server's order. Of items with the same key, the first counts. */
async function readItems(server: ProbedServer, name: ListName): Promise<Map<string, unknown>> {
  const kind = listKinds[name];
  const itemsByKey = new Map<string, unknown>();
  if (kind.allowListName === undefined || !isObject(server.capabilities[kind.allowListName])) return itemsByKey;
  for await (const page of pagesOf(server, kind.method)) {
    const items = page[kind.member];
    addItems(itemsByKey, name === 'tools' ? toolsSchema.parse(items) : items, kind);
    if (itemsByKey.size > limits.probeToolsMax) throw new ListFault('answer-too-large');
  }
  return itemsByKey;
}

/** Skips items without a key: nobody can request them. */
function addItems(itemsByKey: Map<string, unknown>, items: unknown, { key, name: list }: ListKind): void {
  if (!Array.isArray(items) || isDeeperThan(items, limits.jsonDepthMax)) throw new ListFault('answer-invalid');
  for (const item of items as readonly unknown[]) {
    const name = typeof item === 'object' && item !== null ? (item as Record<string, unknown>)[key] : undefined;
    if (typeof name !== 'string') continue;
    const itemKey = list === 'tools' ? name : digestOf(name);
    if (!itemsByKey.has(itemKey)) itemsByKey.set(itemKey, item);
  }
}
