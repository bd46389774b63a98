// HTTP/1.1 over a bare socket, for tests that must choose every byte of a request and see every byte of its response:
// duplicate headers, malformed heads, half bodies, keep-alive. It follows no rule by itself.
import { connect, type Socket } from 'node:net';

const WAIT_MS_MAX = 60_000;
/** How many of the bytes received in vain an error message quotes. */
const TOLD_BYTES_MAX = 4_096;
const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');

/** Name and value, in the order and case received or to be sent. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

export class HttpAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Buffer;

  constructor(status: number, headers: HeaderList, body: Buffer) {
    this.status = status;
    this.headers = headers;
    this.body = body;
  }

  /** The single value of a header; `undefined` when it is absent. Throws when the header occurs twice. */
  header(name: string): string | undefined {
    const values = this.headers.filter(([candidate]) => candidate.toLowerCase() === name.toLowerCase());
    if (values.length > 1) throw new Error(`header ${name} is there ${values.length} times`);
    return values[0]?.[1];
  }

  /** The content type in lower case without parameters; `''` when absent. */
  get contentType(): string {
    return (this.header('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  }

  get text(): string {
    return this.body.toString('utf8');
  }

  json(): unknown {
    return JSON.parse(this.text);
  }
}

interface AnswerHead {
  readonly status: number;
  readonly headers: HeaderList;
}

export class RawConnection {
  readonly #socket: Socket;
  readonly #waitMsMax: number;
  #unread = Buffer.alloc(0);
  /** Data received after `#unread`, concatenated only when it is read. */
  #arrived: Buffer[] = [];
  #arrivedBytes = 0;
  #isEnded = false;
  /** The chunk read last was returned, but its trailing line end has not been read. */
  #isBehindChunk = false;
  #wake: (() => void) | undefined;

  private constructor(socket: Socket, waitMsMax: number) {
    this.#socket = socket;
    this.#waitMsMax = waitMsMax;
    socket.on('data', (chunk: Buffer) => {
      this.#arrived.push(chunk);
      this.#arrivedBytes += chunk.length;
      this.#wake?.();
    });
    const onEnd = (): void => {
      this.#isEnded = true;
      this.#wake?.();
    };
    socket.on('end', onEnd);
    socket.on('close', onEnd);
    // A reset is treated as an end: the waiting reader reports what is missing.
    socket.on('error', onEnd);
  }

  /**
   * @param origin as in `http://127.0.0.1:4000`.
   * @param waitMsMax how long each read may take.
   */
  static async open(origin: string, waitMsMax = WAIT_MS_MAX): Promise<RawConnection> {
    const { hostname, port } = new URL(origin);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new RawConnection(socket, waitMsMax);
  }

  write(bytes: string | Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** Ends the writing side, and still reads. */
  endWriting(): void {
    this.#socket.end();
  }

  /** Stops reading, so that the sender's socket fills up. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#socket.destroy();
  }

  /** The next response, whole. Further responses on the same connection stay readable. */
  async readAnswer(method = 'POST'): Promise<HttpAnswer> {
    const head = await this.readHead();
    return new HttpAnswer(head.status, head.headers, await this.readBody(head, method));
  }

  async readHead(): Promise<AnswerHead> {
    await this.#waitFor(() => this.#received.includes(HEAD_END), 'the head of an answer');
    const [statusLine = '', ...lines] = this.#take(this.#received.indexOf(HEAD_END), 4)
      .toString('latin1')
      .split('\r\n');
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(`${statusLine} `)?.[1];
    if (status === undefined) throw new Error(`not a status line: ${JSON.stringify(statusLine)}`);
    const headers = lines.map((line) => {
      const colon = line.indexOf(':');
      if (colon < 1) throw new Error(`not a header line: ${JSON.stringify(line)}`);
      return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
    });
    return { status: Number(status), headers };
  }

  /** The body of a response whose head was read. */
  async readBody(head: AnswerHead, method = 'POST'): Promise<Buffer> {
    const whole = new HttpAnswer(head.status, head.headers, Buffer.alloc(0));
    if (method === 'HEAD' || head.status === 204 || head.status === 304) return Buffer.alloc(0);
    if (whole.header('transfer-encoding')?.toLowerCase() === 'chunked') {
      const chunks: Buffer[] = [];
      for (;;) {
        const chunk = await this.readChunk();
        if (chunk === undefined) return Buffer.concat(chunks);
        chunks.push(chunk);
      }
    }
    const length = whole.header('content-length');
    if (length === undefined) {
      await this.waitForEnd();
      return this.#take(this.#received.length, 0);
    }
    await this.#waitFor(() => this.#receivedBytes >= Number(length), `a body of ${length} bytes`);
    return this.#take(Number(length), 0);
  }

  /** The next chunk of a chunked body; `undefined` after the last one. */
  async readChunk(): Promise<Buffer | undefined> {
    // Some servers send a chunk's line end with the next chunk.
    if (this.#isBehindChunk) {
      await this.#waitFor(() => this.#receivedBytes >= 2, 'the end of a chunk');
      this.#take(0, 2);
      this.#isBehindChunk = false;
    }
    await this.#waitFor(() => this.#received.includes(LINE_END), 'the head of a chunk');
    const head = this.#take(this.#received.indexOf(LINE_END), 2).toString('latin1');
    if (!/^[0-9a-f]+$/i.test(head)) {
      const next = this.#received.toString('latin1', 0, TOLD_BYTES_MAX);
      throw new Error(`not the head of a chunk: ${JSON.stringify(head)}; behind it: ${JSON.stringify(next)}`);
    }
    const size = Number.parseInt(head, 16);
    const endBytes = size === 0 ? 2 : 0;
    await this.#waitFor(() => this.#receivedBytes >= size + endBytes, `a chunk of ${size} bytes`);
    const chunk = this.#take(size, endBytes);
    this.#isBehindChunk = size > 0;
    return size === 0 ? undefined : chunk;
  }

  /** Resolves once the other side has closed. */
  async waitForEnd(): Promise<void> {
    await this.#waitFor(() => this.#isEnded, 'the end of the connection', true);
  }

  /** Bytes written that the kernel has not taken yet. */
  get unsentBytes(): number {
    return this.#socket.writableLength;
  }

  /** Bytes received and not read yet, without the line end of the chunk read last. */
  get unread(): Buffer {
    return this.#isBehindChunk ? this.#received.subarray(2) : this.#received;
  }

  #take(length: number, skip: number): Buffer {
    const taken = Buffer.from(this.#received.subarray(0, length));
    this.#unread = this.#unread.subarray(length + skip);
    return taken;
  }

  get #received(): Buffer {
    if (this.#arrived.length > 0) {
      this.#unread = Buffer.concat([this.#unread, ...this.#arrived]);
      this.#arrived = [];
      this.#arrivedBytes = 0;
    }
    return this.#unread;
  }

  get #receivedBytes(): number {
    return this.#unread.length + this.#arrivedBytes;
  }

  async #waitFor(condition: () => boolean, what: string, orEnd = false): Promise<void> {
    const deadline = Date.now() + this.#waitMsMax;
    while (!condition()) {
      const leftMs = deadline - Date.now();
      if ((this.#isEnded && !orEnd) || leftMs <= 0) {
        const why = this.#isEnded ? 'the connection ended' : `not within ${this.#waitMsMax} ms`;
        throw new Error(
          `${why} while waiting for ${what}; unread: ${JSON.stringify(this.#received.toString('latin1', 0, TOLD_BYTES_MAX))}`,
        );
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = undefined;
    }
  }
}

export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: HeaderList;
  readonly body?: string | Uint8Array;
}

/** The bytes of a request. `host` and `content-length` are added where the headers leave them out. */
export function encodeRequest(origin: string, request: RawRequest): Buffer {
  const has = (name: string): boolean => request.headers.some(([candidate]) => candidate.toLowerCase() === name);
  const body = Buffer.from(request.body ?? '');
  const lines = [`${request.method} ${request.path} HTTP/1.1`];
  if (!has('host')) lines.push(`host: ${new URL(origin).host}`);
  if (!has('content-length') && !has('transfer-encoding') && request.body !== undefined) {
    lines.push(`content-length: ${body.length}`);
  }
  for (const [name, value] of request.headers) lines.push(`${name}: ${value}`);
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}

/** One request on a connection of its own, so that with several workers any of them may get it. */
export async function send(origin: string, request: RawRequest): Promise<HttpAnswer> {
  const connection = await RawConnection.open(origin);
  try {
    connection.write(encodeRequest(origin, request));
    return await connection.readAnswer(request.method);
  } finally {
    connection.close();
  }
}
