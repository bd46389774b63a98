// How many prompts and resources a server has, page by page. Nothing of them is kept. A server that declares such lists and does not
// give them is no worse for it: it serves its tools all the same.
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { limits } from '../../shared/limits.js';
import { ProbeFault } from './probe-fault.js';

type Listed = 'prompts' | 'resources';

const pageSchema = z.looseObject({
  prompts: z.array(z.unknown()).optional().catch(undefined),
  resources: z.array(z.unknown()).optional().catch(undefined),
  nextCursor: z.string().nullish(),
});

/** Throws for a list that never ends. */
export async function countItems(client: Client, listed: Listed, options: RequestOptions): Promise<number> {
  if (client.getServerCapabilities()?.[listed] === undefined) return 0;
  let count = 0;
  let cursor: string | undefined;
  for (let pages = 0; pages < limits.listPagesMax; pages++) {
    const page = await pageAt(client, listed, cursor, options);
    count += page?.[listed]?.length ?? 0;
    if (count > limits.probeToolsMax) throw new ProbeFault('answer-too-large');
    const nextCursor = page?.nextCursor;
    if (typeof nextCursor !== 'string') return count;
    if (nextCursor === cursor) break;
    cursor = nextCursor;
  }
  throw new ProbeFault('answer-invalid');
}

/** `undefined` when the server answers with an error. */
async function pageAt(
  client: Client,
  listed: Listed,
  cursor: string | undefined,
  options: RequestOptions,
): Promise<z.infer<typeof pageSchema> | undefined> {
  const params = cursor === undefined ? {} : { cursor };
  try {
    return await client.request({ method: `${listed}/list`, params }, pageSchema, options);
  } catch (error) {
    if (error instanceof McpError && options.signal?.aborted !== true) return undefined;
    throw error;
  }
}
