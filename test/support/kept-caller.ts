// A caller that keeps its connection, and with it the worker at the other end. One request at a time.
import { encodeRequest, RawConnection, type HttpAnswer } from './raw-http.js';
import { McpCaller, McpSession, type RequestParts } from './mcp-caller.js';

const CRLF = Buffer.from('\r\n');

export class KeptCaller extends McpCaller {
  readonly #connection: RawConnection;

  private constructor(like: McpCaller, connection: RawConnection) {
    super(like.origin, like.path, like.token);
    this.#connection = connection;
  }

  static async connect(like: McpCaller): Promise<KeptCaller> {
    return new KeptCaller(like, await RawConnection.open(like.origin));
  }

  override async send(parts: RequestParts = {}): Promise<HttpAnswer> {
    const request = this.request(parts);
    this.#connection.write(encodeRequest(this.origin, request));
    return this.#connection.readAnswer(request.method);
  }

  /** Like `send`, with the body in chunks of `chunkBytes`, so that its length is not declared. */
  async sendInChunks(parts: RequestParts, chunkBytes: number): Promise<HttpAnswer> {
    const { body = '', headers = [], ...request } = this.request(parts);
    const bytes = Buffer.from(body);
    const coded = [...headers, ['transfer-encoding', 'chunked'] as const];
    this.#connection.write(encodeRequest(this.origin, { ...request, headers: coded }));
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      const chunk = bytes.subarray(at, at + chunkBytes);
      this.#connection.write(Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, CRLF]));
    }
    this.#connection.write('0\r\n\r\n');
    return this.#connection.readAnswer(request.method);
  }

  /** Uses an existing session over this connection. */
  use(session: McpSession): McpSession {
    return new McpSession(this, session.id, session.opening);
  }

  close(): void {
    this.#connection.close();
  }
}
