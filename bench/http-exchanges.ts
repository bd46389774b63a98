// One keep-alive connection that sends the same request repeatedly, and reads responses with a content length. Just enough
// HTTP for a load that must cost less than what it measures. Hot path.
import { connect, type Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';
const STATUS_AT = 'HTTP/1.1 '.length;
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)\r\n/i;

export interface RepeatedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface ExchangeEvents {
  /** @param sentMs as given with the request. */
  readonly onAnswer: (status: number, body: string, sentMs: number) => void;
  /** The connection is no longer usable. */
  readonly onFault: (error: Error) => void;
}

export class HttpExchanges {
  readonly #socket: Socket;
  readonly #request: Buffer;
  readonly #events: ExchangeEvents;
  #sentMs = 0;
  #pending = '';

  private constructor(socket: Socket, request: Buffer, events: ExchangeEvents) {
    this.#socket = socket;
    this.#request = request;
    this.#events = events;
    // latin1 keeps one character per byte, so lengths can be counted in characters.
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => this.#read(chunk));
    socket.on('error', (error) => events.onFault(error));
    socket.on('end', () => events.onFault(new Error('the target closed the connection')));
  }

  static async connect(origin: string, request: RepeatedRequest, events: ExchangeEvents): Promise<HttpExchanges> {
    const { hostname, port, host } = new URL(origin);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new HttpExchanges(socket, requestBytes(host, request), events);
  }

  /** To be called only when the last request was answered. */
  send(sentMs: number): void {
    this.#sentMs = sentMs;
    this.#socket.write(this.#request);
  }

  close(): void {
    this.#socket.removeAllListeners('error').removeAllListeners('end');
    this.#socket.on('error', () => {});
    this.#socket.destroy();
  }

  #read(chunk: string): void {
    this.#pending += chunk;
    const headEnd = this.#pending.indexOf(HEAD_END);
    if (headEnd === -1) return;
    const length = CONTENT_LENGTH.exec(this.#pending.slice(0, headEnd + 2))?.[1];
    if (length === undefined) {
      this.#socket.destroy(new Error('an answer without a length'));
      return;
    }
    const bodyStart = headEnd + HEAD_END.length;
    const bodyEnd = bodyStart + Number(length);
    if (this.#pending.length < bodyEnd) return;
    const status = Number(this.#pending.slice(STATUS_AT, STATUS_AT + 3));
    const body = this.#pending.slice(bodyStart, bodyEnd);
    this.#pending = this.#pending.slice(bodyEnd);
    this.#events.onAnswer(status, body, this.#sentMs);
  }
}

/** The whole request, as it is sent. */
export function requestBytes(host: string, { method, path, headers, body = '' }: RepeatedRequest): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = `content-length: ${Buffer.byteLength(body)}\r\n`;
  return Buffer.from(`${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${lines.join('')}${length}\r\n${body}`);
}
