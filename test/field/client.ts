// A client as a program of its own, `client.js KIND`: carries out plans, one line of JSON each, and reports what it saw. The kinds are
// the TypeScript SDKs, programs that contain one, and plain HTTP, which reports JSON as it was sent.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import type { Client as SdkClient } from '@modelcontextprotocol/sdk/client/index.js';
import type * as sse from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type * as http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type * as sdkTypes from '@modelcontextprotocol/sdk/types.js';
import { readEvents } from '../support/event-stream.js';
import { memberText } from '../support/json-text.js';
import { importSdk, modules, type Plan, type Report, type StepName, type StepReport } from './plan.js';

const [kind = '', scratch = ''] = process.argv.slice(2);
const STEP_MS_MAX = 15_000;
const INFO = { name: 'field', version: '1.0.0' };
const run = promisify(execFile);

type Words = Readonly<Record<string, unknown>>;

interface Connection {
  readonly version?: string | undefined;
  /** Without a step that the client lacks. */
  readonly steps: { readonly [step in StepName]?: ((name: string, words: Words) => Promise<unknown>) | undefined };
  close(): Promise<void>;
}

const KINDS: Readonly<Record<string, (plan: Plan) => Promise<Connection>>> = {
  modern: connectModern,
  'mcp-remote': (plan) => connectSdk('sdk', plan, true),
  inspector: connectInspector,
  raw: connectRaw,
};

for await (const line of ready()) {
  const { id, name } = JSON.parse(line) as { id: number; name: string };
  tell({ id, text: JSON.stringify(await carryOut(JSON.parse(name) as Plan)) });
}
process.exit(0);

function ready(): AsyncIterable<string> {
  // Standard output is for reports.
  Object.assign(console, { log: () => undefined, info: () => undefined, debug: () => undefined });
  // Old SDKs let failures of streams that nobody waits for escape.
  process.on('unhandledRejection', () => undefined);
  tell({ event: 'ready' });
  return createInterface({ input: process.stdin });
}

function tell(said: object): void {
  process.stdout.write(`${JSON.stringify(said)}\n`);
}

async function carryOut(plan: Plan): Promise<Report> {
  const steps: StepReport[] = [];
  let connection: Connection | undefined;
  try {
    connection = await inTime((KINDS[kind] ?? ((given) => connectSdk(kind, given, false)))(plan));
    for (const [step, name = '', words = {}] of plan.steps) {
      const take = connection.steps[step];
      if (take === undefined) steps.push({ lacks: step });
      else
        steps.push(
          await inTime(take(name, words)).then(
            (value) => ({ value }),
            (error: unknown) => ({ error: wordsOf(error) }),
          ),
        );
    }
    return { version: connection.version, steps };
  } catch (error) {
    return { steps, ended: wordsOf(error) };
  } finally {
    await inTime(connection?.close() ?? Promise.resolve()).catch(() => undefined);
  }
}

async function inTime<Value>(task: Promise<Value>): Promise<Value> {
  const late = new AbortController();
  const lateness = sleep(STEP_MS_MAX, undefined, { signal: late.signal }).then(() => {
    throw new Error(`nothing came in ${STEP_MS_MAX / 1_000} s`);
  });
  lateness.catch(() => undefined);
  return Promise.race([task, lateness]).finally(() => late.abort());
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function headersOf({ token }: Plan): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/** @param sdk the folder of the SDK among the tools, or the project's own. */
async function connectSdk(sdk: string, plan: Plan, isBridged: boolean): Promise<Connection> {
  const { Client } = await importSdk<{ Client: typeof SdkClient }>(sdk, 'client/index.js');
  const types = await importSdk<typeof sdkTypes>(sdk, 'types.js');
  const options = { requestInit: { headers: headersOf(plan) } };
  const client = new Client(INFO, { capabilities: { elicitation: {} } });
  // The oldest does not know the question.
  if (types.ElicitRequestSchema !== undefined)
    client.setRequestHandler(types.ElicitRequestSchema, () => ({ action: 'accept', content: plan.answer ?? {} }));
  const url = new URL(plan.url);
  if (isBridged) await client.connect(bridgeTo(plan));
  else if (url.pathname.endsWith('/sse')) {
    const { SSEClientTransport } = await importSdk<typeof sse>(sdk, 'client/sse.js');
    await client.connect(new SSEClientTransport(url, options));
  } else {
    const { StreamableHTTPClientTransport } = await importSdk<typeof http>(sdk, 'client/streamableHttp.js');
    const transport = new StreamableHTTPClientTransport(url, options);
    await client.connect(transport);
  }
  const connection = stepsOf(client, (params, onprogress) => client.callTool(params, undefined, { onprogress }));
  return {
    ...connection,
    // Behind the bridge, reports that come just before the answer are lost now and then, whatever the server.
    steps: { ...connection.steps, ...(isBridged && { progress: undefined }) },
    version: (client.transport as { protocolVersion?: string }).protocolVersion,
  };
}

function bridgeTo({ url, token }: Plan): StdioClientTransport {
  const header = token === undefined ? [] : ['--header', `Authorization:Bearer ${token}`];
  const program = join(modules, 'mcp-remote', 'dist', 'proxy.js');
  const transport = url.endsWith('/sse') ? 'sse-only' : 'http-only';
  return new StdioClientTransport({
    command: process.execPath,
    args: [program, url, '--allow-http', '--transport', transport, ...header],
    env: { ...(process.env as Record<string, string>), MCP_REMOTE_CONFIG_DIR: scratch },
    stderr: 'ignore',
  });
}

async function connectModern(plan: Plan): Promise<Connection> {
  const capabilities = { elicitation: {} };
  const client = new ModernClient(INFO, { capabilities, versionNegotiation: { mode: 'auto' } });
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: plan.answer ?? {} }));
  await client.connect(new ModernTransport(new URL(plan.url), { requestInit: { headers: headersOf(plan) } }));
  return {
    ...stepsOf(client, (params, onprogress) => client.callTool(params, { onprogress })),
    version: client.getNegotiatedProtocolVersion(),
  };
}

type Listing = Record<string, unknown> & { nextCursor?: string | undefined };

/** What the clients of both SDKs have in common. */
interface AnyClient {
  listTools(params: { cursor?: string }): Promise<object>;
  listPrompts(params: { cursor?: string }): Promise<object>;
  listResources(params: { cursor?: string }): Promise<object>;
  listResourceTemplates(params: { cursor?: string }): Promise<object>;
  getPrompt(params: { name: string; arguments: Record<string, string> }): Promise<unknown>;
  readResource(params: { uri: string }): Promise<unknown>;
  close(): Promise<void>;
}

type Call = (params: { name: string; arguments: Words }, onProgress: (at: unknown) => void) => Promise<unknown>;

function stepsOf(client: AnyClient, call: Call): Connection {
  const all = async (list: (params: { cursor?: string }) => Promise<object>, member: string): Promise<unknown> => {
    const found: unknown[] = [];
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = (await list(cursor === undefined ? {} : { cursor })) as Listing;
      found.push(...(page[member] as unknown[]));
      cursor = page.nextCursor;
    }
    return found;
  };
  return {
    steps: {
      tools: () => all((params) => client.listTools(params), 'tools'),
      prompts: () => all((params) => client.listPrompts(params), 'prompts'),
      resources: () => all((params) => client.listResources(params), 'resources'),
      templates: () => all((params) => client.listResourceTemplates(params), 'resourceTemplates'),
      call: (name, words) => call({ name, arguments: words }, () => undefined),
      ask: (name, words) => call({ name, arguments: words }, () => undefined),
      progress: async (name, words) => {
        const reports: unknown[] = [];
        return [await call({ name, arguments: words }, (at) => reports.push(at)), reports];
      },
      prompt: (name, words) => client.getPrompt({ name, arguments: words as Record<string, string> }),
      read: (uri) => client.readResource({ uri }),
    },
    close: () => client.close(),
  };
}

/** Each step is a run of the program. */
async function connectInspector(plan: Plan): Promise<Connection> {
  const folder = join(modules, '@modelcontextprotocol', 'inspector-cli', 'build');
  const transport = ['--transport', plan.url.endsWith('/sse') ? 'sse' : 'http'];
  const headers = Object.entries(headersOf(plan)).flatMap(([name, value]) => ['--header', `${name}: ${value}`]);
  const inspect = async (...words: string[]): Promise<unknown> => {
    const line = [join(folder, 'index.js'), plan.url, ...transport, ...headers, ...words];
    // It looks for its manifest from where it is started.
    const { stdout } = await run(process.execPath, line, { cwd: folder }).catch(({ stderr }: { stderr: string }) => {
      throw new Error(stderr.trim().split('\n').at(-1));
    });
    return JSON.parse(stdout);
  };
  const argumentsOf = (words: Words): string[] =>
    Object.entries(words).flatMap(([name, value]) => [
      '--tool-arg',
      `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    ]);
  return {
    steps: {
      tools: async () => ((await inspect('--method', 'tools/list')) as Listing)['tools'],
      call: (name, words) => inspect('--method', 'tools/call', '--tool-name', name, ...argumentsOf(words)),
    },
    close: async () => undefined,
  };
}

async function connectRaw({ url, ...plan }: Plan): Promise<Connection> {
  if (url.endsWith('/sse')) throw new Error('plain HTTP posts to one URL');
  const headers: Record<string, string> = {
    ...headersOf({ url, ...plan }),
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const post = async (body: object): Promise<string> => {
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...body }) });
    const session = answer.headers.get('mcp-session-id');
    if (session !== null) headers['mcp-session-id'] = session;
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (!answer.ok) throw new Error(`${answer.status} ${bytes.toString()}`);
    if (!(answer.headers.get('content-type') ?? '').includes('event-stream')) return bytes.toString();
    return readEvents(bytes).find((data) => memberText(data, 'id') === '1') ?? '';
  };
  const ask = async (method: string, params: Words): Promise<string> => {
    const text = await post({ id: 1, method, params });
    const result = memberText(text, 'result');
    if (result === undefined) throw new Error(memberText(text, 'error') ?? text);
    return result;
  };
  const begun = await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: INFO });
  const { protocolVersion: version } = JSON.parse(begun) as { protocolVersion: string };
  headers['mcp-protocol-version'] = version;
  await post({ method: 'notifications/initialized' });
  return {
    version,
    steps: {
      tools: async () => {
        const found: object[] = [];
        for (let params: Words | undefined = {}; params !== undefined;) {
          const page = await ask('tools/list', params);
          found.push(...elementsOf(memberText(page, 'tools') ?? '[]').map(asSent));
          const cursor = memberText(page, 'nextCursor');
          params = cursor === undefined ? undefined : { cursor: JSON.parse(cursor) as string };
        }
        return found;
      },
      call: async (name, words) => JSON.parse(await ask('tools/call', { name, arguments: words })) as unknown,
    },
    close: async () => void (await fetch(url, { method: 'DELETE', headers })),
  };
}

/** A tool with the text of each member but its name. */
function asSent(tool: string): object {
  const members = Object.keys(JSON.parse(tool) as object);
  return Object.fromEntries(
    members.map((name) => [name, name === 'name' ? JSON.parse(memberText(tool, name)!) : memberText(tool, name)]),
  );
}

/** The texts of an array's elements. */
function elementsOf(array: string): string[] {
  const found: string[] = [];
  let [depth, start] = [0, 1];
  for (const { 0: token, index } of array.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],]/gs)) {
    if (token === '{' || token === '[') depth += 1;
    if (token === '}' || token === ']') depth -= 1;
    if ((token === ',' && depth === 1) || depth === 0) {
      const element = array.slice(start, index).trim();
      if (element !== '') found.push(element);
      start = index + 1;
    }
  }
  return found;
}
