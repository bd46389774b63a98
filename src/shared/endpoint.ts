// A plain HTTP endpoint beside MCP, provided by an optional feature of the build. The worker serves it without knowing what it does; the
// feature does not know the HTTP server. Cold path.

export interface EndpointRequest {
  /** The last path segment, still percent-encoded. */
  readonly parameter: string;
  /** The `content-type` header, `''` when absent. */
  readonly contentType: string;
  /** The whole body, within the body limit. */
  readonly body: Buffer;
}

export interface EndpointAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export interface Endpoint {
  readonly method: 'GET' | 'POST';
  /** Path after the path prefix and before the parameter segment, as in `/admin/tokens`. */
  readonly path: string;
  handle(request: EndpointRequest): Promise<EndpointAnswer>;
}

/** What an optional feature's module exports. */
export interface FeatureModule<Context> {
  createEndpoints(context: Context): readonly Endpoint[];
}
