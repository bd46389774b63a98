// Calls in which a backend asks its caller something first: the call's response is an event stream that begins with an
// elicitation, and ends with the result when the caller has answered on a connection of its own. Hot path.
import type { Socket } from 'node:net';

const ID_PREFIX = '"id":"confirm-';
const ACCEPTED = '"action":"accept"';
/** `x-accel-buffering` makes nginx pass events on as they come. */
const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\nx-accel-buffering: no\r\n' +
  'transfer-encoding: chunked\r\n\r\n';
const ASKED =
  '"method":"elicitation/create","params":{"message":"Add these two numbers?","requestedSchema":' +
  '{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}}}';

/** The answer that the load gives. */
export const confirmationResult = '{"action":"accept","content":{"word":"yes"}}';

interface Waiting {
  readonly socket: Socket;
  /** The message with which the call ends. */
  readonly answer: string;
}

export class Confirmations {
  readonly #waiting = new Map<string, Waiting>();
  #count = 0;

  /** @returns the bytes to send now. */
  ask(socket: Socket, answer: string): string {
    this.#count += 1;
    const number = String(this.#count);
    this.#waiting.set(number, { socket, answer });
    return `${STREAM_HEAD}${chunkOf(`{"jsonrpc":"2.0",${ID_PREFIX}${number}",${ASKED}`)}`;
  }

  /** @returns whether the body answers a pending elicitation. A call that was answered wrongly never ends. */
  take(body: string): boolean {
    const start = body.indexOf(ID_PREFIX);
    if (start === -1 || !body.includes(ACCEPTED)) return false;
    const numberStart = start + ID_PREFIX.length;
    const number = body.slice(numberStart, body.indexOf('"', numberStart));
    const waiting = this.#waiting.get(number);
    if (waiting === undefined) return false;
    this.#waiting.delete(number);
    waiting.socket.write(`${chunkOf(waiting.answer)}0\r\n\r\n`, 'latin1');
    return true;
  }

  /** The connection is closed, and with it the call on it is over. */
  forget(socket: Socket): void {
    for (const [number, waiting] of this.#waiting) if (waiting.socket === socket) this.#waiting.delete(number);
  }
}

/** The message is ASCII, so a character is a byte. */
function chunkOf(message: string): string {
  const event = `event: message\ndata: ${message}\n\n`;
  return `${event.length.toString(16)}\r\n${event}\r\n`;
}
