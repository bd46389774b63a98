// How a probe asks for lists in either era of MCP: with the SDK's client, which opens a session or, where there is none, only sends requests.
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { Protocol, type RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { z } from 'zod';
import {
  CLIENT_CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  PROTOCOL_VERSION_KEY,
  MODERN_PROTOCOL_VERSION,
  type Era,
} from '../../mcp/index.js';
import { PROGRAM_VERSION } from '../../shared/index.js';

type Members = Readonly<Record<string, unknown>>;

export interface ProbeClient {
  readonly era: Era;
  readonly serverInfo: Members;
  readonly capabilities: Members;
  /** Rejects with an `McpError` when the server responds with an error. */
  ask<Result>(method: string, params: Members, schema: z.ZodType<Result>): Promise<Result>;
}

/** What clients may have: some servers hide tools from clients that lack what these ask for. Nothing asks while lists are read. */
export const PROBED_CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

const envelope = {
  [PROTOCOL_VERSION_KEY]: MODERN_PROTOCOL_VERSION,
  [CLIENT_CAPABILITIES_KEY]: PROBED_CAPABILITIES,
  [CLIENT_INFO_KEY]: { name: 'switchyard', version: PROGRAM_VERSION },
};

/** A JSON-RPC message, as far as it matters here. */
export interface ProbeMessage {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
  readonly error?: unknown;
}

/** Whether this request is of MCP 2026-07-28. */
export function isModern({ params }: ProbeMessage): boolean {
  return (params as { readonly _meta?: Members } | undefined)?._meta?.[PROTOCOL_VERSION_KEY] !== undefined;
}

const members = z.record(z.string(), z.unknown());
const discoverSchema = z.looseObject({
  supportedVersions: z.array(z.unknown()),
  capabilities: members.optional(),
  _meta: z.looseObject({ 'io.modelcontextprotocol/serverInfo': members.optional() }).optional(),
});
const typeSchema = z.looseObject({ resultType: z.literal('complete').optional() });

/** Initializes a session. */
export async function openSession(client: Client, transport: Transport, options: RequestOptions): Promise<ProbeClient> {
  await client.connect(transport, options);
  const serverInfo = { ...client.getServerVersion() };
  const capabilities = { ...client.getServerCapabilities() };
  const ask: ProbeClient['ask'] = (method, params, schema) => client.request({ method, params }, schema, options);
  return { era: 'legacy', serverInfo, capabilities, ask };
}

/** Asks a server of MCP 2026-07-28 who it is; rejects if it does not speak that version. */
export async function discover(client: Client, transport: Transport, options: RequestOptions): Promise<ProbeClient> {
  // The client's own `connect` would also initialize a session.
  await Protocol.prototype.connect.call(client, transport);
  transport.setProtocolVersion?.(MODERN_PROTOCOL_VERSION);
  const ask: ProbeClient['ask'] = async (method, params, schema) => {
    const request = { method, params: { ...params, _meta: envelope } };
    return schema.parse(await client.request(request, typeSchema, options));
  };
  const { supportedVersions, capabilities = {}, _meta } = await ask('server/discover', {}, discoverSchema);
  if (!supportedVersions.includes(MODERN_PROTOCOL_VERSION)) throw new Error('it does not speak this version');
  return { era: 'modern', serverInfo: _meta?.['io.modelcontextprotocol/serverInfo'] ?? {}, capabilities, ask };
}
