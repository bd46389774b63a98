// What the edge uses of an HTTP server library: the shape that uWebSockets.js has by itself, and that node-server.ts gives to
// `node:http`. A worker loads one of them, so that every call in the hot path meets one class.

/** Readable while its handler runs, and not after. */
export interface HttpRequest {
  /** In lower case. */
  getMethod(): string;
  /** What stands for the pattern's parameter, as it came. */
  getParameter(index: number): string | undefined;
  /** Every header, its name in lower case. */
  forEach(callback: (name: string, value: string) => void): void;
}

/** Nothing of it may be touched once its caller is gone. */
export interface HttpResponse {
  writeStatus(status: string): unknown;
  writeHeader(name: string, value: string): unknown;
  /** Of a body whose length is not known. @returns whether nothing is held back. */
  write(chunk: string | Uint8Array): boolean;
  end(body?: string | Uint8Array, closeConnection?: boolean): unknown;
  endWithoutBody(): unknown;
  /** Of a body of so many bytes. @returns whether there is room for more, and whether that was all. */
  tryEnd(part: Uint8Array, totalBytes: number): [hasRoom: boolean, isComplete: boolean];
  /** How much of the body the library has taken. */
  getWriteOffset(): number;
  onWritable(handler: (offset: number) => boolean): unknown;
  onAborted(handler: () => void): unknown;
  /** A chunk is taken back when the handler returns. */
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
  cork(callback: () => void): unknown;
  pause(): unknown;
  resume(): unknown;
  close(): unknown;
}

export type HttpHandler = (res: HttpResponse, req: HttpRequest) => void;

/** One listener's routes: the first that fits takes a request. `:name` in a pattern stands for a segment, a final `*` for the rest. */
export interface HttpApp {
  any(pattern: string, handler: HttpHandler): HttpApp;
  get(pattern: string, handler: HttpHandler): HttpApp;
  head(pattern: string, handler: HttpHandler): HttpApp;
  post(pattern: string, handler: HttpHandler): HttpApp;
  options(pattern: string, handler: HttpHandler): HttpApp;
}

export interface TlsFiles {
  readonly certificatePath: string;
  readonly privateKeyPath: string;
}

/** A listener whose routes are not there yet. */
export interface HttpListener {
  readonly app: HttpApp;
  /** Tells of every connection that is opened (1) and closed (-1). Before `listen`. */
  onConnection(onChange: (change: number) => void): void;
  /** Resolves with what ends the taking of connections; those that there are stay. `undefined`: the address cannot be had. */
  listen(host: string, port: number): Promise<(() => void) | undefined>;
}

export interface HttpLibrary {
  /** Whether bytes that it is given may change when its function has returned. */
  readonly copiesAtOnce: boolean;
  createListener(tls?: TlsFiles): HttpListener;
}
