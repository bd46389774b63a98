// A backend that sends notifications and requests: several times a second on every open GET stream, and within each call of its
// tool `ask`.
import { JsonText, memberText } from '../support/json-text.js';
import { startMcpBackend, type McpBackend, type ReceivedCall } from '../support/mcp-backend.js';
import type { EventStreamBody, ReceivedRequest } from '../support/raw-backend.js';

export const NOTE_URI = 'note://1';

const SPEAKS_EVERY_MS = 200;
/** Every nth message is a request for roots instead of a resource update. */
const ASKS_EVERY = 3;
const UPDATED = `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"${NOTE_URI}"}}`;

export class TalkingBackend {
  readonly mcp: McpBackend;
  readonly #streams = new Set<EventStreamBody>();
  /** The callbacks for answers to requests within calls, by request id. */
  readonly #asked = new Map<string, (result: string) => void>();
  readonly #ticker: NodeJS.Timeout;
  #count = 0;

  private constructor(mcp: McpBackend) {
    this.mcp = mcp;
    this.#ticker = setInterval(() => this.#speak(), SPEAKS_EVERY_MS);
  }

  static async start(): Promise<TalkingBackend> {
    const mcp: McpBackend = await startMcpBackend({
      capabilities: { tools: {}, resources: { subscribe: true }, logging: {} },
      tools: ['echo', 'ask'],
      withSessions: true,
      framing: 'chunked',
      methods: { 'resources/subscribe': () => ({}) },
      onRequest: (request) => talking.#onRequest(request),
      onCall: (call) => talking.#onCall(call),
    });
    const talking = new TalkingBackend(mcp);
    return talking;
  }

  async close(): Promise<void> {
    clearInterval(this.#ticker);
    await this.mcp.close();
  }

  /** @returns whether it was answered here. */
  #onRequest(request: ReceivedRequest): boolean {
    if (request.method === 'GET') {
      this.#onGet(request);
      return true;
    }
    const id = memberText(request.text, 'id');
    const result = memberText(request.text, 'result');
    if (id !== undefined && result !== undefined) {
      this.#asked.get(id)?.(result);
    }
    return false;
  }

  #onGet(request: ReceivedRequest): void {
    if (!this.mcp.sessions.has(request.headers['mcp-session-id'] ?? '')) {
      request.empty(404);
      return;
    }
    const stream = request.eventStream();
    this.#streams.add(stream);
    request.connection.once('close', () => this.#streams.delete(stream));
  }

  /** The result contains the client's answer. */
  async #onCall(call: ReceivedCall): Promise<unknown> {
    if (call.name !== 'ask') return undefined;
    const id = this.#newId();
    const { connection } = call.request;
    const answered = new Promise<string>((resolve) => {
      const onClose = (): void => resolve('null');
      connection.once('close', onClose);
      this.#asked.set(id, (result) => {
        connection.off('close', onClose);
        resolve(result);
      });
    });
    const params = '{"message":"And?","requestedSchema":{"type":"object","properties":{}}}';
    await call.send(new JsonText(`{"jsonrpc":"2.0","id":${id},"method":"elicitation/create","params":${params}}`));
    const result = await answered;
    this.#asked.delete(id);
    return new JsonText(`{"content":[],"structuredContent":{"answered":${result}}}`);
  }

  #speak(): void {
    const isAsking = Math.floor(Math.random() * ASKS_EVERY) === 0;
    for (const stream of this.#streams) {
      const asking = `{"jsonrpc":"2.0","id":${this.#newId()},"method":"roots/list"}`;
      void stream.event(isAsking ? asking : UPDATED);
    }
  }

  #newId(): string {
    this.#count += 1;
    return `"asked-${this.#count}"`;
  }
}
