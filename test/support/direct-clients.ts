// Official clients that use a server directly and through the gateway in the same way.
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Test } from 'tap';
import { Agent, fetch } from 'undici';
import type { Era } from '../../src/mcp/index.js';
import { connectSdkClient } from './sdk-client.js';
import { ignore } from './odd-server.js';

export interface Outcome {
  readonly tools: readonly string[];
  readonly counted: readonly string[];
}

/** As a host uses a server: its tools, all pages, then some calls. */
export async function use(
  client: Pick<Client, 'listTools' | 'callTool'> | ModernClient,
  prefix: string,
  settled?: () => Promise<void>,
): Promise<Outcome> {
  const tools: string[] = [];
  const cursors = new Set<string>();
  let cursor: string | undefined;
  do {
    if (cursor !== undefined) cursors.add(cursor);
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    tools.push(...page.tools.map(({ name }) => name.slice(prefix.length)));
    cursor = page.nextCursor;
  } while (cursor !== undefined && cursor !== '' && !cursors.has(cursor));
  const counted: string[] = [];
  for (let call = 0; call < 4; call++) {
    if (call === 2) await settled?.();
    const { content } = await client.callTool({ name: `${prefix}count` });
    counted.push((content as { text: string }[])[0]?.text ?? '');
  }
  return { tools, counted };
}

/** A client that keeps cookies, as those of Python do. */
export async function connectWithCookies(t: Pick<Test, 'teardown'>, url: string): Promise<Client> {
  const kept = new Map<string, string>();
  const fetchWithCookies: typeof globalThis.fetch = async (target, given = {}) => {
    const headers = new Headers(given.headers);
    if (kept.size > 0) headers.set('cookie', [...kept].map(([name, value]) => `${name}=${value}`).join('; '));
    const answer = await globalThis.fetch(target, { ...given, headers });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (!line.includes('Secure')) kept.set(name, value);
    }
    return answer;
  };
  const client = new Client({ name: 'integration', version: '1' });
  t.teardown(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: fetchWithCookies }));
  return client;
}

/** A client of this era that hears of changed prompts. */
export async function connectListening(
  t: Test,
  era: Era,
  url: string,
  token: string,
  onChanged: (error: unknown, prompts: readonly { name: string }[] | null) => void,
): Promise<Client | ModernClient> {
  const info = { name: 'integration', version: '1' };
  const listChanged = { prompts: { onChanged, autoRefresh: true } };
  if (era === 'legacy') return (await connectSdkClient(t, url, token, new Client(info, { listChanged }))).client;
  const client = new ModernClient(info, { versionNegotiation: { mode: 'auto' }, listChanged });
  t.teardown(() => client.close());
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new ModernTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

/** A client of both revisions, with a connection of its own for each request, so that every worker gets some. */
export async function connectNewClient(
  t: Pick<Test, 'teardown'>,
  url: string,
  token: string | undefined,
  onToolsChanged?: () => void,
): Promise<ModernClient> {
  const onChanged = onToolsChanged ?? ignore;
  const listChanged = { tools: { onChanged, autoRefresh: false } };
  const client = new ModernClient(
    { name: 'integration', version: '1' },
    { versionNegotiation: { mode: 'auto' }, ...(onToolsChanged !== undefined && { listChanged }) },
  );
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const agent = new Agent({ pipelining: 0 });
  const fetchAlone = ((target: string | URL, given: object) =>
    fetch(target, { ...given, dispatcher: agent })) as unknown as typeof globalThis.fetch;
  t.teardown(async () => {
    await client.close();
    await agent.destroy();
  });
  await client.connect(new ModernTransport(new URL(url), { requestInit: { headers }, fetch: fetchAlone }));
  return client;
}
