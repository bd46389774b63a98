// What the suite's client does in each of the suite's client scenarios of 2026-07-28. A client of that revision runs each, and then a
// legacy one: for that one the gateway writes the envelopes and mirror headers, and relays the questions of the suite's server.
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { BACKEND } from './client-setup.js';

export const CLIENT_ERAS = ['modern', 'legacy'] as const;

export type ClientEra = (typeof CLIENT_ERAS)[number];

type Arguments = Record<string, unknown>;

/** What the clients of both SDKs have in common. */
interface SuiteClient {
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  callTool(params: { readonly name: string; readonly arguments: Arguments }): Promise<unknown>;
  listResources(): Promise<{ readonly resources: readonly { readonly uri: string }[] }>;
  readResource(params: { readonly uri: string }): Promise<unknown>;
  listPrompts(): Promise<{ readonly prompts: readonly { readonly name: string }[] }>;
  getPrompt(params: { readonly name: string }): Promise<unknown>;
  close(): Promise<void>;
}

/** What the suite says about a scenario, in an environment variable of the client. */
interface Context {
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: Arguments }[];
}

const call = (client: SuiteClient, tool: string, given: Arguments = {}): Promise<unknown> =>
  client.callTool({ name: `${BACKEND}-${tool}`, arguments: given });

export const modernSteps: Readonly<Record<string, (client: SuiteClient, context: Context) => Promise<unknown>>> = {
  tools_call: async (client) => {
    await client.listTools();
    await call(client, 'add_numbers', { a: 5, b: 3 });
  },
  'request-metadata': async (client) => client.listTools(),
  'http-standard-headers': async (client) => {
    for (const { name } of (await client.listTools()).tools) await client.callTool({ name, arguments: {} });
    for (const { uri } of (await client.listResources()).resources) await client.readResource({ uri });
    for (const { name } of (await client.listPrompts()).prompts) await client.getPrompt({ name });
  },
  'http-custom-headers': async (client, { toolCalls = [] }) => {
    await client.listTools();
    for (const { name, arguments: given } of toolCalls) await call(client, name, given);
  },
  // Calls every listed tool: an invalid one must not be listed.
  'http-invalid-tool-headers': async (client) => {
    for (const { name } of (await client.listTools()).tools)
      await client.callTool({ name, arguments: { region: 'eu' } });
  },
  'sep-2322-client-request-state': async (client) => {
    await client.listTools();
    await call(client, 'test_mrtr_echo_state');
    await call(client, 'test_mrtr_no_state');
    await call(client, 'test_mrtr_unrelated');
    await call(client, 'test_mrtr_no_result_type');
  },
  'json-schema-ref-no-deref': async (client) => client.listTools(),
};

const INFO = { name: 'conformance', version: '1.0.0' };
const CAPABILITIES = { capabilities: { elicitation: {} } };
const ANSWER = { action: 'accept' as const, content: { confirmed: true } };

export async function connectClient(era: ClientEra, url: string, token: string): Promise<SuiteClient> {
  const options = { requestInit: { headers: { authorization: `Bearer ${token}` } } };
  if (era === 'modern') {
    const client = new ModernClient(INFO, { ...CAPABILITIES, versionNegotiation: { mode: { pin: '2026-07-28' } } });
    client.setRequestHandler('elicitation/create', () => ANSWER);
    await client.connect(new ModernTransport(new URL(url), options));
    return client;
  }
  const client = new LegacyClient(INFO, CAPABILITIES);
  client.setRequestHandler(ElicitRequestSchema, () => ANSWER);
  await client.connect(new LegacyTransport(new URL(url), options));
  return client;
}
