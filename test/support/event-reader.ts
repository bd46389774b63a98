// An event stream read while it is written: each event as it arrives, on a connection of its own.
import { createParser } from 'eventsource-parser';
import type { McpCaller, RequestParts } from './mcp-caller.js';
import { encodeRequest, RawConnection, type HeaderList } from './raw-http.js';

export class EventReader {
  readonly status: number;
  readonly headers: HeaderList;
  readonly #connection: RawConnection;
  readonly #events: string[] = [];
  readonly #parser = createParser({
    onEvent: ({ data }) => {
      if (data !== '') this.#events.push(data);
    },
  });
  #isEnded = false;

  private constructor(connection: RawConnection, status: number, headers: HeaderList) {
    this.#connection = connection;
    this.status = status;
    this.headers = headers;
  }

  /** Sends the request, and resolves with the head of the response. */
  static async open(caller: McpCaller, parts: RequestParts): Promise<EventReader> {
    const connection = await RawConnection.open(caller.origin);
    connection.write(encodeRequest(caller.origin, caller.request(parts)));
    const { status, headers } = await connection.readHead();
    return new EventReader(connection, status, headers);
  }

  /** The data of the next event that has any; `undefined` at the end of the stream. */
  async next(): Promise<string | undefined> {
    while (this.#events.length === 0 && !this.#isEnded) {
      const chunk = await this.#connection.readChunk();
      if (chunk === undefined) this.#isEnded = true;
      else this.#parser.feed(chunk.toString('utf8'));
    }
    return this.#events.shift();
  }

  /** The next event's message, parsed. */
  async message(): Promise<{ readonly id?: unknown; readonly method?: string; readonly params?: unknown }> {
    return JSON.parse((await this.next()) ?? '{}') as object;
  }

  /** All events to the end of the stream. */
  async rest(): Promise<string[]> {
    const events: string[] = [];
    for (let event = await this.next(); event !== undefined; event = await this.next()) events.push(event);
    return events;
  }

  /** Stops reading, so that the sender's socket fills up. */
  pause(): void {
    this.#connection.pause();
  }

  resume(): void {
    this.#connection.resume();
  }

  close(): void {
    this.#connection.close();
  }
}
