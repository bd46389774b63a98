// A backend that offers a standalone stream in each session, and sends on it what the test wants.
import type { Test } from 'tap';
import { backendFor } from './deployment.js';
import type { McpBackend, McpBackendOptions } from './mcp-backend.js';
import type { EventStreamBody, ReceivedRequest } from './raw-backend.js';
import { until } from './until.js';

const CAPABILITIES = { tools: { listChanged: true }, logging: {} };

export class SpeakingBackend {
  readonly backend: McpBackend;
  /** The received GETs, and the streams that answered them. */
  readonly gets: ReceivedRequest[];
  readonly streams: EventStreamBody[];
  /** The latest stream of each session, by session id. */
  readonly #bySession: ReadonlyMap<string, EventStreamBody>;

  private constructor(
    backend: McpBackend,
    gets: ReceivedRequest[],
    streams: EventStreamBody[],
    bySession: ReadonlyMap<string, EventStreamBody>,
  ) {
    this.backend = backend;
    this.gets = gets;
    this.streams = streams;
    this.#bySession = bySession;
  }

  /** Has the capabilities for logging and tool changes unless the options set others. `onRequest` sees everything but GETs. With `hasOneStream`, a second one is refused. */
  static async start(
    t: Pick<Test, 'teardown'>,
    options: McpBackendOptions & { readonly hasOneStream?: boolean } = {},
  ): Promise<SpeakingBackend> {
    const gets: ReceivedRequest[] = [];
    const streams: EventStreamBody[] = [];
    const bySession = new Map<string, EventStreamBody>();
    const backend: McpBackend = await backendFor(t, {
      capabilities: CAPABILITIES,
      withSessions: true,
      ...options,
      onRequest: (request) => {
        if (request.method !== 'GET') return options.onRequest?.(request) ?? false;
        gets.push(request);
        const sessionId = request.headers['mcp-session-id'] ?? '';
        if (!backend.sessions.has(sessionId)) {
          request.empty(404);
          return true;
        }
        const open = gets.slice(0, -1).filter((get) => get.headers['mcp-session-id'] === sessionId);
        if (options.hasOneStream === true && open.some(({ connection }) => !connection.destroyed)) {
          request.empty(409);
          return true;
        }
        const stream = request.eventStream();
        streams.push(stream);
        bySession.set(sessionId, stream);
        return true;
      },
    });
    return new SpeakingBackend(backend, gets, streams, bySession);
  }

  /** Its stream of this number, counted from 1, once it is open. */
  async stream(count = 1): Promise<EventStreamBody> {
    await until(() => this.streams.length >= count, `stream ${count} of the backend`);
    return this.streams[count - 1]!;
  }

  /** The stream of one session. */
  async streamOf(sessionId: string): Promise<EventStreamBody> {
    await until(() => this.#bySession.has(sessionId), "the stream of the backend's session");
    return this.#bySession.get(sessionId)!;
  }
}
