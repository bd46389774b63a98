// A backend of MCP 2026-07-28 written by hand on a raw HTTP backend: no sessions; it refuses requests with a wrong envelope
// or wrong mirror headers, and keeps every byte. By hand, because tests need backends that break the rules one at a time, and
// because a misreading that the SDK's server and the gateway share would show in no test that has only these two.
//
//   const backend = await modernBackendFor(t, { tools: ['add'], onCall: (call) => call.notify(…) });
//   ... backend.calls[0]?.params ... backend.refusals ... backend.announce('notifications/tools/list_changed')
import type { Test } from 'tap';
import { encodeJson, JsonText, memberText } from './json-text.js';
import { Failure } from './mcp-backend.js';
import {
  climb,
  isJson,
  isRefusal,
  META,
  MODERN_VERSION,
  type Accepted,
  type Json,
  type Refusal,
} from './modern-ladder.js';
import { RawBackend, type EventStreamBody, type ReceivedRequest } from './raw-backend.js';

export interface ModernBackendOptions {
  readonly name?: string;
  /** A plain name gets a schema. */
  readonly tools?: readonly (string | Json)[];
  readonly capabilities?: Json;
  /** The versions in `server/discover`; other ones are refused with -32022. */
  readonly versions?: readonly string[];
  /** Additional members of every list and of `server/discover`. */
  readonly cache?: { readonly ttlMs: number; readonly cacheScope: 'public' | 'private' };
  /** The part of a listener's filter that is acknowledged and served; the whole filter unless given. */
  readonly honours?: (filter: Json) => Json;
  readonly answerAs?: 'json' | 'event-stream';
  /** A tool's result; `undefined` echoes the arguments' bytes. */
  readonly onCall?: (call: ModernRequest) => unknown;
  /** Answers to other methods: a result, a `Failure` (HTTP 200), or a `RefusedWith`. */
  readonly methods?: Readonly<Record<string, (request: ModernRequest) => unknown>>;
  /** Sees every request first; `true` means that it has answered the request, or never will. */
  readonly onRequest?: (request: ReceivedRequest) => boolean | Promise<boolean>;
}

/** Makes the answer an error with an HTTP status. */
export class RefusedWith {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    this.refusal = refusal;
  }
}

/** A modern backend that ends with the test. */
export async function modernBackendFor(
  t: Pick<Test, 'teardown'>,
  options: ModernBackendOptions = {},
): Promise<ModernBackend> {
  const backend = await startModernBackend(options);
  t.teardown(() => backend.close());
  return backend;
}

export async function startModernBackend(options: ModernBackendOptions = {}): Promise<ModernBackend> {
  const backend = new ModernBackend(options);
  await backend.raw.listenAgain();
  return backend;
}

export class ModernBackend {
  readonly raw: RawBackend;
  /** Every request that was not refused, in order. */
  readonly accepted: ModernRequest[] = [];
  /** The refused requests and the reasons: none, behind a gateway that keeps the rules. */
  readonly refusals: Refusal[] = [];
  readonly #options: ModernBackendOptions;
  readonly #listeners = new Set<ModernRequest>();

  constructor(options: ModernBackendOptions) {
    this.#options = options;
    this.raw = new RawBackend((request) => this.#onRequest(request), { hearsDiscovery: true });
  }

  get url(): string {
    // Not a path where a legacy backend may have listened on this port: the gateway remembers eras by URL.
    return `${this.raw.origin}/modern`;
  }

  /** Every `tools/call` that was not refused. */
  get calls(): ModernRequest[] {
    return this.requestsOf('tools/call');
  }

  get openListens(): number {
    return this.#listeners.size;
  }

  requestsOf(method: string): ModernRequest[] {
    return this.accepted.filter((request) => request.method === method);
  }

  /** Sends a notification to every listener whose filter asks for it. */
  async announce(method: string, params: Json = {}): Promise<void> {
    for (const listener of this.#listeners) {
      if (isWanted(this.#honouredOf(listener), method, params)) await listener.tell(method, params);
    }
  }

  /** Ends every `subscriptions/listen` with its result. */
  async endListens(): Promise<void> {
    for (const listener of this.#listeners) await listener.finish('result', this.#result({ _meta: listener.tag }));
    this.#listeners.clear();
  }

  async close(): Promise<void> {
    await this.raw.close();
  }

  async #onRequest(received: ReceivedRequest): Promise<void> {
    if (await this.#options.onRequest?.(received)) return;
    if (received.method !== 'POST') return received.empty(405, { allow: 'POST' });
    const read = climb(received, this.#options.versions ?? [MODERN_VERSION], (name) => this.#schemaOf(name));
    if (isRefusal(read)) return this.#refuse(received, read);
    const request = new ModernRequest(received, read, this.#options.answerAs === 'event-stream');
    this.accepted.push(request);
    if (read.id === undefined) return received.empty(202);
    const answer = await this.#answer(request);
    if (answer === undefined || request.isTakenOver) return;
    if (answer instanceof RefusedWith) return this.#refuse(received, answer.refusal);
    if (answer instanceof Failure) return request.finish('error', answer.error);
    return request.finish('result', this.#result(answer));
  }

  #refuse(received: ReceivedRequest, refusal: Refusal): void {
    // That it has no sessions is the answer to a question, not a refusal of what it serves.
    if (memberText(received.text, 'method') !== '"initialize"') this.refusals.push(refusal);
    const { status, code, message, data } = refusal;
    const id = memberText(received.text, 'id');
    const error = { code, message, ...(data === undefined ? {} : { data }) };
    received.json(`{"jsonrpc":"2.0",${id === undefined ? '' : `"id":${id},`}"error":${JSON.stringify(error)}}`, {
      status,
    });
  }

  async #answer(request: ModernRequest): Promise<unknown> {
    const respond = this.#options.methods?.[request.method];
    if (respond !== undefined) return respond(request);
    const cache = this.#options.cache ?? { ttlMs: 0, cacheScope: 'private' };
    switch (request.method) {
      case 'server/discover':
        return {
          supportedVersions: this.#options.versions ?? [MODERN_VERSION],
          capabilities: this.#options.capabilities ?? { tools: { listChanged: true } },
          ...cache,
        };
      case 'tools/list':
        return { tools: this.#tools(), ...cache };
      case 'tools/call':
        return (await this.#options.onCall?.(request)) ?? echo(request);
      case 'subscriptions/listen':
        return this.#listen(request);
      default:
        return new RefusedWith({ status: 404, code: -32601, message: `Method not found: ${request.method}` });
    }
  }

  async #listen(request: ModernRequest): Promise<undefined> {
    request.isTakenOver = true;
    this.#listeners.add(request);
    request.received.connection.once('close', () => this.#listeners.delete(request));
    const notifications = this.#honouredOf(request);
    await request.tell('notifications/subscriptions/acknowledged', { notifications });
    return undefined;
  }

  #honouredOf({ params }: ModernRequest): Json {
    const filter = isJson(params['notifications']) ? params['notifications'] : {};
    return this.#options.honours?.(filter) ?? filter;
  }

  /** Adds the members that every result has; a `JsonText` is left unchanged. */
  #result(value: unknown): unknown {
    if (!isJson(value) || value instanceof JsonText) return value;
    const serverInfo = { name: this.#options.name ?? 'modern', version: '1.0.0' };
    const meta = isJson(value['_meta']) ? value['_meta'] : {};
    return { resultType: 'complete', ...value, _meta: { [`${META}serverInfo`]: serverInfo, ...meta } };
  }

  #tools(): Json[] {
    return (this.#options.tools ?? ['echo']).map((tool) =>
      typeof tool === 'string'
        ? { name: tool, description: `Echoes its arguments (${tool}).`, inputSchema: { type: 'object' } }
        : tool,
    );
  }

  #schemaOf(name: string): Json | undefined {
    const schema = this.#tools().find((tool) => tool['name'] === name)?.['inputSchema'];
    return isJson(schema) ? schema : undefined;
  }
}

/** One request, with its exact bytes, and its answer. */
export class ModernRequest {
  readonly received: ReceivedRequest;
  readonly method: string;
  readonly params: Json;
  readonly meta: Json;
  /** When true, the test answers the request itself. */
  isTakenOver = false;
  readonly #isStream: boolean;
  readonly #id: string;
  #stream: EventStreamBody | undefined;

  constructor(received: ReceivedRequest, { method, params, meta }: Accepted, isStream: boolean) {
    this.received = received;
    this.method = method;
    this.params = params;
    this.meta = meta;
    this.#isStream = isStream;
    this.#id = memberText(received.text, 'id') ?? 'null';
  }

  /** The name of the tool or prompt. */
  get name(): string {
    return String(this.params['name']);
  }

  get argumentsText(): string | undefined {
    return memberText(this.received.text, 'params', 'arguments');
  }

  get capabilities(): Json {
    const declared = this.meta[`${META}clientCapabilities`];
    return isJson(declared) ? declared : {};
  }

  /** The `_meta` of messages on a listener's stream: the id of its request, parsed from its JSON text. */
  get tag(): Json {
    return { [`${META}subscriptionId`]: JSON.parse(this.#id) as unknown };
  }

  /** Resolves when the client has closed the connection. */
  async gone(): Promise<void> {
    const { connection } = this.received;
    if (!connection.destroyed) await new Promise((resolve) => connection.once('close', resolve));
  }

  /** Makes the answer an event stream. */
  openStream(): EventStreamBody {
    return (this.#stream ??= this.received.eventStream());
  }

  /** Sends a message before the answer, which becomes an event stream. */
  async send(message: unknown): Promise<void> {
    await this.openStream().event(encodeJson(message));
  }

  async notify(method: string, params: unknown): Promise<void> {
    await this.send({ jsonrpc: '2.0', method, params });
  }

  /** Sends a notification to this listener. */
  async tell(method: string, params: Json): Promise<void> {
    const meta = isJson(params['_meta']) ? params['_meta'] : {};
    await this.notify(method, { ...params, _meta: { ...meta, ...this.tag } });
  }

  async finish(member: 'result' | 'error', value: unknown): Promise<void> {
    this.isTakenOver = true;
    const message = `{"jsonrpc":"2.0","id":${this.#id},"${member}":${encodeJson(value)}}`;
    if (this.#stream === undefined && !this.#isStream) {
      this.received.json(message);
      return;
    }
    await this.send(new JsonText(message));
    this.#stream?.end();
  }
}

/** Whether a listener's filter asks for a notification. */
function isWanted(filter: unknown, method: string, params: Json): boolean {
  if (!isJson(filter)) return false;
  const [, kind] = /^notifications\/(tools|prompts|resources)\/list_changed$/.exec(method) ?? [];
  if (kind !== undefined) return filter[`${kind}ListChanged`] === true;
  const uris = filter['resourceSubscriptions'];
  return method === 'notifications/resources/updated' && Array.isArray(uris) && uris.includes(params['uri']);
}

function echo(call: ModernRequest): JsonText {
  const given = call.argumentsText;
  const content = `"resultType":"complete","content":[{"type":"text","text":${JSON.stringify(given ?? '')}}]`;
  return new JsonText(given === undefined ? `{${content}}` : `{${content},"structuredContent":${given}}`);
}
