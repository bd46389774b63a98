// A plain HTTP endpoint beside MCP, which an optional feature of the build adds without knowing the HTTP server. Cold path.

export interface EndpointRequest {
  /** The last path segment, percent-encoded. */
  readonly parameter: string;
  /** The content type of the body; `''` when absent. */
  readonly contentType: string;
  readonly body: Buffer;
}

export interface EndpointAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export interface Endpoint {
  readonly method: 'GET' | 'POST';
  /** The path between the path prefix and the parameter, such as `/admin/tokens`. */
  readonly path: string;
  handle(request: EndpointRequest): Promise<EndpointAnswer>;
}

export interface FeatureModule<Context> {
  createEndpoints(context: Context): readonly Endpoint[];
}
