// A backend of the transport of 2024-11-05 on bare sockets: one stream for everything that it sends, controlled by the test.
import type { Test } from 'tap';
import { memberText } from './json-text.js';
import { startRawBackend, type EventStreamBody, type RawBackend, type ReceivedRequest } from './raw-backend.js';

const HANDSHAKE =
  '{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}';

export class SseRawBackend {
  readonly raw: RawBackend;
  /** The latest stream. */
  stream!: EventStreamBody;
  #streamRequest: ReceivedRequest | undefined;
  /** Ids of unanswered calls, as JSON. */
  readonly waiting: string[] = [];
  /** The progress tokens of these calls. */
  readonly tokens: string[] = [];

  private constructor(raw: RawBackend) {
    this.raw = raw;
  }

  static async start(t: Pick<Test, 'teardown'>): Promise<SseRawBackend> {
    const raw = await startRawBackend((request) => backend.#onRequest(request));
    const backend = new SseRawBackend(raw);
    t.teardown(() => raw.close());
    return backend;
  }

  get members(): { readonly url: string; readonly transport: 'SSE' } {
    return { url: this.raw.url, transport: 'SSE' };
  }

  /** Answers all calls in one write. */
  async answerAll(): Promise<void> {
    const answers = this.waiting
      .splice(0)
      .map((id) => `data: {"jsonrpc":"2.0","id":${id},"result":{"content":[]}}\n\n`);
    await this.stream.bytes(answers.join(''));
  }

  /** Ends the stream, and the session with it. */
  cut(): void {
    this.waiting.length = 0;
    this.#streamRequest?.reset();
  }

  async #onRequest(request: ReceivedRequest): Promise<void> {
    if (request.method === 'GET') {
      this.#streamRequest = request;
      this.stream = request.eventStream();
      await this.stream.event('/messages', { event: 'endpoint' });
      return;
    }
    request.empty(202);
    const id = memberText(request.text, 'id');
    const method = memberText(request.text, 'method');
    if (method === '"initialize"') await this.stream.event(`{"jsonrpc":"2.0","id":${id},"result":${HANDSHAKE}}`);
    if (method !== '"tools/call"' || id === undefined) return;
    this.tokens.push(memberText(request.text, 'params', '_meta', 'progressToken') ?? '');
    this.waiting.push(id);
  }
}
