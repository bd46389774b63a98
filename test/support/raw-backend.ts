// An HTTP/1.1 backend on bare sockets, scripted request by request, so that it can misbehave in every way: half responses,
// resets, silence, one byte at a time, bytes that are not HTTP. It follows no rule by itself.
//
//   const backend = await startRawBackend((request) => request.json({ ok: true }));
//   t.teardown(() => backend.close());
//   ... backend.url ... backend.requests[0]?.body ...
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { until } from './until.js';

/** Reacts to a request: answers through its methods, writes bytes on its `connection`, or does nothing at all. */
export type RawHandler = (request: ReceivedRequest) => void | Promise<void>;

export interface RawBackendOptions {
  /** PEM texts; the backend then speaks TLS. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** False: the handler is called when the head has arrived, and the body is discarded. For responses that come early. */
  readonly readsBodies?: boolean;
  /**
   * True: the handler sees `server/discover`, too. Otherwise the backend is a legacy one: it refuses that method as the SDK's servers do,
   * and hides this periodic question from the test.
   */
  readonly hearsDiscovery?: boolean;
}

export interface AnswerOptions {
  readonly status?: number;
  /** Added to the response's own headers; a name given here replaces the response's own. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Delay before retrying a port that another process has taken. */
const PORT_TAKEN_WAIT_MS = 100;

export async function startRawBackend(handler: RawHandler, options: RawBackendOptions = {}): Promise<RawBackend> {
  const backend = new RawBackend(handler, options);
  await backend.listenAgain();
  return backend;
}

export class RawBackend {
  /** Every request, in the order in which they were complete. */
  readonly requests: ReceivedRequest[] = [];
  /** Handles requests from now on; replace it in the middle of a test to change the backend's behaviour. */
  handler: RawHandler;
  readonly #options: RawBackendOptions;
  readonly #sockets = new Set<Socket>();
  readonly #handlerErrors: unknown[] = [];
  #connectionCount = 0;
  #server: Server | undefined;
  #port = 0;

  constructor(handler: RawHandler, options: RawBackendOptions) {
    this.handler = handler;
    this.#options = options;
  }

  /** For example `http://127.0.0.1:40000`. */
  get origin(): string {
    return `${this.#options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${this.#port}`;
  }

  get url(): string {
    return `${this.origin}/mcp`;
  }

  /** Connections accepted so far, including closed ones. */
  get connections(): number {
    return this.#connectionCount;
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  /** The request at this index of `requests`, as soon as it has arrived. */
  async request(index: number): Promise<ReceivedRequest> {
    await until(() => this.requests.length > index, `request ${index} at the backend`);
    return this.requests[index]!;
  }

  /** Closes everything. Rejects when a handler threw: a broken script must not look like a broken gateway. */
  async close(): Promise<void> {
    this.stopListening();
    this.closeConnections();
    await until(() => this.#sockets.size === 0, 'the end of every connection');
    if (this.#handlerErrors.length > 0) throw this.#handlerErrors[0];
  }

  /** Closes every open connection; `'reset'` sends RST in place of FIN. */
  closeConnections(how: 'end' | 'reset' = 'end'): void {
    for (const socket of this.#sockets) {
      if (how === 'reset') resetNow(socket);
      else socket.destroy();
    }
  }

  /** Refuses new connections and keeps the open ones. */
  stopListening(): void {
    this.#server?.close();
    this.#server = undefined;
  }

  /** Listens on the same port as before. */
  async listenAgain(): Promise<void> {
    const { tls } = this.#options;
    const onConnection = (socket: Socket): void => this.#accept(socket);
    const server = tls === undefined ? createServer(onConnection) : createTlsServer(tls, onConnection);
    // A failed TLS handshake concerns only the client.
    server.on('tlsClientError', () => undefined);
    await new Promise<void>((resolve, reject) => {
      server.on('error', (error: Error) => {
        // The system may have given the port to an outgoing connection meanwhile.
        const isTaken = this.#port !== 0 && 'code' in error && error.code === 'EADDRINUSE';
        if (isTaken) setTimeout(() => server.listen(this.#port, '127.0.0.1'), PORT_TAKEN_WAIT_MS);
        else reject(error);
      });
      server.once('listening', resolve);
      server.listen(this.#port, '127.0.0.1');
    });
    server.removeAllListeners('error');
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
  }

  #accept(socket: Socket): void {
    this.#connectionCount += 1;
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('close', () => this.#sockets.delete(socket));
    // These tests cause resets on purpose.
    socket.on('error', () => undefined);
    const connectionNumber = this.#connectionCount;
    const reader = new RequestReader(this.#options.readsBodies ?? true, (message) => {
      const request = new ReceivedRequest(message, socket, this.requests.length, connectionNumber);
      if (this.#options.hearsDiscovery !== true && request.headers['mcp-method'] === 'server/discover') {
        request.json(NO_SESSION, { status: 400 });
        return;
      }
      this.requests.push(request);
      void this.#handle(request);
    });
    socket.on('data', (chunk: Buffer) => reader.push(chunk));
  }

  async #handle(request: ReceivedRequest): Promise<void> {
    try {
      await this.handler(request);
    } catch (error) {
      this.#handlerErrors.push(error);
      request.connection.destroy();
    }
  }
}

const NO_SESSION = { jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'Bad Request: no valid session ID' } };

/** One request, and every way to answer it. */
export class ReceivedRequest {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  /** Names in lower case; of several values the last. */
  readonly headers: Readonly<Record<string, string>>;
  /** Name, value, name, value, … in the order and case received. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly connection: Socket;
  /** Its index in `backend.requests`. */
  readonly sequenceNumber: number;
  /** 1 for the first connection that the backend accepted. */
  readonly connectionNumber: number;

  constructor(message: RequestMessage, connection: Socket, sequenceNumber: number, connectionNumber: number) {
    this.method = message.method;
    this.path = message.path;
    this.rawHeaders = message.rawHeaders;
    this.headers = lowerCaseRecord(message.rawHeaders);
    this.body = message.body;
    this.connection = connection;
    this.sequenceNumber = sequenceNumber;
    this.connectionNumber = connectionNumber;
  }

  get text(): string {
    return this.body.toString('utf8');
  }

  /** One JSON value with a content length; a string is sent verbatim, so that a test can choose every byte. */
  json(value: unknown, options: AnswerOptions = {}): void {
    const body = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
    this.head(options, { 'content-type': 'application/json', 'content-length': String(body.length) });
    this.connection.write(body);
  }

  /** A response without a body, for example 202 or 404. */
  empty(status: number, headers: Readonly<Record<string, string>> = {}): void {
    this.head({ status, headers }, status === 204 ? {} : { 'content-length': '0' });
  }

  /** Sends any bytes, which must include the head. */
  bytes(raw: string | Uint8Array): void {
    this.connection.write(raw);
  }

  /** Sends any bytes, each in a packet of its own. */
  async byteByByte(raw: string | Uint8Array): Promise<void> {
    for (const byte of Buffer.from(raw)) {
      this.connection.write(Uint8Array.of(byte));
      await new Promise(setImmediate);
    }
  }

  /** A chunked body with a chunk for each piece, `delayMs` apart; JSON unless the headers say otherwise. */
  async chunked(
    pieces: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>,
    options: AnswerOptions & { readonly delayMs?: number } = {},
  ): Promise<void> {
    const headers = { 'content-type': 'application/json', ...options.headers };
    const body = this.chunkedBody({ ...options, headers });
    let isFirst = true;
    for await (const piece of pieces) {
      if (!isFirst && options.delayMs !== undefined)
        await new Promise((resolve) => setTimeout(resolve, options.delayMs));
      isFirst = false;
      await body.write(piece);
    }
    body.end();
  }

  /** A chunked body that the test writes. */
  chunkedBody(options: AnswerOptions = {}): ChunkedBody {
    this.head(options, { 'transfer-encoding': 'chunked' });
    return new ChunkedBody(this.connection);
  }

  /** An event stream that the test writes, over a chunked body. */
  eventStream(options: AnswerOptions & { readonly lineEnd?: LineEnd } = {}): EventStreamBody {
    this.head(options, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'transfer-encoding': 'chunked',
    });
    return new EventStreamBody(new ChunkedBody(this.connection), options.lineEnd ?? '\n');
  }

  /** The status line and the headers, including the empty line after them. */
  head(options: AnswerOptions, ownHeaders: Readonly<Record<string, string>> = {}): void {
    const headers = { ...ownHeaders, ...options.headers };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    this.connection.write(`HTTP/1.1 ${options.status ?? 200} Scripted\r\n${lines.join('')}\r\n`, 'latin1');
  }

  /** Closes the connection. Data written before still arrives. */
  destroy(): void {
    this.connection.destroySoon();
  }

  /** Resets the connection (RST). Data written before may be lost. */
  reset(): void {
    resetNow(this.connection);
  }
}

export class ChunkedBody {
  readonly #connection: Socket;

  constructor(connection: Socket) {
    this.#connection = connection;
  }

  /** Writes one chunk. Resolves when the kernel has taken it: when the reader's window is full, not before the reader makes room. */
  async write(piece: string | Uint8Array): Promise<void> {
    const bytes = Buffer.from(piece);
    if (bytes.length === 0) return;
    const frame = Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
    // A write to a closed connection also counts as finished.
    await new Promise<void>((resolve) => this.#connection.write(frame, () => resolve()));
  }

  end(): void {
    this.#connection.write('0\r\n\r\n');
  }
}

export type LineEnd = '\n' | '\r\n' | '\r';

export class EventStreamBody {
  readonly #body: ChunkedBody;
  readonly #lineEnd: LineEnd;

  constructor(body: ChunkedBody, lineEnd: LineEnd) {
    this.#body = body;
    this.#lineEnd = lineEnd;
  }

  /** Sends one event; a string verbatim, anything else as JSON. */
  async event(data: unknown, fields: EventFields = {}): Promise<void> {
    await this.#body.write(encodeEvent(data, this.#lineEnd, fields));
  }

  async comment(text: string): Promise<void> {
    await this.#body.write(`: ${text}${this.#lineEnd.repeat(2)}`);
  }

  /** Sends any bytes: part of an event, or no event at all. */
  async bytes(raw: string | Uint8Array): Promise<void> {
    await this.#body.write(raw);
  }

  end(): void {
    this.#body.end();
  }
}

export interface EventFields {
  readonly event?: string;
  readonly id?: string;
}

/** The bytes of one event, with a `data` line for each line of the data. */
export function encodeEvent(data: unknown, lineEnd: LineEnd = '\n', fields: EventFields = {}): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  const lines = text.split('\n').map((line) => `data: ${line}`);
  if (fields.id !== undefined) lines.unshift(`id: ${fields.id}`);
  if (fields.event !== undefined) lines.unshift(`event: ${fields.event}`);
  return lines.map((line) => line + lineEnd).join('') + lineEnd;
}

interface RequestMessage {
  readonly method: string;
  readonly path: string;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** Splits the bytes of one connection into requests. For tests only: it copies, and supports only bodies with a content length. */
class RequestReader {
  readonly #readsBodies: boolean;
  readonly #onRequest: (message: RequestMessage) => void;
  #received = Buffer.alloc(0);
  /** Bytes still to come of a body that is discarded. */
  #skipBytes = 0;

  constructor(readsBodies: boolean, onRequest: (message: RequestMessage) => void) {
    this.#readsBodies = readsBodies;
    this.#onRequest = onRequest;
  }

  push(chunk: Buffer): void {
    const skipped = Math.min(this.#skipBytes, chunk.length);
    this.#skipBytes -= skipped;
    this.#received = Buffer.concat([this.#received, chunk.subarray(skipped)]);
    while (this.#tryTakeRequest());
  }

  #tryTakeRequest(): boolean {
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd === -1) return false;
    const [requestLine = '', ...headerLines] = this.#received.toString('latin1', 0, headEnd).split('\r\n');
    const [method = '', path = ''] = requestLine.split(' ');
    const rawHeaders = headerLines.flatMap((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    });
    const bodyBytes = Number(lowerCaseRecord(rawHeaders)['content-length'] ?? 0);
    const rest = this.#received.subarray(headEnd + 4);
    if (this.#readsBodies && rest.length < bodyBytes) return false;
    this.#skipBytes = Math.max(0, bodyBytes - rest.length);
    this.#received = rest.subarray(bodyBytes);
    const body = this.#readsBodies ? Buffer.from(rest.subarray(0, bodyBytes)) : Buffer.alloc(0);
    this.#onRequest({ method, path, rawHeaders, body });
    return true;
  }
}

function lowerCaseRecord(rawHeaders: readonly string[]): Record<string, string> {
  const record: Record<string, string> = {};
  for (let index = 0; index < rawHeaders.length; index += 2) {
    record[rawHeaders[index]!.toLowerCase()] = rawHeaders[index + 1]!;
  }
  return record;
}

/** `resetAndDestroy` sends FIN before its RST, and then it is a matter of luck which of them the reader sees. */
function resetNow(socket: Socket): void {
  Object.assign(socket, { resetAndClosing: true });
  socket.destroy();
}
