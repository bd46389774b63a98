// A keep-alive connection whose requests are answered with event streams, one after the other. Just enough HTTP for a load
// that must cost less than what it measures. Hot path.
import type { Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';
const STATUS_AT = 'HTTP/1.1 '.length;
const CHUNKED = /\r\ntransfer-encoding: *chunked\r\n/i;
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)\r\n/i;
const DATA = 'data: ';

export interface StreamEvents {
  /** The data of an event that has any. */
  readonly onData: (data: string) => void;
  /** The response is complete. @param body of a response that was not an event stream. */
  readonly onEnd: (status: number, body: string) => void;
}

export class StreamedAnswers {
  readonly #socket: Socket;
  readonly #events: StreamEvents;
  #pending = '';
  /** The status of the response being read; 0 between responses. */
  #status = 0;
  /** The rest of a body of known length; -1 while chunks come. */
  #bytesLeft = 0;
  #isBehindChunk = false;
  /** The received part of an incomplete event. */
  #text = '';

  constructor(socket: Socket, events: StreamEvents) {
    this.#socket = socket;
    this.#events = events;
    // latin1 keeps one character per byte, so lengths can be counted in characters.
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      this.#pending += chunk;
      while (this.#status === 0 ? this.#readHead() : this.#readBody());
    });
  }

  /** @returns whether there may be more to read; likewise for the readers below. */
  #readHead(): boolean {
    const headEnd = this.#pending.indexOf(HEAD_END);
    if (headEnd === -1) return false;
    const head = this.#pending.slice(0, headEnd + 2);
    const length = CONTENT_LENGTH.exec(head)?.[1];
    if (length === undefined && !CHUNKED.test(head)) {
      this.#socket.destroy(new Error('an answer of unknown length'));
      return false;
    }
    this.#pending = this.#pending.slice(headEnd + HEAD_END.length);
    this.#status = Number(head.slice(STATUS_AT, STATUS_AT + 3));
    this.#bytesLeft = length === undefined ? -1 : Number(length);
    return true;
  }

  #readBody(): boolean {
    if (this.#bytesLeft === -1) return this.#readChunk();
    if (this.#pending.length < this.#bytesLeft) return false;
    const body = this.#pending.slice(0, this.#bytesLeft);
    this.#pending = this.#pending.slice(this.#bytesLeft);
    return this.#end(body);
  }

  #readChunk(): boolean {
    // Some servers send the line end after a chunk together with the next one.
    const start = this.#isBehindChunk ? 2 : 0;
    const lineEnd = this.#pending.indexOf('\r\n', start);
    if (lineEnd === -1) return false;
    const length = Number.parseInt(this.#pending.slice(start, lineEnd), 16);
    const end = lineEnd + 2 + (length === 0 ? 2 : length);
    if (this.#pending.length < end) return false;
    this.#text += this.#pending.slice(lineEnd + 2, end);
    this.#pending = this.#pending.slice(end);
    this.#isBehindChunk = length > 0;
    if (length === 0) return this.#end('');
    this.#readLines();
    return true;
  }

  #readLines(): void {
    for (let lineEnd = this.#text.indexOf('\n'); lineEnd !== -1; lineEnd = this.#text.indexOf('\n')) {
      const line = this.#text.slice(0, lineEnd);
      this.#text = this.#text.slice(lineEnd + 1);
      if (line.startsWith(DATA) && line.length > DATA.length) this.#events.onData(line.slice(DATA.length));
    }
  }

  #end(body: string): boolean {
    const status = this.#status;
    this.#status = 0;
    this.#text = '';
    this.#events.onEnd(status, body);
    return true;
  }
}
