// The server that the suite's scenarios of 2026-07-28 drive. It is built on the tests' own backend of that revision, not on
// the SDK's server: the latter's interpretations would be taken for the gateway's.
import { setTimeout as sleep } from 'node:timers/promises';
import { isJson, META, type Json } from '../support/modern-ladder.js';
import { startModernBackend, type ModernBackend, type ModernRequest } from '../support/modern-backend.js';
import { getPrompt, plainResult, readResource, text } from './fixture-answers.js';
import { prompts, resources, resourceTemplates, tools } from './fixture-offers.js';
import { isLocal, type Fixture } from './fixture.js';
import { ASKING_PROMPT, askingTools, converse, invalid, missingCapability } from './modern-questions.js';

const STEP_MS = 50;
const CACHE = { ttlMs: 0, cacheScope: 'private' } as const;
/** Tools of `fixture-offers.ts` that send requests to the client as legacy servers do. */
const LEGACY_ONLY = /^test_(sampling|elicitation|elicitation_\w+|reconnection)$/;
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

export async function startModernFixture(): Promise<Fixture> {
  const backend: ModernBackend = await startModernBackend({
    name: 'conformance-fixture',
    tools: offeredTools(),
    cache: CACHE,
    capabilities: {
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      prompts: { listChanged: true },
      logging: {},
      completions: {},
    },
    onRequest: (request) => {
      const host = request.headers['host'] ?? '';
      const { localPort } = request.connection;
      if ([`127.0.0.1:${localPort}`, `localhost:${localPort}`].includes(host) && isLocal(request.headers['origin']))
        return false;
      request.empty(403);
      return true;
    },
    onCall: (call) => callTool(backend, call),
    methods: {
      'resources/list': () => ({ resources, ...CACHE }),
      'resources/templates/list': () => ({ resourceTemplates, ...CACHE }),
      'resources/read': ({ params }) => {
        const uri = String(params['uri']);
        const result = readResource(uri);
        return result === undefined ? invalid(`Resource not found: ${uri}`, { uri }) : { ...result, ...CACHE };
      },
      'prompts/list': () => ({ prompts: [...prompts, { name: ASKING_PROMPT, description: 'Asks first' }], ...CACHE }),
      'prompts/get': promptOf,
      'completion/complete': ({ params }) => {
        const value = isJson(params['argument']) ? String(params['argument']['value']) : '';
        return { completion: { values: [`${value}-completed`, `${value}-other`], hasMore: false } };
      },
    },
  });
  return { url: backend.url, close: () => void backend.close() };
}

function offeredTools(): Json[] {
  const inputSchema = { type: 'object', properties: {} };
  const named = (name: string, description: string): Json => ({ name, description, inputSchema });
  return [
    ...tools.filter(isJson).filter(({ name }) => !LEGACY_ONLY.test(String(name))),
    ...askingTools.map((name) => named(name, 'Asks first')),
    named('test_missing_capability', 'Needs a client that can be asked for a completion'),
    named('test_logging_tool', 'Logs, when the request has a level'),
    named('test_trigger_tool_change', 'Tells whoever listens that the tools have changed'),
    named('test_trigger_prompt_change', 'Tells whoever listens that the prompts have changed'),
    {
      name: 'test_custom_header',
      description: 'Has a parameter that a header mirrors',
      inputSchema: {
        type: 'object',
        properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
        required: ['region'],
      },
    },
  ];
}

async function callTool(backend: ModernBackend, call: ModernRequest): Promise<unknown> {
  if (call.name === 'test_streaming_elicitation') call.openStream();
  const asked = converse(call, (answers) => ({ content: [text(`state-ok ${JSON.stringify(answers)}`)] }));
  if (asked !== undefined) return asked;
  const plain = plainResult(call.name);
  if (plain !== undefined) return plain;
  switch (call.name) {
    case 'test_tool_with_logging':
    case 'test_logging_tool':
      for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await log(call, data);
        await sleep(STEP_MS);
      }
      return { content: [text('Logged three times')] };
    case 'test_tool_with_progress':
      await reportProgress(call);
      return { content: [text(String(call.meta['progressToken']))] };
    case 'test_missing_capability':
      return call.capabilities['sampling'] === undefined
        ? missingCapability(['sampling'])
        : { content: [text('The client can be asked')] };
    case 'test_trigger_tool_change':
      await backend.announce('notifications/tools/list_changed');
      return { content: [text('Told')] };
    case 'test_trigger_prompt_change':
      await backend.announce('notifications/prompts/list_changed');
      return { content: [text('Told')] };
    case 'json_schema_2020_12_tool':
    case 'test_custom_header':
      return { content: [text(call.argumentsText ?? '')] };
    default:
      return invalid(`Unknown tool: ${call.name}`);
  }
}

async function log(call: ModernRequest, data: string): Promise<void> {
  const wanted = LEVELS.indexOf(String(call.meta[`${META}logLevel`]));
  if (wanted === -1 || wanted > LEVELS.indexOf('info')) return;
  await call.notify('notifications/message', { level: 'info', data });
}

async function reportProgress(call: ModernRequest): Promise<void> {
  const { progressToken } = call.meta;
  if (progressToken === undefined) return;
  for (const progress of [0, 50, 100]) {
    const message = `Completed step ${progress} of 100`;
    await call.notify('notifications/progress', { progressToken, progress, total: 100, message });
    await sleep(STEP_MS);
  }
}

function promptOf(request: ModernRequest): unknown {
  const asked = converse(request, (answers) => ({
    messages: [{ role: 'user', content: text(`In this context: ${JSON.stringify(answers)}`) }],
  }));
  if (asked !== undefined) return asked;
  const given = isJson(request.params['arguments']) ? request.params['arguments'] : {};
  const texts = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]));
  return getPrompt(request.name, texts) ?? invalid(`Unknown prompt: ${request.name}`);
}
