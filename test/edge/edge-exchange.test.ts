// Large responses over real sockets: every byte arrives, and no more is written than the caller reads.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { connect, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { answerInParts, answerJoined } from '../../src/exchange/answers.js';
import type { AcceptedTypes } from '../../src/exchange/exchange.js';
import type { EdgeExchange } from '../../src/edge/edge-exchange.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { createMessageMemories, noWaiter } from '../../src/fair/message-memory.js';
import type { HttpResponse } from '../../src/edge/http-library.js';
import { startEdge, type EdgeServer, type Listener } from './edge-server.js';
import { createAccounts } from '../support/shares.js';
import { logInto } from '../support/log-lines.js';
import { Random } from '../support/random.js';
import { until } from '../support/until.js';

/** More than the kernel buffers for a caller that does not read. */
const LARGE_BYTES = 24 * 1024 * 1024;
const PART_BYTES = 300_000;

const large = patterned(LARGE_BYTES);

type Start = typeof startEdge;

/** The same with each HTTP library. */
function both(name: string, test: (t: Test, start: Start) => Promise<void>): void {
  for (const listener of ['uws', 'node'] as const satisfies readonly Listener[]) {
    const start: Start = (t, onRequest, overrides, shares, onResponse) =>
      startEdge(t, onRequest, overrides, shares, onResponse, listener);
    void t.test(`${listener}: ${name}`, (t) => test(t, start));
  }
}

/** A caller that has sent a request, and does not read yet. */
/** @param headers additional header lines, each with its line break. */
function ask(t: Test, { port }: EdgeServer, headers = ''): Socket {
  const socket = connect(port, '127.0.0.1').pause();
  t.teardown(() => socket.destroy());
  socket.write(`GET / HTTP/1.1\r\nhost: a\r\n${headers}\r\n`);
  return socket;
}

/** Reads one response with a content-length. */
async function answerOf(socket: Socket): Promise<{ head: string; body: Buffer }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let head: string | undefined;
  let wantedBytes = Infinity;
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (head !== undefined) return;
    const start = Buffer.concat(chunks).toString('latin1');
    if (!start.includes('\r\n\r\n')) return;
    head = start.slice(0, start.indexOf('\r\n\r\n'));
    wantedBytes = head.length + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
  });
  socket.resume();
  await until(() => bytes >= wantedBytes, 'the whole answer');
  return { head: head ?? '', body: Buffer.concat(chunks).subarray((head ?? '').length + 4) };
}

/** Reads so many responses with a content-length. */
async function bodiesOf(socket: Socket, count: number): Promise<Buffer[]> {
  const bodies: Buffer[] = [];
  let rest = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const headEnd = rest.indexOf('\r\n\r\n') + 4;
      if (headEnd === 3) return;
      const end = headEnd + Number(/\r\ncontent-length: (\d+)/i.exec(rest.toString('latin1', 0, headEnd))?.[1]);
      if (!(rest.length >= end)) return;
      bodies.push(rest.subarray(headEnd, end));
      rest = rest.subarray(end);
    }
  });
  socket.resume();
  await until(() => bodies.length === count, 'all answers');
  return bodies;
}

function patterned(bytes: number): Buffer {
  const random = new Random(8);
  const block = Buffer.from(Array.from({ length: 65_537 }, () => random.below(256)));
  return Buffer.alloc(bytes, block);
}

/** Writes `large` in parts as fast as the exchange takes them, and takes back their memory as soon as it may. */
class PartGiver {
  partCount = 0;
  readonly #exchange: EdgeExchange;
  #memory = Buffer.from(new ArrayBuffer(PART_BYTES));
  #at = 0;
  #isWaiting = false;

  constructor(exchange: EdgeExchange) {
    this.#exchange = exchange;
    exchange.onDrain = () => {
      if (!this.#isWaiting) return;
      this.#isWaiting = false;
      this.#moveMemory();
      this.#give();
    };
    exchange.openBody('application/json', large.length);
    this.#give();
  }

  #give(): void {
    while (!this.#isWaiting && this.#at < large.length) {
      const length = large.copy(this.#memory, 0, this.#at);
      this.#at += length;
      this.partCount += 1;
      this.#isWaiting = !this.#exchange.write(this.#memory.subarray(0, length));
      if (!this.#isWaiting) this.#moveMemory();
    }
    if (this.#at >= large.length) this.#exchange.end();
  }

  /** Simulates that the memory went to another thread and came back. */
  #moveMemory(): void {
    const { buffer } = this.#memory;
    this.#memory = Buffer.from(structuredClone(buffer, { transfer: [buffer] }));
  }
}

both('a body in parts arrives whole', async (t, startEdge) => {
  const edge = await startEdge(t, (exchange) => void new PartGiver(exchange));
  const { head, body } = await answerOf(ask(t, edge));
  t.match(head, /^HTTP\/1\.1 200 OK\r\ncontent-type: application\/json\r\n/i);
  t.notMatch(head, /transfer-encoding/i);
  t.ok(body.equals(large));
  await until(() => edge.context.openExchangeCount === 0, 'the end of the exchange');
});

both('a body in parts waits for a slow caller, and its memory may be reused', async (t, startEdge) => {
  let giver: PartGiver | undefined;
  const edge = await startEdge(t, (exchange) => (giver = new PartGiver(exchange)));
  const socket = ask(t, edge);
  await until(() => giver !== undefined, 'the request');
  const givenAtFirst = giver?.partCount ?? 0;
  t.ok(givenAtFirst < LARGE_BYTES / PART_BYTES / 2, `${givenAtFirst} parts before the caller reads`);
  t.equal(edge.context.openExchangeCount, 1);
  t.ok((await answerOf(socket)).body.equals(large));
  await until(() => edge.context.openExchangeCount === 0, 'the end of the exchange');
});

both('a caller that goes away in the middle of a body is noticed once', async (t, startEdge) => {
  let aborts = 0;
  const edge = await startEdge(t, (exchange) => {
    exchange.onAbort = () => (aborts += 1);
    new PartGiver(exchange);
  });
  const socket = ask(t, edge);
  await until(() => edge.context.openExchangeCount === 1, 'the request');
  socket.destroy();
  await until(() => edge.context.openExchangeCount === 0, 'the end of the exchange');
  t.equal(aborts, 1);
});

both('nobody is told of a caller that goes away before it has read a whole answer', async (t, startEdge) => {
  let aborts = 0;
  const edge = await startEdge(t, (exchange) => {
    exchange.onAbort = () => (aborts += 1);
    exchange.respond(200, 'application/json', large);
  });
  const socket = ask(t, edge);
  await until(() => edge.context.openExchangeCount === 1, 'the request');
  socket.destroy();
  await until(() => edge.context.openExchangeCount === 0, 'the end of the exchange');
  t.equal(aborts, 0);
});

both(
  'events whose length is known are not to be kept by caches or proxies, as a stream is not',
  async (t, startEdge) => {
    const events = Buffer.from('data: 1\n\n');
    const edge = await startEdge(t, (exchange) => {
      exchange.openBody('text/event-stream', events.length);
      exchange.write(events);
      exchange.end();
    });
    const { head, body } = await answerOf(ask(t, edge));
    for (const line of [
      /content-type: text\/event-stream/i,
      /cache-control: no-cache, no-transform/i,
      /x-accel-buffering: no/i,
    ])
      t.match(head, line);
    t.ok(body.equals(events));
  },
);

both('a body shorter than its declared length is a broken invariant', async (t, startEdge) => {
  let fault: unknown;
  const edge = await startEdge(t, (exchange) => {
    exchange.openBody('application/json', 2);
    exchange.write(Buffer.from('1'));
    try {
      exchange.end();
    } catch (error) {
      fault = error;
    }
    exchange.reset();
  });
  ask(t, edge);
  await until(() => fault !== undefined, 'the assertion');
  t.match(fault, { code: 'ERR_ASSERTION' });
});

both('an answer given as a whole waits for a slow caller too', async (t, startEdge) => {
  const edge = await startEdge(t, (exchange) => exchange.respond(200, 'application/json', large));
  const socket = ask(t, edge);
  await until(() => edge.context.openExchangeCount === 1, 'the request');
  t.ok((await answerOf(socket)).body.equals(large));
  await until(() => edge.context.openExchangeCount === 0, 'the end of the exchange');
});

t.test('answers of which only the latest is in lent memory reach callers that read late', async (t) => {
  const bodies = Array.from({ length: 400 }, (_, index) => Buffer.alloc(13_000 + index, `${index};`));
  let count = 0;
  const edge = await startEdge(t, (exchange) => {
    const body = bodies[count++]!;
    answerJoined(exchange, [body.subarray(0, 5_000), body.subarray(5_000)]);
  });
  // Each caller requests more than the kernel buffers for it, and all responses are written before any caller reads.
  const callers = bodies.slice(0, 4).map(() => ask(t, edge));
  for (const caller of callers) caller.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(99));
  await until(() => count === bodies.length || callers.some((caller) => caller.closed), 'all answers');
  const all = await Promise.all(callers.map((caller) => bodiesOf(caller, 100)));
  const got = all.flat().map((body) => body.toString('latin1'));
  t.same(got.sort(), bodies.map((body) => body.toString('latin1')).sort());
});

both('an answer in parts needs nobody who waits for room, and room for it is counted', async (t, startEdge) => {
  let exchange: EdgeExchange | undefined;
  const edge = await startEdge(t, (arrived) => {
    exchange = arrived;
    exchange.incoming.admit('ada', 'both', []);
    t.equal(exchange.reserve(LARGE_BYTES, noWaiter), 'room');
    exchange.openBody('application/json', LARGE_BYTES + 1);
    t.notOk(exchange.write(large));
  });
  const caller = ask(t, edge);
  await until(() => exchange !== undefined, 'the request');
  const answer = answerOf(caller);
  await until(() => caller.bytesRead > LARGE_BYTES, 'all but the last byte');
  t.ok(exchange?.write(Buffer.from('.')));
  exchange?.end();
  const { body } = await answer;
  t.ok(body.subarray(0, -1).equals(large) && body.at(-1) === '.'.charCodeAt(0));
});

both('while draining the connection closes after a body', async (t, startEdge) => {
  const edge = await startEdge(t, (exchange) => void new PartGiver(exchange));
  edge.context.isDraining = true;
  const { head } = await answerOf(ask(t, edge));
  t.match(head, /\r\nconnection: close/i);
});

/** A caller that sends a body of so many bytes, as fast as it is taken. */
function send(t: Test, { port }: EdgeServer, bytes: number): Socket {
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${bytes}\r\n\r\n`);
  socket.write(large.subarray(0, bytes));
  return socket;
}

both('a body that is held is read no further until it is let in', async (t, startEdge) => {
  let exchange: EdgeExchange | undefined;
  const onRequest = (arrived: EdgeExchange): void => {
    exchange = arrived;
    exchange.incoming.awaitAdmission();
  };
  const edge = await startEdge(t, onRequest, { bodyBytesMax: LARGE_BYTES });
  const socket = send(t, edge, LARGE_BYTES);
  await until(() => exchange !== undefined, 'the request');
  // Other work of the worker changes nothing: each of these requests takes a turn of its event loop.
  for (let i = 0; i < 3; i++) {
    const other = ask(t, await startEdge(t, (arrived) => arrived.respond(200, 'text/plain', 'x')));
    t.equal((await answerOf(other)).body.toString(), 'x');
  }
  t.ok(socket.writableLength > 0, 'the caller waits');
  exchange?.incoming.admit('ada', 'both', []);
  t.equal(await new Promise((resolve) => exchange?.incoming.receive(resolve)), 'complete');
  t.ok(exchange?.request.body.equals(large));
  exchange?.respond(200, 'text/plain', 'x');
  t.equal((await answerOf(socket)).body.toString(), 'x');
});

both('a connection continues after a body that was held but arrived whole all the same', async (t, startEdge) => {
  // More than the library reads at once, less than it reads in one turn.
  const BODY_BYTES = 1_500_000;
  const onRequest = (exchange: EdgeExchange): void => {
    exchange.incoming.awaitAdmission();
    exchange.incoming.receive((outcome) =>
      exchange.respond(200, 'text/plain', `${outcome} ${exchange.request.body.length}`),
    );
    void until(() => exchange.incoming.receivedBytes + exchange.request.body.length > 0, 'some of the body').then(() =>
      exchange.incoming.admit('ada', 'both', []),
    );
  };
  const edge = await startEdge(t, onRequest, { bodyBytesMax: BODY_BYTES });
  const socket = connect(edge.port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  for (let request = 1; request <= 10; request += 1) {
    const head = Buffer.from(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${BODY_BYTES}\r\n\r\n`);
    socket.write(Buffer.concat([head, large.subarray(0, BODY_BYTES)]));
    await until(() => text.split(`complete ${BODY_BYTES}`).length > request, `answer ${request}`);
  }
  t.equal(text.split('HTTP/1.1 200').length, 11);
});

both('a body that is held when its request is refused is read, and dropped', async (t, startEdge) => {
  let exchange: EdgeExchange | undefined;
  const onRequest = (arrived: EdgeExchange): void => {
    exchange = arrived;
    exchange.incoming.awaitAdmission();
  };
  const edge = await startEdge(t, onRequest, { bodyBytesMax: LARGE_BYTES });
  const socket = send(t, edge, LARGE_BYTES);
  await until(() => exchange !== undefined, 'the request');
  exchange?.respond(401, 'text/plain', 'no');
  t.equal((await answerOf(socket)).body.toString(), 'no');
  await until(() => socket.writableLength === 0, 'the rest of the body to be read');
  t.equal(exchange?.incoming.receivedBytes, 0);
});

both('the memory of an upload that is cut is used again', async (t, startEdge) => {
  const ANNOUNCED_BYTES = 1024 * 1024;
  let exchange: EdgeExchange | undefined;
  const edge = await startEdge(t, (arrived) => (exchange = arrived), { bodyBytesMax: ANNOUNCED_BYTES });
  const returned: number[] = [];
  const onReturned = (memory: unknown): void => void returned.push((memory as Uint8Array).length);
  subscribe('switchyard:memory:returned', onReturned);
  t.teardown(() => unsubscribe('switchyard:memory:returned', onReturned));
  const socket = connect(edge.port, '127.0.0.1');
  socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${ANNOUNCED_BYTES}\r\n\r\n`);
  for (const bytes of [1, 2]) {
    socket.write('a');
    await until(() => exchange?.incoming.receivedBytes === bytes, `${bytes} bytes`);
  }
  socket.destroy();
  await until(() => returned.includes(ANNOUNCED_BYTES), 'its memory');
});

both('a stream, which may be open for hours, does not keep its caller’s token in memory', async (t, startEdge) => {
  let streaming: EdgeExchange | undefined;
  const token = 'Bearer a.b.c';
  const edge = await startEdge(t, (exchange) => {
    t.equal(exchange.head.authorization, token);
    t.ok(exchange.head.headers.includes(token));
    exchange.openStream();
    exchange.write(Buffer.from(': here\n\n'));
    streaming = exchange;
  });
  ask(t, edge, `authorization: ${token}\r\n`);
  await until(() => streaming !== undefined, 'the stream');
  t.notOk(JSON.stringify(streaming?.head).includes(token));
  streaming?.end();
});

both('an event in parts is not broken by comment lines, however slow its caller is', async (t, startEdge) => {
  const event = Buffer.concat([Buffer.from('data: '), Buffer.alloc(LARGE_BYTES, 120), Buffer.from('\n\n')]);
  const onRequest = (exchange: EdgeExchange): void => {
    let at = 0;
    const give = (): void => {
      let hasRoom = true;
      while (hasRoom && at < event.length) {
        hasRoom = exchange.write(event.subarray(at, (at += PART_BYTES)));
      }
      if (hasRoom) exchange.end();
    };
    exchange.onDrain = give;
    exchange.openStream();
    give();
  };
  const edge = await startEdge(t, onRequest);
  const socket = ask(t, edge);
  await until(() => edge.context.openExchangeCount === 1, 'the request');
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  socket.resume();
  await until(() => pieces.at(-1)?.toString('latin1').endsWith('\r\n0\r\n\r\n') ?? false, 'the end');
  const text = Buffer.concat(pieces).toString('latin1');
  const body = text.slice(text.indexOf('\r\n\r\n') + 4).replaceAll(/(?:^|\r\n)[0-9a-f]+\r\n/g, '');
  t.ok(body.startsWith(event.toString('latin1')), 'the event is there to the byte');
});

t.test('an answer that ends a stream while an event before it is held back arrives whole', async (t) => {
  const [event, last] = [7_000, 6_000].map((bytes) => Buffer.from(`data: ${'x'.repeat(bytes)}\n\n`)) as [
    Buffer,
    Buffer,
  ];
  let isHeldBack = true;
  let onWritable: ((offset: number) => boolean) | undefined;
  const onRequest = (exchange: EdgeExchange): void => {
    exchange.openStream();
    exchange.write(event);
    exchange.end(last);
  };
  // The library takes all bytes, but reports that it holds some of them back until the test says otherwise.
  const holdBack = (res: HttpResponse): void => {
    const write = res.write.bind(res);
    res.write = (bytes) => write(bytes) && !isHeldBack;
    res.onWritable = (handler) => {
      onWritable = handler;
      return res;
    };
  };
  const edge = await startEdge(t, onRequest, {}, {}, holdBack);
  const socket = ask(t, edge);
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece)).resume();
  const text = (): string => Buffer.concat(pieces).toString('latin1');
  await until(() => text().includes('xxx'), 'the event');
  isHeldBack = false;
  onWritable?.(0);
  await until(() => text().endsWith('\r\n0\r\n\r\n'), 'the end');
  const body = text().slice(text().indexOf('\r\n\r\n') + 4);
  const events = body.replaceAll(/(?:^|\r\n)[0-9a-f]+\r\n/g, '').replaceAll(/^:.*\n\n/gm, '');
  t.ok(events.startsWith(Buffer.concat([event, last]).toString('latin1')), 'both events are there to the byte');
});

t.test('a caller that takes a little at each attempt is not cut off, though the library says nothing', async (t) => {
  let nowMs = 1_000;
  t.intercept(performance, 'now', { value: () => nowMs });
  const deadlines = new DeadlineWheel(100, () => nowMs);
  t.teardown(() => deadlines.stop());
  const ends: unknown[] = [];
  let takenBytes = 0;
  let takesMore = true;
  const takeLittle = (res: HttpResponse): void => {
    res.onWritable = () => res;
    res.getWriteOffset = () => takenBytes;
    res.tryEnd = () => {
      if (takesMore) takenBytes += 1_000;
      return [false, false];
    };
  };
  const onRequest = (exchange: EdgeExchange): void => {
    exchange.onDone = (...end) => ends.push(end);
    exchange.respond(200, 'application/json', large);
  };
  const edge = await startEdge(t, onRequest, { deadlines, slowReaderTimeoutMs: 2_000 }, {}, takeLittle);
  ask(t, edge);
  await until(() => takenBytes > 0, 'the request');
  const pass = (ms: number): void => {
    for (const endMs = nowMs + ms; nowMs < endMs; deadlines.tick()) nowMs += 100;
  };
  pass(20_000);
  t.same(ends, []);
  takesMore = false;
  pass(5_000);
  t.match(ends, [[200, Number, 'cut']]);
});

both('nothing is written of an answer that is reset in the turn in which it is given', async (t, startEdge) => {
  const ends: unknown[] = [];
  const edge = await startEdge(t, (exchange) => {
    exchange.onDone = (...end) => ends.push(end);
    exchange.respond(400, 'application/json', large);
    exchange.reset();
  });
  const socket = ask(t, edge, 'content-type: text/plain\r\nauthorization: a\r\nauthorization: b\r\n');
  let read = 0;
  socket.on('data', ({ length }: Buffer) => (read += length)).resume();
  await until(() => socket.closed, 'the end of the connection');
  t.equal(read, 0);
  t.match(ends, [[400, 0, 'cut']]);
});

both('the memory of a large body is reused as soon as it was released', async (t, startEdge) => {
  const returned: ArrayBufferLike[] = [];
  const note = (memory: unknown): void => void returned.push((memory as Uint8Array).buffer);
  subscribe('switchyard:memory:returned', note);
  t.teardown(() => unsubscribe('switchyard:memory:returned', note));
  let memory: ArrayBufferLike | undefined;
  const onRequest = (exchange: EdgeExchange): void => {
    exchange.incoming.admit('ada', 'both', []);
    exchange.incoming.receive(() => {
      memory = exchange.request.body.buffer;
      t.notOk(returned.includes(memory));
      exchange.releaseBody();
      exchange.respond(202, '', '');
    });
  };
  send(t, await startEdge(t, onRequest, { bodyBytesMax: LARGE_BYTES }), 1_000_000);
  await until(() => memory !== undefined, 'the body');
  t.ok(returned.includes(memory!));
});

both('a caller that reads nothing for too long is cut off, once', async (t, startEdge) => {
  const lines: string[] = [];
  const ends: unknown[] = [];
  let aborts = 0;
  const onRequest = (exchange: EdgeExchange): void => {
    exchange.onDone = (...end) => ends.push(end);
    exchange.onAbort = () => (aborts += 1);
    exchange.openStream();
    exchange.write(large);
  };
  const edge = await startEdge(t, onRequest, { slowReaderTimeoutMs: 200, logger: logInto(lines) });
  ask(t, edge);
  await until(() => ends.length === 1, 'the cut');
  t.match(ends, [[200, Number, 'cut']]);
  t.equal(aborts, 1, 'the relay learns of it as of a caller that went away');
  t.equal(edge.context.openExchangeCount, 0);
  t.match(lines, [/did not read its response/]);
});

/** How an exchange can end while its caller has not read the response. */
const endings: Record<string, (socket: Socket, exchange: EdgeExchange) => void> = {
  'is read': (socket) => void socket.resume(),
  'is left by its caller': (socket) => void socket.destroy(),
  'is cut': (_socket, exchange) => exchange.reset(),
  'is not read for too long': () => {},
};

both(
  'a message that is passed on in pieces counts in the share of answers until its exchange is finished',
  async (t, startEdge) => {
    const parts = [large.subarray(0, 100), large.subarray(100)];
    for (const answerForms of ['json', 'event-stream'] as const satisfies readonly AcceptedTypes[]) {
      for (const [ending, end] of Object.entries(endings)) {
        const accounts = createAccounts();
        const deadlines = new DeadlineWheel();
        t.teardown(() => deadlines.stop());
        let exchange: EdgeExchange | undefined;
        const onRequest = (arrived: EdgeExchange): void => {
          exchange = arrived;
          arrived.incoming.admit('ada', answerForms, []);
          answerInParts(arrived, parts);
        };
        const edge = await startEdge(t, onRequest, {
          answerMemory: createMessageMemories(accounts, deadlines).answers,
          slowReaderTimeoutMs: ending === 'is not read for too long' ? 200 : 60_000,
        });
        const socket = ask(t, edge);
        await until(() => exchange !== undefined, 'the request');
        t.equal(accounts.of('ada').answerBytes.used, LARGE_BYTES, `${answerForms}: all of it, before it ${ending}`);
        end(socket, exchange!);
        await until(() => edge.context.openExchangeCount === 0, 'the end of the exchange');
        t.equal(accounts.used('answerBytes'), 0, `${answerForms}: nothing, once it ${ending}`);
      }
    }
  },
);
