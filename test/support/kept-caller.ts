// A caller that keeps its connection, and with it the worker at the other end. One request at a time.
import { encodeRequest, RawConnection, type HttpAnswer } from './raw-http.js';
import { McpCaller, McpSession, type RequestParts } from './mcp-caller.js';

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

  /** Somebody's session, used over this connection. */
  use(session: McpSession): McpSession {
    return new McpSession(this, session.id, session.opening);
  }

  close(): void {
    this.#connection.close();
  }
}
