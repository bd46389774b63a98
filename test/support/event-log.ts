// An event stream recorded with everything that a resuming client relies on: event ids, events without data, and `retry`.
import { createParser } from 'eventsource-parser';
import type { McpCaller, RequestParts } from './mcp-caller.js';
import { encodeRequest, RawConnection } from './raw-http.js';

export interface LoggedEvent {
  readonly id: string | undefined;
  readonly data: string;
}

export class EventLog {
  readonly status: number;
  readonly events: LoggedEvent[] = [];
  retryMs: number | undefined;
  readonly #connection: RawConnection;
  readonly #parser = createParser({
    onEvent: ({ id, data }) => this.events.push({ id, data }),
    onRetry: (ms) => (this.retryMs = ms),
  });
  isEnded = false;

  private constructor(connection: RawConnection, status: number) {
    this.#connection = connection;
    this.status = status;
    this.isEnded = status === 204;
  }

  static async open(caller: McpCaller, parts: RequestParts): Promise<EventLog> {
    const connection = await RawConnection.open(caller.origin);
    connection.write(encodeRequest(caller.origin, caller.request(parts)));
    const { status } = await connection.readHead();
    return new EventLog(connection, status);
  }

  /** Reads until `count` events with data have arrived, or the stream has ended. */
  async until(count: number): Promise<this> {
    while (this.messages.length < count && !this.isEnded) {
      const chunk = await this.#connection.readChunk();
      if (chunk === undefined) this.isEnded = true;
      else this.#parser.feed(chunk.toString('utf8'));
    }
    return this;
  }

  async end(): Promise<this> {
    return this.until(Infinity);
  }

  /** The data of the events that have any. */
  get messages(): string[] {
    return this.events.filter(({ data }) => data !== '').map(({ data }) => data);
  }

  /** The `Last-Event-ID` that a client would send to resume here. */
  get lastId(): string {
    return this.events.findLast(({ id }) => id !== undefined)?.id ?? '';
  }

  /** Breaks the connection. */
  close(): void {
    this.#connection.close();
  }
}
