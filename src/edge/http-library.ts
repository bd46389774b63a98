// The part of uWebSockets.js that the edge uses, and that node-server.ts implements with `node:http`. A worker loads only one of the two,
// so that the hot path sees one class of each.

/** A request, which is readable only while its handler runs. */
export interface HttpRequest {
  getMethod(): string;
  /** The path segment of the pattern's parameter, not decoded. */
  getParameter(index: number): string | undefined;
  /** Calls back for every header, with its name in lower case. */
  forEach(callback: (name: string, value: string) => void): void;
}

/** A response, which must not be touched once the caller is gone. */
export interface HttpResponse {
  writeStatus(status: string): unknown;
  writeHeader(name: string, value: string): unknown;
  /** Writes a part of a body of unknown length. @returns false if the library holds bytes back. */
  write(chunk: string | Uint8Array): boolean;
  end(body?: string | Uint8Array, closeConnection?: boolean): unknown;
  endWithoutBody(): unknown;
  /** Writes a part of a body of `totalBytes`. @returns whether the library has taken the part, and whether the body is complete. */
  tryEnd(part: Uint8Array, totalBytes: number): [isTaken: boolean, isComplete: boolean];
  /** How many bytes of the body the library has taken. */
  getWriteOffset(): number;
  onWritable(handler: (offset: number) => boolean): unknown;
  onAborted(handler: () => void): unknown;
  /** Sets the handler of the body's chunks, each of which is valid only until the handler returns. */
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
  cork(callback: () => void): unknown;
  pause(): unknown;
  resume(): unknown;
  close(): unknown;
}

export type HttpHandler = (res: HttpResponse, req: HttpRequest) => void;

export type RoutedMethod = 'any' | 'get' | 'head' | 'post' | 'options';

/** Routes requests: the first match takes one. In a pattern, `:name` matches a segment and a final `*` the rest. */
export interface HttpRouter {
  route(method: RoutedMethod, pattern: string, handler: HttpHandler): void;
}

export interface TlsFiles {
  readonly certificatePath: string;
  readonly privateKeyPath: string;
}

export interface HttpListener {
  readonly router: HttpRouter;
  /** Reports connections that are opened (1) or closed (-1). Must be called before `listen`. */
  onConnection(onChange: (change: number) => void): void;
  /** Listens. Resolves with a function that stops accepting connections; `undefined` if the address is unavailable. */
  listen(host: string, port: number): Promise<(() => void) | undefined>;
}

export interface HttpLibrary {
  /** Whether the library copies bytes before the write returns, so that they may change. */
  readonly copiesAtOnce: boolean;
  createListener(tls?: TlsFiles): HttpListener;
}
