// How a probe asks for lists in either era of MCP: with the SDK's client in a session, or with single requests where
// there is none.
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { EventStreamParser } from '../../bytes/index.js';
import {
  CLIENT_CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  PROTOCOL_VERSION_KEY,
  MODERN_PROTOCOL_VERSION,
  type Era,
} from '../../mcp/index.js';
import { limits, PROGRAM_VERSION } from '../../shared/index.js';
import { ProbeFault } from './probe-fault.js';

type Members = Readonly<Record<string, unknown>>;

export interface ProbeClient {
  readonly era: Era;
  readonly serverInfo: Members;
  readonly capabilities: Members;
  /** Rejects with an `McpError` when the server responds with an error. */
  ask<Result>(method: string, params: Members, schema: z.ZodType<Result>): Promise<Result>;
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** What clients may have: some servers hide tools from clients that lack what these ask for. Nothing asks while lists are read. */
export const PROBED_CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

const envelope = {
  [PROTOCOL_VERSION_KEY]: MODERN_PROTOCOL_VERSION,
  [CLIENT_CAPABILITIES_KEY]: PROBED_CAPABILITIES,
  [CLIENT_INFO_KEY]: { name: 'switchyard', version: PROGRAM_VERSION },
};

const members = z.record(z.string(), z.unknown());
const discoverSchema = z.looseObject({
  supportedVersions: z.array(z.unknown()),
  capabilities: members.optional(),
  _meta: z.looseObject({ 'io.modelcontextprotocol/serverInfo': members.optional() }).optional(),
});
const answerSchema = z.looseObject({
  id: z.unknown(),
  result: z.unknown().optional(),
  error: z.looseObject({ code: z.number(), message: z.string().optional() }).optional(),
});
const typeSchema = z.looseObject({ resultType: z.literal('complete').optional() });

/** A server of MCP 2026-07-28. */
export class ModernServer implements ProbeClient {
  readonly era = 'modern';
  serverInfo: Members = {};
  capabilities: Members = {};
  readonly #url: string;
  readonly #fetch: Fetch;
  #requestCount = 0;

  private constructor(url: string, fetch: Fetch) {
    this.#url = url;
    this.#fetch = fetch;
  }

  /** Rejects if the server does not speak this version. */
  static async discover(url: string, fetch: Fetch): Promise<ModernServer> {
    const server = new ModernServer(url, fetch);
    const { supportedVersions, capabilities, _meta } = await server.ask('server/discover', {}, discoverSchema);
    if (!supportedVersions.includes(MODERN_PROTOCOL_VERSION)) throw new ProbeFault('version-unsupported');
    server.capabilities = capabilities ?? {};
    server.serverInfo = _meta?.['io.modelcontextprotocol/serverInfo'] ?? {};
    return server;
  }

  async ask<Result>(method: string, params: Members, schema: z.ZodType<Result>): Promise<Result> {
    this.#requestCount += 1;
    const id = this.#requestCount;
    const response = await this.#fetch(this.#url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': MODERN_PROTOCOL_VERSION,
        'mcp-method': method,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: envelope } }),
    });
    const answer = answerIn(await response.text(), response.headers.get('content-type') ?? '', id);
    if (answer === undefined) throw faultOf(response.status);
    if (answer.error !== undefined) throw new McpError(answer.error.code, answer.error.message ?? '');
    typeSchema.parse(answer.result);
    return schema.parse(answer.result);
  }
}

function faultOf(status: number): ProbeFault {
  return status >= 400 ? new ProbeFault('http-status', status) : new ProbeFault('answer-invalid');
}

function answerIn(text: string, contentType: string, id: number): z.infer<typeof answerSchema> | undefined {
  const texts = contentType.startsWith('text/event-stream') ? eventsIn(text) : [text];
  for (const each of texts) {
    const { success, data } = answerSchema.safeParse(parsed(each));
    if (success && String(data.id) === String(id)) return data;
  }
  return undefined;
}

function eventsIn(text: string): string[] {
  const events: string[] = [];
  new EventStreamParser((data) => void events.push(data.toString()), limits.probeBytesMax).push(Buffer.from(text));
  return events;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
