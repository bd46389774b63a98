// A caller that names itself in a header of each request, which is passed to backends: so that a test can compare, at a backend, the
// sender with the credential of each request, whatever its method and whoever caused it.
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
