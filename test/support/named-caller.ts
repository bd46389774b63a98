// A caller that says with each request whose it is, in a header that backends are passed: what comes of the request at a backend can be
// held against the credential that it comes with there, whatever its method and whoever began it.
import { McpCaller, type RequestParts } from './mcp-caller.js';

/** For `passthrough_headers`. */
export const WHO_HEADER = 'x-who';

export class NamedCaller extends McpCaller {
  readonly #user: string;

  constructor(origin: string, path: string, token: string, user: string) {
    super(origin, path, token);
    this.#user = user;
  }

  override request(parts: RequestParts = {}): ReturnType<McpCaller['request']> {
    return super.request({ ...parts, headers: [[WHO_HEADER, this.#user], ...(parts.headers ?? [])] });
  }
}
