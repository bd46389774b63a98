// A caller of one virtual host at the HTTP level: sends what an MCP client sends by default; a test may replace or leave out
// any part. Each request takes a connection of its own, so that with several workers it often reaches one that does not own
// the session.
import { readEvents } from './event-stream.js';
import { send, type HeaderList, type HttpAnswer } from './raw-http.js';

export const BOTH_FORMS = 'application/json, text/event-stream';
export const PROTOCOL_VERSION = '2025-11-25';

export interface RequestParts {
  readonly method?: string;
  readonly path?: string;
  /** `null` leaves a header out. */
  readonly token?: string | null;
  readonly session?: string | null;
  readonly accept?: string | null;
  readonly contentType?: string | null;
  readonly protocolVersion?: string | null;
  readonly headers?: HeaderList;
  readonly body?: string | Uint8Array;
}

export interface InitializeParts extends RequestParts {
  /** The `params` of the request as JSON text. */
  readonly params?: string;
}

export const INITIALIZE_PARAMS = `{"protocolVersion":"${PROTOCOL_VERSION}","capabilities":{},"clientInfo":{"name":"spec","version":"1.0.0"}}`;

export class McpCaller {
  readonly origin: string;
  readonly path: string;
  token: string;

  constructor(origin: string, path: string, token: string) {
    this.origin = origin;
    this.path = path;
    this.token = token;
  }

  /** The request as it would be sent. */
  request(parts: RequestParts = {}): { method: string; path: string; headers: HeaderList; body?: string | Uint8Array } {
    const method = parts.method ?? 'POST';
    const hasBody = method === 'POST';
    const headers: (readonly [string, string])[] = [];
    const add = (name: string, value: string | null): void => {
      if (value !== null) headers.push([name, value]);
    };
    const { token = this.token } = parts;
    add('authorization', token === null ? null : `Bearer ${token}`);
    if (hasBody) add('content-type', parts.contentType === undefined ? 'application/json' : parts.contentType);
    add('accept', parts.accept === undefined ? BOTH_FORMS : parts.accept);
    add('mcp-session-id', parts.session ?? null);
    const defaultVersion = (parts.session ?? null) === null ? null : PROTOCOL_VERSION;
    add('mcp-protocol-version', parts.protocolVersion === undefined ? defaultVersion : parts.protocolVersion);
    headers.push(...(parts.headers ?? []));
    const head = { method, path: parts.path ?? this.path, headers };
    return hasBody ? { ...head, body: parts.body ?? '' } : head;
  }

  /** Sends a request on a fresh connection and reads its whole answer. */
  async send(parts: RequestParts = {}): Promise<HttpAnswer> {
    return send(this.origin, this.request(parts));
  }

  async initialize({ params = INITIALIZE_PARAMS, ...parts }: InitializeParts = {}): Promise<HttpAnswer> {
    return this.send({ body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":${params}}`, ...parts });
  }

  /** Opens, initializes and confirms a session. Throws when either request is refused. */
  async openSession(parts: InitializeParts = {}): Promise<McpSession> {
    const answer = await this.initialize(parts);
    const id = answer.header('mcp-session-id');
    if (answer.status !== 200 || id === undefined) throw new Error(`no session: ${answer.status} ${answer.text}`);
    const session = new McpSession(this, id, answer);
    const confirmed = await session.send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    if (confirmed.status !== 202) throw new Error(`not confirmed: ${confirmed.status} ${confirmed.text}`);
    return session;
  }
}

export class McpSession {
  readonly caller: McpCaller;
  readonly id: string;
  /** The answer to `initialize`. */
  readonly opening: HttpAnswer;

  constructor(caller: McpCaller, id: string, opening: HttpAnswer) {
    this.caller = caller;
    this.id = id;
    this.opening = opening;
  }

  /** Posts a body within the session. */
  async send(body: string | Uint8Array, parts: RequestParts = {}): Promise<HttpAnswer> {
    return this.caller.send({ session: this.id, body, ...parts });
  }

  /** Calls a tool; `args` is the JSON text of `arguments`, `id` the JSON text of the request's id. */
  async call(tool: string, args = '{}', parts: RequestParts & { readonly id?: string } = {}): Promise<HttpAnswer> {
    const { id = '7', ...rest } = parts;
    const params = `{"name":${JSON.stringify(tool)},"arguments":${args}}`;
    return this.send(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`, rest);
  }

  async list(parts: RequestParts = {}): Promise<HttpAnswer> {
    return this.send('{"jsonrpc":"2.0","id":5,"method":"tools/list"}', parts);
  }

  /** The names in `tools/list`, in the order of the response. */
  async toolNames(): Promise<string[]> {
    const { result } = rpc(await this.list());
    const tools = (result as { tools?: { name: string }[] } | undefined)?.tools;
    if (tools === undefined) throw new Error('the answer to tools/list has no tools');
    return tools.map(({ name }) => name);
  }

  async delete(parts: RequestParts = {}): Promise<HttpAnswer> {
    return this.caller.send({ session: this.id, method: 'DELETE', ...parts });
  }
}

export interface RpcMessage {
  readonly jsonrpc?: unknown;
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** The JSON text of a response's last message, whether it came as one object or as an event stream. */
export function answerText(answer: HttpAnswer): string {
  if (answer.contentType === 'application/json') return answer.text;
  const last = answer.contentType === 'text/event-stream' ? readEvents(answer.body).at(-1) : undefined;
  if (last === undefined) throw new Error(`no message: ${answer.status} ${answer.contentType} ${answer.text}`);
  return last;
}

/** The JSON-RPC response in an HTTP response. */
export function rpc(answer: HttpAnswer): RpcMessage {
  return JSON.parse(answerText(answer)) as RpcMessage;
}
