// MCP over the control plane's own endpoints, as the signed-in user: one session, whose requests are shown as they were sent.
import { EventReader } from '../model/event-reader.js';
import { ApiFault, askRaw } from './api.js';
import { token } from './session.js';

export const PROTOCOL_VERSION = '2025-11-25';

export interface RpcMessage {
  readonly jsonrpc?: '2.0';
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: { readonly code?: unknown; readonly message?: string; readonly data?: unknown };
}

/** One request as it was sent. */
export interface Wire {
  readonly url: string;
  /** Without the token. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Listener {
  readonly onWire?: (wire: Wire) => void;
  /** @param requestId under which the control plane can report on the request; `''` where it has none. */
  readonly onHead?: (status: number, requestId: string) => void;
  /** A piece of the response, as it arrives. */
  readonly onText?: (text: string) => void;
  /** Messages other than the response: progress, log messages, requests from the server. */
  readonly onMessage?: (message: RpcMessage) => void;
}

const REOPEN_MS = 1_000;
const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {} };

export class McpSession {
  readonly #path: string;
  /** Receives messages of servers that belong to no call: many servers send their requests there in the middle of a call. */
  onMessage: ((message: RpcMessage) => void) | undefined;
  readonly #ending = new AbortController();
  #sessionId = '';
  #lastId = 0;

  private constructor(path: string) {
    this.#path = path;
  }

  /** @param path `/mcp`, or the path of a composition. Throws an `ApiFault`. */
  static async open(path: string): Promise<McpSession> {
    const session = new McpSession(path);
    const clientInfo = { name: 'switchyard-console', version: '1' };
    const params = { protocolVersion: PROTOCOL_VERSION, capabilities: CAPABILITIES, clientInfo };
    await session.ask('initialize', params);
    await session.#post({ jsonrpc: '2.0', method: 'notifications/initialized' }, {});
    void session.#listen();
    return session;
  }

  /**
   * Reads all pages of a list. @param member of the result that holds the items.
   * @param onMeta gets the `_meta` of each page that has one: it names the servers whose items are missing.
   */
  async list<Item>(method: string, member: string, onMeta?: (meta: unknown) => void): Promise<Item[]> {
    const items: Item[] = [];
    let cursor: unknown;
    do {
      const result = await this.ask(method, cursor === undefined ? {} : { cursor });
      const { [member]: page, nextCursor, _meta: meta } = isObject(result) ? result : {};
      if (meta !== undefined) onMeta?.(meta);
      if (Array.isArray(page)) items.push(...(page as Item[]));
      cursor = nextCursor;
    } while (typeof cursor === 'string');
    return items;
  }

  /** Returns the result. Throws an `ApiFault` with the message of a JSON-RPC error. */
  async ask(method: string, params: Readonly<Record<string, unknown>>): Promise<unknown> {
    const { answer } = this.send(method, params, {});
    const { error, result } = await answer;
    if (error !== undefined) throw new ApiFault(200, error.message ?? 'It responded with an error without a message');
    return result;
  }

  /** Sends a request whose progress token is its own id. */
  send(
    method: string,
    params: Readonly<Record<string, unknown>>,
    listener: Listener,
    signal?: AbortSignal,
  ): SentRequest {
    const id = ++this.#lastId;
    const asked = { jsonrpc: '2.0', id, method, params: { ...params, _meta: { progressToken: id } } } as const;
    const message = method === 'initialize' ? { ...asked, params } : asked;
    return { id, answer: this.#post(message, listener, signal).then((answer) => answer ?? NO_ANSWER) };
  }

  /** Responds to a request from a server. */
  async reply(id: string | number, reply: { readonly result: object } | { readonly error: object }): Promise<void> {
    await this.#post({ jsonrpc: '2.0', id, ...reply }, {});
  }

  async cancel(requestId: number): Promise<void> {
    const params = { requestId, reason: 'cancelled in the console' };
    await this.#post({ jsonrpc: '2.0', method: 'notifications/cancelled', params }, {});
  }

  /** Fire and forget: the DELETE may arrive too late. */
  close(): void {
    this.#ending.abort();
    const headers = { authorization: `Bearer ${token.value}`, ...this.#sessionHeaders() };
    if (token.value !== '') void fetch(this.#path, { method: 'DELETE', headers, keepalive: true }).catch(() => {});
  }

  /** Reopens the stream when it ends, until the session is closed or a response refuses it. */
  async #listen(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      const headers = { accept: 'text/event-stream', ...this.#sessionHeaders() };
      const fault = await askRaw(this.#path, { headers, signal })
        .then((response) => readAnswer(response, undefined, { onMessage: (message) => this.onMessage?.(message) }))
        .then(() => undefined)
        .catch((error: unknown) => error);
      if (fault instanceof ApiFault && fault.status !== 0) return;
      await new Promise((resolve) => setTimeout(resolve, REOPEN_MS));
    }
  }

  #sessionHeaders(): Record<string, string> {
    const version = { 'mcp-protocol-version': PROTOCOL_VERSION };
    return this.#sessionId === '' ? {} : { 'mcp-session-id': this.#sessionId, ...version };
  }

  /** @returns the message whose id is that of the request. */
  async #post(message: RpcMessage, listener: Listener, signal?: AbortSignal): Promise<RpcMessage | undefined> {
    const accept = 'application/json, text/event-stream';
    const headers = { 'content-type': 'application/json', accept, ...this.#sessionHeaders() };
    const body = JSON.stringify(message);
    listener.onWire?.({ url: new URL(this.#path, location.href).href, headers, body });
    const response = await askRaw(this.#path, { method: 'POST', text: body, headers, ...(signal && { signal }) });
    listener.onHead?.(response.status, response.headers.get('x-request-id') ?? '');
    this.#sessionId = response.headers.get('mcp-session-id') ?? this.#sessionId;
    return readAnswer(response, message.id, listener);
  }
}

export interface SentRequest {
  readonly id: number;
  readonly answer: Promise<RpcMessage>;
}

const NO_ANSWER: RpcMessage = { error: { message: 'The stream ended before the response came' } };

async function readAnswer(
  response: Response,
  id: RpcMessage['id'],
  listener: Listener,
): Promise<RpcMessage | undefined> {
  if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
    const text = await response.text();
    listener.onText?.(text);
    return text === '' ? undefined : messageIn(text);
  }
  const events = new EventReader();
  const pieces = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let answer: RpcMessage | undefined;
  for (;;) {
    const { value, done } = (await pieces?.read()) ?? { value: undefined, done: true };
    if (done || value === undefined) return answer;
    listener.onText?.(value);
    for (const { data } of events.read(value)) {
      const message = messageIn(data);
      const isAnswer = id !== undefined && message.id === id && message.method === undefined;
      if (isAnswer) answer = message;
      else listener.onMessage?.(message);
    }
  }
}

function messageIn(text: string): RpcMessage {
  try {
    const message = JSON.parse(text) as unknown;
    return isObject(message) ? shaped(message) : {};
  } catch {
    return { error: { message: 'Its response is not JSON' } };
  }
}

/** Servers may send members of any type: a member of the wrong type is left out. */
function shaped({ id, method, params, error, ...rest }: Readonly<Record<string, unknown>>): RpcMessage {
  return {
    ...rest,
    ...((typeof id === 'string' || typeof id === 'number') && { id }),
    ...(typeof method === 'string' && { method }),
    ...(isObject(params) && { params }),
    ...(error !== undefined && error !== null && { error: errorOf(error) }),
  };
}

function errorOf(said: unknown): NonNullable<RpcMessage['error']> {
  if (!isObject(said)) return { message: JSON.stringify(said) };
  const { message, ...rest } = said;
  return {
    ...rest,
    ...(message !== undefined && { message: typeof message === 'string' ? message : JSON.stringify(message) }),
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
