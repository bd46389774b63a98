// A backend URL, split once when a config is compiled.

export interface UpstreamTarget {
  /** Scheme, host and port, as in `http://127.0.0.1:3000`. Never shown to a caller. */
  readonly origin: string;
  /** Path and query, as in `/mcp?tenant=7`. */
  readonly path: string;
}
