// The SDKs' clients behind one interface: with sessions (SDK 1.x), of 2026-07-28 only (2.x, pinned), and one that negotiates (2.x,
// auto). Each answers requests from the server: the user says "yes", the model "text".
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

const CLIENT_ERAS = ['legacy', 'modern', 'auto'] as const;

type ClientEra = (typeof CLIENT_ERAS)[number];

export interface CallOptions {
  readonly onProgress?: () => void;
  readonly signal?: AbortSignal;
}

export interface EraClient {
  /** As negotiated with the server. */
  readonly version: string | undefined;
  /** @returns the text of the result. */
  call(tool: string, options?: CallOptions): Promise<string>;
  /** @returns the text of its contents. */
  read(uri: string): Promise<string>;
  /** @returns the text of its first message. */
  prompt(name: string): Promise<string>;
  /** @returns the URIs that have changed since the call, in a list that grows. */
  watch(uri: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

const INFO = { name: 'matrix', version: '1.0.0' };
const CAPABILITIES = { capabilities: { elicitation: {}, sampling: {} } };
const ANSWER = { action: 'accept' as const, content: { answer: 'yes' } };
const COMPLETION = { role: 'assistant' as const, model: 'm', content: { type: 'text' as const, text: 'text' } };
const CALL_MS_MAX = 15_000;

/** A kind of client; the page names it by its label. */
export interface ClientKind {
  readonly label: string;
  /** By feature that it lacks: the reason, shown where a trial has failed. */
  readonly cannot?: Readonly<Record<string, string>>;
  connect(url: string, token: string | undefined): Promise<EraClient>;
}

export const CLIENT_KINDS: readonly ClientKind[] = CLIENT_ERAS.map((era) => ({
  label: era,
  connect: (url, token) => connectEraClient(era, url, token),
}));

async function connectEraClient(era: ClientEra, url: string, token: string | undefined): Promise<EraClient> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return era === 'legacy' ? connectLegacy(url, headers) : connectModern(era, url, headers);
}

async function connectLegacy(url: string, headers: Record<string, string>): Promise<EraClient> {
  const client = new LegacyClient(INFO, CAPABILITIES);
  const transport = new LegacyTransport(new URL(url), { requestInit: { headers } });
  const updates: string[] = [];
  client.setRequestHandler(ElicitRequestSchema, () => ANSWER);
  client.setRequestHandler(CreateMessageRequestSchema, () => COMPLETION);
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updates.push(params.uri));
  await client.connect(transport, { timeout: CALL_MS_MAX });
  return {
    version: transport.protocolVersion,
    call: async (name, { onProgress, signal } = {}) => {
      const options = { timeout: CALL_MS_MAX, ...optional(onProgress, signal) };
      return textOf(await client.callTool({ name, arguments: {} }, undefined, options));
    },
    read: async (uri) => textOfContents(await client.readResource({ uri }, { timeout: CALL_MS_MAX })),
    prompt: async (name) => textOfPrompt(await client.getPrompt({ name }, { timeout: CALL_MS_MAX })),
    watch: async (uri) => {
      await client.subscribeResource({ uri }, { timeout: CALL_MS_MAX });
      return updates;
    },
    close: async () => {
      await transport.terminateSession().catch(() => undefined);
      await client.close();
    },
  };
}

async function connectModern(era: 'modern' | 'auto', url: string, headers: Record<string, string>): Promise<EraClient> {
  const mode = era === 'auto' ? 'auto' : { pin: '2026-07-28' };
  const client = new ModernClient(INFO, { ...CAPABILITIES, versionNegotiation: { mode } });
  const updates: string[] = [];
  client.setRequestHandler('elicitation/create', () => ANSWER);
  client.setRequestHandler('sampling/createMessage', () => COMPLETION);
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => void updates.push(params.uri));
  await client.connect(new ModernTransport(new URL(url), { requestInit: { headers } }), { timeout: CALL_MS_MAX });
  return {
    version: client.getNegotiatedProtocolVersion(),
    call: async (name, { onProgress, signal } = {}) => {
      const options = { timeout: CALL_MS_MAX, ...optional(onProgress, signal) };
      return textOf(await client.callTool({ name, arguments: {} }, options));
    },
    read: async (uri) => textOfContents(await client.readResource({ uri }, { timeout: CALL_MS_MAX })),
    prompt: async (name) => textOfPrompt(await client.getPrompt({ name }, { timeout: CALL_MS_MAX })),
    watch: async (uri) => {
      if (client.getNegotiatedProtocolVersion() === '2026-07-28') {
        const { honoredFilter } = await client.listen({ resourceSubscriptions: [uri] }, { timeout: CALL_MS_MAX });
        if (!honoredFilter.resourceSubscriptions?.includes(uri)) throw new Error('the subscription was not granted');
      } else await client.subscribeResource({ uri }, { timeout: CALL_MS_MAX });
      return updates;
    },
    close: () => client.close(),
  };
}

function optional(onProgress?: () => void, signal?: AbortSignal): { onprogress?: () => void; signal?: AbortSignal } {
  return {
    ...(onProgress === undefined ? {} : { onprogress: onProgress }),
    ...(signal === undefined ? {} : { signal }),
  };
}

function textOf(result: object): string {
  const { content, isError } = result as { content?: { text?: string }[]; isError?: boolean };
  const text = content?.[0]?.text ?? JSON.stringify(result);
  if (isError === true) throw new Error(text);
  return text;
}

function textOfContents({ contents }: { readonly contents: readonly object[] }): string {
  return String((contents[0] as { text?: string } | undefined)?.text);
}

function textOfPrompt({ messages }: { readonly messages: readonly { readonly content: object }[] }): string {
  return String((messages[0]?.content as { text?: string } | undefined)?.text);
}
