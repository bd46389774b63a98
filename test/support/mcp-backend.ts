// An MCP backend written by hand on a raw HTTP backend, so that tests decide how it answers: as JSON or as events, in any
// framing, with sessions or without, in pages. It keeps every byte that it received.
//
//   const backend = await startMcpBackend({ tools: ['add', 'sub'], answerAs: 'event-stream', lineEnd: '\r\n' });
//   ... backend.url ... backend.calls[0]?.argumentsText ... backend.forgetSessions() ...
//
// Every tool echoes: the result's text and its `structuredContent` are the exact bytes of the arguments. Give `onCall`
// for anything else.
import { randomUUID } from 'node:crypto';
import { encodeJson, JsonText, memberText } from './json-text.js';
import { encodeEvent, RawBackend, type LineEnd, type ReceivedRequest } from './raw-backend.js';

export interface McpBackendOptions {
  /** PEM texts; the backend then speaks TLS. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** `serverInfo.name`. */
  readonly name?: string;
  /** A plain name gets a schema; an object is listed unchanged; a `JsonText` is listed verbatim and must contain a `name`. */
  readonly tools?: readonly (string | Readonly<Record<string, unknown>> | JsonText)[];
  /** Tools per page of `tools/list`; all on one page unless given. */
  readonly pageSize?: number;
  /** The version that `initialize` answers, whatever the client offers. */
  readonly protocolVersion?: string;
  readonly capabilities?: Readonly<Record<string, unknown>>;
  /** Additional members of the `initialize` result, such as `instructions`. */
  readonly initializeExtras?: Readonly<Record<string, unknown>>;
  /** True: issues a session id, and refuses requests without one (400) or with an unknown one (404). */
  readonly withSessions?: boolean;
  readonly answerAs?: 'json' | 'event-stream';
  /** How bodies are framed. `one-byte`: chunked, each byte a chunk in a packet of its own. */
  readonly framing?: Framing;
  /** The line end in event streams. */
  readonly lineEnd?: LineEnd;
  /** Event streams begin with an event that has an id and no data, as 2025-11-25 asks of servers. */
  readonly withPriming?: boolean;
  /** Returns the `result`; `undefined` echoes. It may send messages to the caller first, or take over the answer. */
  readonly onCall?: (call: ReceivedCall) => unknown;
  /** Answers to other methods, from the text of their params: a result, or a `Failure`. */
  readonly methods?: Readonly<Record<string, (params: string | undefined) => unknown>>;
  /** Sees every request first; `true` means that it has answered the request, or never will. */
  readonly onRequest?: (request: ReceivedRequest) => boolean | Promise<boolean>;
}

/** Returned in place of a result, makes the answer an error; `error` may be a `JsonText`. */
export class Failure {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

export type Framing = 'length' | 'chunked' | 'one-byte';

export async function startMcpBackend(options: McpBackendOptions = {}): Promise<McpBackend> {
  const backend = new McpBackend(options);
  await backend.raw.listenAgain();
  return backend;
}

export class McpBackend {
  /** The raw backend: requests, connections, resets, refusing to listen. */
  readonly raw: RawBackend;
  /** Every `tools/call`, in order. */
  readonly calls: ReceivedCall[] = [];
  /** Ids that were issued and neither deleted nor forgotten. */
  readonly sessions = new Set<string>();
  /** Ids that were ended with DELETE. */
  readonly deletedSessions: string[] = [];
  readonly #options: McpBackendOptions;

  constructor(options: McpBackendOptions) {
    this.#options = options;
    this.raw = new RawBackend(
      (request) => this.#onRequest(request),
      options.tls === undefined ? {} : { tls: options.tls },
    );
  }

  get url(): string {
    return this.raw.url;
  }

  /** The requests with one JSON-RPC method, such as `initialize`. */
  requestsOf(method: string): ReceivedRequest[] {
    return this.raw.requests.filter((request) => methodOf(request) === method);
  }

  /** Loses every session, as a restart would: the next request of each is answered 404. */
  forgetSessions(): void {
    this.sessions.clear();
  }

  async close(): Promise<void> {
    await this.raw.close();
  }

  async #onRequest(request: ReceivedRequest): Promise<void> {
    if (await this.#options.onRequest?.(request)) return;
    if (request.method === 'DELETE') return this.#onDelete(request);
    if (request.method !== 'POST') return request.empty(405, { allow: 'POST, DELETE' });
    const method = methodOf(request);
    if (method !== 'initialize' && this.#isRefused(request)) return;
    const answer = new McpAnswer(request, this.#options);
    if (method === undefined || !answer.isExpected) return request.empty(202);
    switch (method) {
      case 'initialize':
        return answer.result(this.#initializeResult(), this.#newSession());
      case 'ping':
        return answer.result({});
      case 'tools/list':
        return answer.result(this.#listPage(memberText(request.text, 'params', 'cursor')));
      case 'tools/call':
        return this.#onCall(request, answer);
      default: {
        const respond = this.#options.methods?.[method];
        if (respond !== undefined) return answer.value(respond(memberText(request.text, 'params')));
        return answer.error(-32601, `Method not found: ${method}`);
      }
    }
  }

  #onDelete(request: ReceivedRequest): void {
    if (this.#isRefused(request)) return;
    const id = request.headers['mcp-session-id'] ?? '';
    this.sessions.delete(id);
    this.deletedSessions.push(id);
    request.empty(200);
  }

  /** Answers 400 or 404 itself when the session id is missing or unknown. */
  #isRefused(request: ReceivedRequest): boolean {
    if (this.#options.withSessions !== true) return false;
    const id = request.headers['mcp-session-id'];
    if (id !== undefined && this.sessions.has(id)) return false;
    request.empty(id === undefined ? 400 : 404);
    return true;
  }

  #newSession(): Record<string, string> {
    if (this.#options.withSessions !== true) return {};
    const id = randomUUID();
    this.sessions.add(id);
    return { 'mcp-session-id': id };
  }

  #initializeResult(): unknown {
    return {
      protocolVersion: this.#options.protocolVersion ?? '2025-11-25',
      capabilities: this.#options.capabilities ?? { tools: {} },
      serverInfo: { name: this.#options.name ?? 'backend', version: '1.0.0' },
      ...this.#options.initializeExtras,
    };
  }

  /** The cursor is the index of the page's first tool. */
  #listPage(cursor: string | undefined): JsonText {
    const tools = this.#options.tools ?? ['echo'];
    const start = cursor === undefined ? 0 : Number(JSON.parse(cursor));
    const end = start + (this.#options.pageSize ?? tools.length);
    const page = tools.slice(start, end).map((tool) => (typeof tool === 'string' ? describeTool(tool) : tool));
    const nextCursor = end < tools.length ? `,"nextCursor":"${end}"` : '';
    return new JsonText(`{"tools":[${page.map(encodeJson).join(',')}]${nextCursor}}`);
  }

  async #onCall(request: ReceivedRequest, answer: McpAnswer): Promise<void> {
    const call = new ReceivedCall(request, answer);
    this.calls.push(call);
    const result = await this.#options.onCall?.(call);
    if (!answer.isTakenOver) await answer.result(result ?? echo(call.argumentsText));
  }
}

/** One `tools/call`, with its exact bytes. */
export class ReceivedCall {
  readonly request: ReceivedRequest;
  readonly #answer: McpAnswer;

  constructor(request: ReceivedRequest, answer: McpAnswer) {
    this.request = request;
    this.#answer = answer;
  }

  /** The tool's name, decoded. */
  get name(): string {
    return JSON.parse(memberText(this.request.text, 'params', 'name') ?? '""') as string;
  }

  /** The exact text of `params.arguments`; `undefined` when there are none. */
  get argumentsText(): string | undefined {
    return memberText(this.request.text, 'params', 'arguments');
  }

  /** Sends a message before the answer, which becomes an event stream whatever `answerAs` says. */
  async send(message: unknown): Promise<void> {
    await this.#answer.send(message);
  }

  async notify(method: string, params: unknown): Promise<void> {
    await this.send(new JsonText(`{"jsonrpc":"2.0","method":"${method}","params":${encodeJson(params)}}`));
  }

  /** Answers with a JSON-RPC error; `error` may be a `JsonText`. */
  async fail(error: unknown): Promise<void> {
    await this.#answer.finish('error', error);
  }

  /** Leaves the answer to the test, through `request`: the backend sends nothing more by itself. */
  takeOver(): ReceivedRequest {
    this.#answer.isTakenOver = true;
    return this.request;
  }
}

/** The answer to one JSON-RPC request: one JSON body, or an event stream of messages that ends with it. */
class McpAnswer {
  readonly #request: ReceivedRequest;
  readonly #options: McpBackendOptions;
  readonly #id: string | undefined;
  #body: FramedBody | undefined;
  isTakenOver = false;

  constructor(request: ReceivedRequest, options: McpBackendOptions) {
    this.#request = request;
    this.#options = options;
    this.#id = memberText(request.text, 'id');
  }

  /** False for notifications. */
  get isExpected(): boolean {
    return this.#id !== undefined;
  }

  async send(message: unknown, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const lineEnd = this.#options.lineEnd ?? '\n';
    if (this.#body === undefined) {
      this.#body = this.#openBody('text/event-stream', headers);
      if (this.#options.withPriming === true) await this.#body.write(encodeEvent('', lineEnd, { id: randomUUID() }));
    }
    await this.#body.write(encodeEvent(encodeJson(message), lineEnd, { event: 'message' }));
  }

  async result(result: unknown, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.finish('result', result, headers);
  }

  async value(value: unknown): Promise<void> {
    if (value instanceof Failure) await this.finish('error', value.error);
    else await this.result(value);
  }

  async error(code: number, message: string): Promise<void> {
    await this.finish('error', { code, message });
  }

  async finish(
    member: 'result' | 'error',
    value: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    this.isTakenOver = true;
    const message = `{"jsonrpc":"2.0","id":${this.#id},"${member}":${encodeJson(value)}}`;
    if (this.#body !== undefined || this.#options.answerAs === 'event-stream') {
      await this.send(new JsonText(message), headers);
    } else {
      this.#body = this.#openBody('application/json', headers);
      await this.#body.write(message);
    }
    this.#body?.end();
  }

  #openBody(contentType: string, headers: Readonly<Record<string, string>>): FramedBody {
    return new FramedBody(this.#request, this.#options.framing ?? 'length', {
      'content-type': contentType,
      ...headers,
    });
  }
}

/** A body in one of the framings. With `length` nothing is sent before the end, because the length is unknown until then. */
class FramedBody {
  readonly #request: ReceivedRequest;
  readonly #framing: Framing;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #held: string[] = [];

  constructor(request: ReceivedRequest, framing: Framing, headers: Readonly<Record<string, string>>) {
    this.#request = request;
    this.#framing = framing;
    this.#headers = headers;
    if (framing !== 'length') request.head({ headers: { ...headers, 'transfer-encoding': 'chunked' } });
  }

  async write(text: string): Promise<void> {
    switch (this.#framing) {
      case 'length':
        this.#held.push(text);
        break;
      case 'chunked':
        this.#writeChunk(Buffer.from(text));
        break;
      case 'one-byte':
        for (const byte of Buffer.from(text)) {
          this.#writeChunk(Buffer.of(byte));
          await new Promise(setImmediate);
        }
    }
  }

  end(): void {
    if (this.#framing === 'length') this.#request.json(this.#held.join(''), { headers: this.#headers });
    else this.#request.bytes('0\r\n\r\n');
  }

  #writeChunk(bytes: Buffer): void {
    this.#request.bytes(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]));
  }
}

function methodOf(request: ReceivedRequest): string | undefined {
  const text = memberText(request.text, 'method');
  return text === undefined ? undefined : (JSON.parse(text) as string);
}

function describeTool(name: string): Record<string, unknown> {
  return { name, description: `Echoes its arguments (${name}).`, inputSchema: { type: 'object' } };
}

/** `structuredContent` must be an object, so it is left out when there are no arguments. */
function echo(argumentsText: string | undefined): JsonText {
  const content = `"content":[{"type":"text","text":${JSON.stringify(argumentsText ?? '')}}]`;
  return new JsonText(
    argumentsText === undefined ? `{${content}}` : `{${content},"structuredContent":${argumentsText}}`,
  );
}
