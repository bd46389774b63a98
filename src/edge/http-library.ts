// The part of uWebSockets.js that the edge uses, which node-server.ts implements with `node:http`. A worker loads only one of the two, so
// that the hot path sees one class.

/** Readable only while its handler runs. */
export interface HttpRequest {
  getMethod(): string;
  /** The path segment of the pattern's parameter, not decoded. */
  getParameter(index: number): string | undefined;
  /** Every header, with its name in lower case. */
  forEach(callback: (name: string, value: string) => void): void;
}

/** Not to be touched once the caller is gone. */
export interface HttpResponse {
  writeStatus(status: string): unknown;
  writeHeader(name: string, value: string): unknown;
  /** A part of a body of unknown length. @returns whether nothing is held back. */
  write(chunk: string | Uint8Array): boolean;
  end(body?: string | Uint8Array, closeConnection?: boolean): unknown;
  endWithoutBody(): unknown;
  /** A part of a body of `totalBytes`. @returns whether there is room for more, and whether the body is complete. */
  tryEnd(part: Uint8Array, totalBytes: number): [hasRoom: boolean, isComplete: boolean];
  /** Bytes of the body that the library has taken. */
  getWriteOffset(): number;
  onWritable(handler: (offset: number) => boolean): unknown;
  onAborted(handler: () => void): unknown;
  /** The chunk is valid only until the handler returns. */
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
  cork(callback: () => void): unknown;
  pause(): unknown;
  resume(): unknown;
  close(): unknown;
}

export type HttpHandler = (res: HttpResponse, req: HttpRequest) => void;

export type RoutedMethod = 'any' | 'get' | 'head' | 'post' | 'options';

/** The first match takes a request. In a pattern, `:name` matches a segment and a final `*` the rest. */
export interface HttpRouter {
  route(method: RoutedMethod, pattern: string, handler: HttpHandler): void;
}

export interface TlsFiles {
  readonly certificatePath: string;
  readonly privateKeyPath: string;
}

export interface HttpListener {
  readonly router: HttpRouter;
  /** Reports connections that are opened (1) or closed (-1). Call before `listen`. */
  onConnection(onChange: (change: number) => void): void;
  /** Resolves with a function that stops accepting connections; `undefined` if the address is unavailable. */
  listen(host: string, port: number): Promise<(() => void) | undefined>;
}

export interface HttpLibrary {
  /** Whether written bytes may change once the write returns. */
  readonly copiesAtOnce: boolean;
  createListener(tls?: TlsFiles): HttpListener;
}
