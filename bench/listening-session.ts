// A session with an open GET stream, or the stream of a `subscriptions/listen`, on a connection of its own that stays open.
import { connect, type Socket } from 'node:net';
import { ANSWER_SECONDS_MAX, headersOf, openSession } from './bench-session.js';
import { requestBytes } from './http-exchanges.js';
import type { ConnectionPlan } from './load-plan.js';

const GOOD = 'HTTP/1.1 200 ';

export class ListeningSession {
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Resolves when the stream has begun, and throws otherwise. */
  static async open(origin: string, plan: ConnectionPlan): Promise<ListeningSession> {
    const { sessionId } = await openSession(origin, plan);
    const [opening] = plan.script.opening;
    const [listen] = plan.script.loop;
    const step = opening === undefined && listen !== undefined ? listen : streamOf(opening?.path ?? '/');
    const { authorization, ...ids } = headersOf(
      plan,
      { ...step, method: 'POST', session: 'carries', expectedBody: undefined },
      sessionId,
    );
    const headers = { ...ids, authorization: authorization ?? '', accept: 'text/event-stream' };
    const { hostname, port, host } = new URL(origin);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    socket.setTimeout(ANSWER_SECONDS_MAX * 1_000, () => socket.destroy(new Error('the stream did not begin in time')));
    socket.write(requestBytes(host, { ...step, headers }));
    const head = await new Promise<Buffer>((resolve, reject) => {
      socket.once('data', resolve).once('error', reject);
      socket.once('end', () => reject(new Error('the stream was closed at once')));
    });
    if (!head.toString('latin1').startsWith(GOOD))
      throw new Error(`${step.method} was answered ${head.toString('latin1', 0, 200)}`);
    socket.setTimeout(0);
    // The contents do not matter, but must be read.
    socket.removeAllListeners('error').removeAllListeners('end');
    socket.on('error', () => socket.destroy()).resume();
    return new ListeningSession(socket);
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.readable;
  }

  close(): void {
    this.#socket.destroy();
  }
}

function streamOf(path: string): { readonly method: 'GET'; readonly path: string; readonly body: undefined } {
  return { method: 'GET', path, body: undefined };
}
