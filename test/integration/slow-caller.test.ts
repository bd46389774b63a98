// A caller that stops reading for a while. What the gateway buffers for it must be sent once it reads again, even when the backend
// sends nothing more.
import { connect, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { backendFor, startDeployment } from '../support/deployment.js';
import { readEvents } from '../support/event-stream.js';
import type { LogLine } from '../support/gateway.js';
import type { McpSession, RpcMessage } from '../support/mcp-caller.js';
import { encodeRequest, RawConnection } from '../support/raw-http.js';
import { until } from '../support/until.js';

/** More than the kernel buffers for a caller that does not read. */
const LARGE_BYTES = 8 * 1024 * 1024;
/** Less than the silence after which the gateway writes a comment line, which would flush whatever is stuck. */
const READ_MS_MAX = 60_000;

t.test('an event that a slow caller has only partly read arrives whole, though nothing follows it', async (t) => {
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => (finish = resolve));
  t.teardown(() => finish());
  const backend = await backendFor(t, {
    answerAs: 'event-stream',
    framing: 'chunked',
    onCall: async (call) => {
      const params = { progressToken: 'p', progress: 1, message: 'x'.repeat(LARGE_BYTES) };
      await call.notify('notifications/progress', params);
      await finished;
    },
  });
  const deployment = await startDeployment(t, { workerCount: 1 });
  const caller = await deployment.caller({ one: { url: backend.url } });
  const session = await caller.openSession();
  const connection = await RawConnection.open(caller.origin);
  t.teardown(() => connection.close());
  connection.pause();
  const params = '{"name":"one-echo","_meta":{"progressToken":"p"}}';
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
  connection.write(encodeRequest(caller.origin, caller.request({ session: session.id, body })));
  await until(() => {
    const upstream = backend.calls[0]?.request.connection;
    return upstream !== undefined && upstream.bytesWritten > LARGE_BYTES && upstream.writableLength === 0;
  }, 'the event to be in the gateway');
  t.equal((await session.send('{"jsonrpc":"2.0","id":2,"method":"ping"}')).status, 200, 'others are served meanwhile');
  const resumedAtMs = performance.now();
  connection.resume();
  await until(() => connection.unread.length > LARGE_BYTES, 'the whole event');
  t.ok(performance.now() - resumedAtMs < READ_MS_MAX, 'without waiting for anything to follow');
});

/** Longer than uWebSockets.js itself tolerates a connection that takes nothing: up to twelve seconds. */
const STOPPED_MS = 13_000;
const ANSWER_BYTES = 12 * 1024 * 1024;
/** Enough events to fill the kernel's buffers of both connections and the gateway's own. */
const EVENT_COUNT = 120;
const EVENT_BYTES = 256 * 1024;

/** A caller that sends a request, stops reading at once, and collects the bytes without parsing them. */
class StoppedCaller {
  readonly #socket: Socket;
  readonly #pieces: Buffer[] = [];
  bytes = 0;
  isEnded = false;

  constructor(t: Test, { caller, id }: McpSession, params: string) {
    const { hostname, port } = new URL(caller.origin);
    this.#socket = connect(Number(port), hostname).pause();
    t.teardown(() => this.#socket.destroy());
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => (this.isEnded = true));
    this.#socket.on('data', (piece: Buffer) => {
      this.#pieces.push(piece);
      this.bytes += piece.length;
    });
    this.#socket.pause();
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
    this.#socket.write(encodeRequest(caller.origin, caller.request({ session: id, body })));
  }

  resume(): void {
    this.#socket.resume();
  }

  /** The body of the response, once its last bytes are `ending`. */
  async bodyThatEnds(ending: string): Promise<Buffer> {
    await until(
      () => this.isEnded || (this.#pieces.at(-1)?.toString('latin1').endsWith(ending) ?? false),
      'the answer',
    );
    const all = Buffer.concat(this.#pieces);
    return all.subarray(all.indexOf('\r\n\r\n') + 4);
  }

  /** The events of the response. */
  async events(): Promise<string[]> {
    const chunked = await this.bodyThatEnds('\r\n0\r\n\r\n');
    const chunks: Buffer[] = [];
    for (let at = 0; ;) {
      const lineEnd = chunked.indexOf('\r\n', at);
      const bytes = Number.parseInt(chunked.toString('latin1', at, lineEnd), 16);
      if (!(bytes > 0)) return readEvents(Buffer.concat(chunks));
      chunks.push(chunked.subarray(lineEnd + 2, lineEnd + 2 + bytes));
      at = lineEnd + 2 + bytes + 2;
    }
  }
}

async function passed(ms: number): Promise<void> {
  const sinceMs = performance.now();
  await until(() => performance.now() - sinceMs > ms, `${ms} ms to pass`);
}

for (const workerCount of [1, 4]) {
  t.test(`${workerCount} workers: who stops reading and goes on gets all of it`, async (t) => {
    // However slow the machine is, a plain response must not become a stream.
    const deployment = await startDeployment(t, { workerCount, options: ['--slow-answer', '10m'] });
    const text = 'y'.repeat(ANSWER_BYTES);
    const backends = {
      whole: await backendFor(t, { onCall: () => ({ content: [{ type: 'text', text }] }) }),
      event: await backendFor(t, {
        answerAs: 'event-stream',
        framing: 'chunked',
        onCall: (call) => call.notify('notifications/progress', { progressToken: 'p', progress: 1, message: text }),
      }),
      events: await backendFor(t, {
        answerAs: 'event-stream',
        framing: 'chunked',
        onCall: async (call) => {
          const message = 'z'.repeat(EVENT_BYTES);
          for (let progress = 1; progress <= EVENT_COUNT; progress++) {
            await call.notify('notifications/progress', { progressToken: 'p', progress, message });
          }
        },
      }),
    };
    const urls = Object.entries(backends).map(([name, { url }]) => [name, { url }] as const);
    const session = await (await deployment.caller(Object.fromEntries(urls))).openSession();
    const ask = (backend: string): StoppedCaller =>
      new StoppedCaller(t, session, `{"name":"${backend}-echo","_meta":{"progressToken":"p"}}`);
    // With four workers most of these take a hop.
    const whole = [ask('whole'), ask('whole'), ask('whole')];
    const event = [ask('event'), ask('event'), ask('event')];
    const events = ask('events');
    await passed(STOPPED_MS);
    const unsent = backends.events.calls[0]?.request.connection.writableLength ?? 0;
    t.ok(unsent > 0, `the backend waits too, with ${unsent} bytes`);
    for (const connection of [...whole, ...event, events]) connection.resume();
    for (const connection of whole) {
      t.ok((await connection.bodyThatEnds('}')).includes(text), 'an answer as a whole');
    }
    for (const connection of event) {
      const [progress = '', answer = ''] = await connection.events();
      t.ok(progress.includes(text), 'an event to the byte');
      t.match(JSON.parse(answer), { id: 1, result: {} });
    }
    const messages = (await events.events()).map((data) => JSON.parse(data) as RpcMessage);
    t.same(
      messages.slice(0, -1).map(({ params }) => (params as { progress: number }).progress),
      Array.from({ length: EVENT_COUNT }, (_, n) => n + 1),
      'every event, in order',
    );
    t.match(messages.at(-1), { id: 1, result: {} });
  });
}

t.test('who reads nothing for --slow-reader-timeout is cut off, and both logs say so', async (t) => {
  const options = ['--slow-reader-timeout', '1s', '--access-log'];
  const deployment = await startDeployment(t, { workerCount: 1, options });
  const text = 'y'.repeat(ANSWER_BYTES);
  const backend = await backendFor(t, { onCall: () => ({ content: [{ type: 'text', text }] }) });
  const session = await (await deployment.caller({ one: { url: backend.url } })).openSession();
  const connection = new StoppedCaller(t, session, '{"name":"one-echo"}');
  const { logs } = deployment.gateway;
  const isAccess = (line: LogLine): boolean => line['tool'] === 'echo';
  await until(() => logs.some(isAccess), 'the line of the access log');
  t.match(logs.find(isAccess), { status: 200, cut: true, callerGone: false });
  t.ok(logs.some(({ msg }) => String(msg).startsWith('client disconnected: it did not read')));
  connection.resume();
  await until(() => connection.isEnded, 'the end of the connection');
  t.ok(connection.bytes < ANSWER_BYTES);
  t.equal((await session.send('{"jsonrpc":"2.0","id":2,"method":"ping"}')).status, 200, 'its session goes on');
});
