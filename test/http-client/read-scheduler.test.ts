// How many bytes backends may deliver in one turn of the event loop, and who is read from next: with real sockets, and with a simulated
// clock where time matters.
import t, { type Test } from 'tap';
import { plainRequest, type UpstreamHandler } from '../../src/http-client/http-upstream.js';
import { Names } from '../../src/http-client/names/names.js';
import { Http1Upstream } from '../../src/http-client/http1-upstream.js';
import {
  ReadPace,
  ReadQueueEntry,
  ReadScheduler,
  UPSTREAM_KEPT_BYTES_MAX,
  UPSTREAM_SLICE_BYTES_MAX,
  UPSTREAM_TURN_BYTES_TOTAL_MAX,
} from '../../src/http-client/read-scheduler.js';
import { limits } from '../../src/shared/limits.js';
import { startRawBackend, type RawBackend, type RawHandler, type ReceivedRequest } from '../support/raw-backend.js';
import { until } from '../support/until.js';
import { connectionBounds } from '../../src/http-client/connection-bounds.js';

const MIB = 1024 * 1024;
const PIECE = Buffer.alloc(256 * 1024, 'x');

class Listener implements UpstreamHandler {
  bytes = 0;
  isOver = false;
  onBytes = (_bytes: number): void => undefined;

  onHead(): void {}

  onData(chunk: Buffer): void {
    this.bytes += chunk.length;
    this.onBytes(chunk.length);
  }

  onEnd(): void {
    this.isOver = true;
  }

  onFault(): void {
    this.isOver = true;
  }
}

/** Responds as the request asks: with a number of bytes, or without end. */
async function answer(request: ReceivedRequest): Promise<void> {
  const { bytes } = JSON.parse(request.text) as { bytes: number | null };
  if (bytes !== null) {
    request.bytes(`HTTP/1.1 200 OK\r\ncontent-length: ${bytes}\r\n\r\n${'x'.repeat(bytes)}`);
    return;
  }
  request.bytes('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n');
  while (!request.connection.destroyed) {
    await new Promise<unknown>((resolve) => request.connection.write(PIECE, resolve));
  }
}

class Scene {
  readonly #upstream: Http1Upstream;
  readonly #backend: RawBackend;

  private constructor(upstream: Http1Upstream, backend: RawBackend) {
    this.#upstream = upstream;
    this.#backend = backend;
  }

  static async start(t: Test, readScheduler = new ReadScheduler(), handler: RawHandler = answer): Promise<Scene> {
    const backend = await startRawBackend(handler);
    const upstream = new Http1Upstream({ connectTimeoutMs: 10_000, names: new Names(), readScheduler });
    t.teardown(async () => {
      await upstream.close();
      await backend.close();
    });
    return new Scene(upstream, backend);
  }

  /** @param bytes of the response; `null` for an endless one. */
  send(subject: string, bytes: number | null, onBytes = (_bytes: number): void => undefined): Listener {
    const listener = new Listener();
    listener.onBytes = onBytes;
    const target = { origin: this.#backend.origin, path: '/mcp' };
    const body = Buffer.from(JSON.stringify({ bytes }));
    this.#upstream.dispatch(plainRequest(subject, target, 'POST', [], body), listener);
    return listener;
  }

  /** Starts endless responses, and waits until more than one turn's bytes of each were read. */
  async stream(subject: string, count: number, onBytes?: (bytes: number) => void): Promise<readonly Listener[]> {
    const listeners = Array.from({ length: count }, () => this.send(subject, null, onBytes));
    await until(() => listeners.every(({ bytes }) => bytes > UPSTREAM_SLICE_BYTES_MAX), `streams of ${subject}`);
    return listeners;
  }
}

t.test('a hundred endless answers together leave each turn to others', async (t) => {
  const scene = await Scene.start(t);
  let turnBytes = 0;
  let turnBytesMost = 0;
  let turns = 0;
  const onBytes = (bytes: number): void => {
    turnBytes += bytes;
    turnBytesMost = Math.max(turnBytesMost, turnBytes);
  };
  const streams = [await scene.stream('mallory', 50, onBytes), await scene.stream('eve', 50, onBytes)].flat();
  turnBytesMost = 0;
  const before = streams.map(({ bytes }) => bytes);
  while (streams.some(({ bytes }, index) => bytes === before[index])) {
    turnBytes = 0;
    turns += 1;
    await new Promise(setImmediate);
  }
  const bytesMost = UPSTREAM_TURN_BYTES_TOTAL_MAX + connectionBounds.upstreamReadBytes;
  t.ok(turnBytesMost > 0 && turnBytesMost <= bytesMost, `${turnBytesMost} bytes in one of ${turns} turns`);
});

t.test("one subject's answers do not wait behind the fifty of another", async (t) => {
  const scene = await Scene.start(t);
  let foreignBytes = 0;
  await scene.stream('mallory', 50, (bytes) => (foreignBytes += bytes));
  const own = 4 * MIB;
  let foreignBytesBefore = -1;
  const large = scene.send('alice', own, () => {
    if (foreignBytesBefore === -1) foreignBytesBefore = foreignBytes;
  });
  await until(() => large.isOver, 'the large answer');
  t.equal(large.bytes, own);
  // If the large response waited behind all fifty streams, this would be fifty times its own size.
  const bytesWhile = foreignBytes - foreignBytesBefore;
  t.ok(bytesWhile < 10 * own, `${bytesWhile} bytes of another while ${own} were read`);
  for (let calls = 0; calls < 20; calls += 1) {
    const before = foreignBytes;
    const small = scene.send('alice', 100);
    await until(() => small.isOver, 'a small answer');
    t.equal(small.bytes, 100);
    t.ok(foreignBytes - before < 50 * UPSTREAM_SLICE_BYTES_MAX, 'it waits for nobody');
  }
});

t.test('costly answers that arrive at once are handled a few a turn, whole, however they end', async (t) => {
  const count = 60;
  const bytes = 40_000;
  let nowMs = 0;
  const requests: ReceivedRequest[] = [];
  const scene = await Scene.start(t, new ReadScheduler(() => nowMs), (request) => {
    requests.push(request);
    if (requests.length < count) return;
    for (const [index, each] of requests.splice(0).entries()) {
      const head = ['content-length: 40000', `content-length: 40000\r\nconnection: close`, 'connection: close'][
        index % 3
      ];
      each.bytes(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${'x'.repeat(bytes)}`);
      if (index % 3 > 0) each.destroy();
    }
  });
  let pieces = 0;
  let piecesMost = 0;
  const onBytes = (): void => {
    nowMs += 2;
    pieces += 1;
    piecesMost = Math.max(piecesMost, pieces);
  };
  for (let round = 0; round < 3; round += 1) {
    const answers = Array.from({ length: count }, (_, index) => scene.send(`subject ${index % 2}`, bytes, onBytes));
    while (answers.some(({ isOver }) => !isOver)) {
      pieces = 0;
      await new Promise(setImmediate);
    }
    t.ok(
      answers.every((answer) => answer.bytes === bytes),
      'all bytes of all',
    );
  }
  // The reads of one turn, plus the kept pieces that are processed between two turns.
  const most = 2 * (1 + Math.ceil(limits.turnMs / 2));
  t.ok(piecesMost <= most, `${piecesMost} pieces in one turn`);
});

t.test('a stream of costly events is handed over in small pieces, a few a turn, whole, however it comes', async (t) => {
  const bytes = 400_000;
  const event = 'x'.repeat(100);
  const events = event.repeat(bytes / event.length);
  const forms: Readonly<Record<string, readonly [head: string, body: string]>> = {
    'of a length': [`content-length: ${bytes}`, events],
    'in large chunks': ['transfer-encoding: chunked', `${bytes.toString(16)}\r\n${events}\r\n0\r\n\r\n`],
    'a chunk an event': ['transfer-encoding: chunked', `${`64\r\n${event}\r\n`.repeat(bytes / event.length)}0\r\n\r\n`],
    'to the end of the connection': ['connection: close', events],
  };
  for (const [what, [head, body]] of Object.entries(forms)) {
    let nowMs = 0;
    const scene = await Scene.start(t, new ReadScheduler(() => nowMs), (request) => {
      request.bytes(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n${head}\r\n\r\n${body}`);
      if (head.startsWith('connection')) request.destroy();
    });
    let turnBytes = 0;
    let turnBytesMost = 0;
    const stream = scene.send('mallory', null, (length) => {
      nowMs += length / 1_000;
      turnBytes += length;
      turnBytesMost = Math.max(turnBytesMost, turnBytes);
    });
    while (!stream.isOver) {
      turnBytes = 0;
      await new Promise(setImmediate);
    }
    t.equal(stream.bytes, bytes, what);
    // One piece before the clock is looked at, one that uses up the turn, and as much between two turns; at the end, what was read last.
    const most = 4 * connectionBounds.upstreamEventBytesAtOnce;
    const lastMost = head.startsWith('connection') ? connectionBounds.upstreamReadBytes : 0;
    t.ok(turnBytesMost <= most + lastMost, `${what}: ${turnBytesMost} bytes in one turn`);
  }
});

t.test('small costly answers take turns by subject, and never wait for large ones', async (t) => {
  const count = 200;
  let nowMs = 0;
  const requests: ReceivedRequest[] = [];
  const scene = await Scene.start(t, new ReadScheduler(() => nowMs), async (request) => {
    const { bytes } = JSON.parse(request.text) as { bytes: number | null };
    if (bytes === null) return answer(request);
    requests.push(request);
    if (requests.length < count + 1) return;
    for (const each of requests.splice(0)) await answer(each);
  });
  let served = 0;
  let servedMost = 0;
  const onAnswer = (): void => {
    nowMs += 1;
    served += 1;
    servedMost = Math.max(servedMost, served);
  };
  const streams = await scene.stream('streams', 10);
  for (let round = 0; round < 3; round += 1) {
    const streamed = streams.map(({ bytes }) => bytes);
    const theirs = Array.from({ length: count }, () => scene.send('mallory', 100, onAnswer));
    let theirsBefore = -1;
    let servedBefore = 0;
    let turns = 0;
    const own = scene.send('alice', 100, () => {
      theirsBefore = theirs.filter(({ isOver }) => isOver).length;
      onAnswer();
    });
    while ([own, ...theirs].some(({ isOver }) => !isOver)) {
      servedBefore += served;
      if (served > 0) turns += 1;
      served = 0;
      await new Promise(setImmediate);
    }
    t.same(
      [own, ...theirs].map(({ bytes }) => bytes),
      Array(count + 1).fill(100),
    );
    t.ok(turns > 1 && servedBefore > 0, `${turns} turns`);
    t.ok(theirsBefore < count, 'who has one is not behind all of another');
    t.ok(
      streams.some(({ bytes }, index) => bytes > streamed[index]!),
      'streams go on',
    );
  }
  // The reads of a turn, with up to two looks at the clock, plus the time for kept pieces between two turns.
  const upstreamSmallReadsUntimedMax = connectionBounds.upstreamSmallReadsUntimedMax;
  const { turnMs } = limits;
  const most = 2 * upstreamSmallReadsUntimedMax + 2 * turnMs;
  t.ok(servedMost > 0 && servedMost <= most, `${servedMost} answers in one turn, ${most} at most`);
});

t.test('connections are reused by anybody, also when their answers took many turns', async (t) => {
  const scene = await Scene.start(t);
  for (let round = 0; round < 3; round += 1) {
    const answers = Array.from({ length: 30 }, (_, index) => scene.send(`subject ${index % 3}`, MIB + index));
    await until(() => answers.every(({ isOver }) => isOver), 'all answers');
    t.same(
      answers.map(({ bytes }) => bytes),
      answers.map((_, index) => MIB + index),
    );
  }
});

let nextNumber = 0;

/** A connection that is told when it may be read from. */
class Reader {
  readonly place: ReadQueueEntry;
  isReading = true;
  letGoCount = 0;
  /** A sequence number: higher than those of all that were let go earlier. */
  letGoNumber = 0;
  sliceBytes = 0;
  onLetGo = (): void => undefined;

  constructor(subject: string) {
    this.place = new ReadQueueEntry(subject, this);
  }

  stopReading(): void {
    this.isReading = false;
  }

  resumeReading(bytes: number): void {
    this.isReading = true;
    this.letGoCount += 1;
    this.letGoNumber = nextNumber++;
    this.sliceBytes = bytes;
    this.onLetGo();
  }
}

t.test('small reads are counted, then timed, then kept, and have turns of their own', async (t) => {
  let nowMs = 0;
  const turns = new ReadScheduler(() => nowMs);
  const untimed = connectionBounds.upstreamSmallReadsUntimedMax;
  const bytes = connectionBounds.upstreamSmallReadBytesMax;
  const { turnMs } = limits;
  const read = (count: number): number =>
    Array.from({ length: count }, () => turns.mustKeep(bytes, 'a')).filter(Boolean).length;
  t.equal(read(untimed + 1), 0);
  nowMs += turnMs;
  t.equal(read(untimed - 1), 0, 'the clock is looked at now and then');
  t.equal(read(10), 9, 'the time is over but for one late read');
  t.notOk(turns.mustKeep(bytes + 1, 'a'), 'that of larger ones is another');
  t.notOk(turns.notePiece(100_000, undefined));
  const small = ['a', 'a', 'a', 'b'].map((subject) => new Reader(subject));
  const large = new Reader('c');
  for (const { place } of small) turns.rest(place, true);
  turns.rest(large.place);
  await new Promise(setImmediate);
  t.same(
    small.map(({ letGoNumber }) => letGoNumber - small[0]!.letGoNumber),
    [0, 2, 3, 1],
    'subjects in turn',
  );
  t.equal(large.letGoCount, 1, 'and the large one has its turn beside them');
  t.equal(read(untimed), 0, 'another turn');
  const slow = Array.from({ length: 4 }, () => new Reader('a'));
  for (const reader of slow) {
    reader.onLetGo = () => {
      nowMs += turnMs / 2;
    };
    turns.rest(reader.place, true);
  }
  await new Promise(setImmediate);
  t.same(
    slow.map(({ letGoCount }) => letGoCount),
    [1, 1, 0, 0],
    'as many as there is time for',
  );
  t.equal(read(3), 3, 'while some wait others do too');
  await new Promise(setImmediate);
  t.same(
    slow.map(({ letGoCount }) => letGoCount),
    [1, 1, 1, 1],
  );
  t.equal(read(2 * untimed), 0, 'and no longer');
});

t.test('what connections keep until their turn is bounded in total', async (t) => {
  let nowMs = 0;
  const turns = new ReadScheduler(() => nowMs);
  const bytes = connectionBounds.upstreamSmallReadBytesMax + 1;
  t.notOk(turns.mustKeep(bytes, 'a'), 'there is time');
  nowMs += limits.turnMs;
  turns.keptBytes = UPSTREAM_KEPT_BYTES_MAX - bytes;
  t.ok(turns.mustKeep(bytes, 'a'));
  t.notOk(turns.mustKeep(bytes + 1, 'a'));
});

t.test('a turn that takes long is used up before its bytes are', async (t) => {
  let nowMs = 0;
  const turns = new ReadScheduler(() => nowMs);
  const [slow, idle] = [new Reader('a'), new Reader('b')];
  for (const { place } of [slow, idle]) turns.rest(place);
  await until(() => slow.letGoCount === 1 && idle.letGoCount === 1, 'their turns');
  await new Promise(setImmediate);
  t.notOk(turns.notePiece(10, slow.place));
  nowMs += limits.turnMs - 1;
  t.notOk(turns.notePiece(10, slow.place));
  t.ok(idle.isReading);
  nowMs += 1;
  t.ok(turns.notePiece(10, slow.place), 'the time is over');
  t.same([slow.isReading, idle.isReading], [false, false], 'for all that could bring more');
  t.same([slow.place.isResting, idle.place.isResting], [true, true]);
  t.ok(turns.notePiece(10, undefined), 'and for who has just begun');
  await until(() => slow.isReading && idle.isReading, 'the next turn');
  t.notOk(turns.notePiece(10, slow.place));
});

t.test('a connection that was let go but had no time to be read from is the first of the next turn', async (t) => {
  let nowMs = 0;
  const turns = new ReadScheduler(() => nowMs);
  const readers = Array.from({ length: 12 }, () => new Reader('a'));
  for (const { place } of readers) turns.rest(place);
  const order: number[] = [];
  // In each turn, the first connection is read from, and takes all of the turn's time.
  while (order.length < 24) {
    await new Promise(setImmediate);
    const letGo = readers.filter(({ isReading, place }) => isReading && place.releasedInTurn !== -1);
    const [reader] = letGo.sort((a, b) => a.letGoNumber - b.letGoNumber);
    if (reader === undefined) continue;
    order.push(readers.indexOf(reader));
    turns.notePiece(10, reader.place);
    nowMs += limits.turnMs;
    turns.notePiece(10, reader.place);
  }
  const inOrder = [...readers.keys()];
  t.same(order, [...inOrder, ...inOrder], 'one after the other');
});

t.test('connections with nothing to read do not keep the others waiting', async (t) => {
  let nowMs = 0;
  const turns = new ReadScheduler(() => nowMs);
  const quiet = Array.from({ length: 8 }, (_, index) => new Reader(`quiet ${index}`));
  for (const { place } of quiet) turns.rest(place);
  const waiting = new Reader('waits');
  for (let turn = 0; turn < 20; turn += 1) {
    if (turn === 2) turns.rest(waiting.place);
    await new Promise(setImmediate);
    // Reads of other connections use the turn up.
    turns.notePiece(10, undefined);
    nowMs += limits.turnMs;
    turns.notePiece(10, undefined);
  }
  t.ok(waiting.letGoCount > 0);
});

t.test('what the event loop does between letting go and reading is not counted', async (t) => {
  let nowMs = 0;
  const turns = new ReadScheduler(() => nowMs);
  const reader = new Reader('a');
  turns.rest(reader.place);
  await new Promise(setImmediate);
  nowMs += 10 * limits.turnMs;
  t.equal(turns.notePiece(10, reader.place), false);
  nowMs += limits.turnMs;
  t.equal(turns.notePiece(10, reader.place), true);
});

t.test('a finished connection passes its turn on, and few get more than a slice each', async (t) => {
  const turns = new ReadScheduler();
  const readers = Array.from({ length: 8 }, (_, index) => new Reader(index < 7 ? 'a' : 'b'));
  for (const { place } of readers) turns.rest(place);
  turns.leave(readers[0]!.place);
  await new Promise(setImmediate);
  t.same(
    readers.map(({ letGoCount }) => letGoCount),
    [0, 1, 1, 1, 0, 0, 0, 1],
  );
  t.equal(readers[1]!.sliceBytes, connectionBounds.upstreamReadBytes);
  await new Promise(setImmediate);
  t.equal(readers[6]!.letGoCount, 1);
  t.equal(readers[6]!.sliceBytes, UPSTREAM_SLICE_BYTES_MAX, 'when nobody else waits');
});

t.test("a small read that is kept does not wait behind large ones, not even its own subject's", async (t) => {
  let nowMs = 0;
  const turns = new ReadScheduler(() => nowMs);
  const large = Array.from({ length: 40 }, () => new Reader('alice'));
  for (const reader of large) {
    reader.onLetGo = () => (nowMs += limits.turnMs);
    turns.rest(reader.place);
  }
  let taken = '';
  const pace = new ReadPace(turns, {
    isPaused: false,
    onBytes: (bytes) => void (taken += bytes.toString()),
    stopReading: () => undefined,
    resumeReading: () => undefined,
  });
  while (!pace.tryKeep(Buffer.from('small'), 'alice')) nowMs += limits.turnMs / 10;
  await new Promise(setImmediate);
  t.equal(taken, 'small');
  t.ok(
    large.some(({ letGoCount }) => letGoCount === 0),
    'while large ones wait',
  );
  pace.endAnswer();
  for (const { place } of large) turns.leave(place);
});

t.test('what is kept of a paused connection is dealt with when it resumes, though nothing more arrives', async (t) => {
  let nowMs = 0;
  const turns = new ReadScheduler(() => nowMs);
  let taken = '';
  const connection = {
    isPaused: false,
    onBytes: (bytes: Buffer) => void (taken += bytes.toString()),
    stopReading: () => undefined,
    resumeReading: () => undefined,
  };
  const pace = new ReadPace(turns, connection);
  while (!pace.tryKeep(Buffer.from('kept'), 'alice')) nowMs += limits.turnMs / 10;
  connection.isPaused = true;
  await until(() => !pace.isResting, 'its turn');
  t.equal(taken, '');
  connection.isPaused = false;
  pace.resume();
  await until(() => taken === 'kept', 'what was kept');
  pace.endAnswer();
});

t.test('connections whose kept piece ends the answer are as many in a turn as there is time for', async (t) => {
  let nowMs = 0;
  const turns = new ReadScheduler(() => nowMs);
  const readers = Array.from({ length: 40 }, (_, index) => {
    const reader = new Reader(`subject ${index % 2}`);
    reader.onLetGo = () => {
      nowMs += limits.turnMs / 20;
      turns.noteLastPiece(5_000);
      turns.leave(reader.place);
    };
    turns.rest(reader.place);
    return reader;
  });
  const letGo = (): number => readers.filter(({ letGoCount }) => letGoCount > 0).length;
  await new Promise(setImmediate);
  t.ok(letGo() > 10 && letGo() <= 20, `${letGo()} in the first turn`);
  await new Promise(setImmediate);
  t.ok(letGo() > 25 && letGo() <= 40, `${letGo()} in both`);
});

t.test('a connection that resumes while its kept piece is handled, and has used its slice, rests', async (t) => {
  let nowMs = 0;
  const turns = new ReadScheduler(() => nowMs);
  const kept = Buffer.alloc(connectionBounds.upstreamReadBytes, 'x');
  let dealtWith = 0;
  /** For each connection that rests afterwards: whether it was being read from. */
  const resting: boolean[] = [];
  // So many connections that none of them gets more than one read.
  const connections = Array.from({ length: 6 }, () => {
    const connection = {
      isPaused: false,
      isReading: true,
      pace: undefined as ReadPace | undefined,
      onBytes({ length }: Buffer) {
        dealtWith += 1;
        connection.pace!.resume();
        connection.pace!.onPiece(length, 'alice');
        // Runs after the turn.
        queueMicrotask(() => {
          if (connection.pace!.isResting) resting.push(connection.isReading);
        });
      },
      stopReading: () => void (connection.isReading = false),
      resumeReading: () => void (connection.isReading = true),
    };
    const pace = new ReadPace(turns, connection);
    connection.pace = pace;
    return { connection, pace };
  });
  connections[0]!.pace.onPiece(1, 'alice');
  nowMs = limits.turnMs + 1;
  for (const { connection, pace } of connections) {
    t.ok(pace.tryKeep(kept, 'alice'), 'kept: the turn is used up');
    connection.isReading = false;
  }
  await until(() => dealtWith === connections.length, 'all that was kept to be dealt with');
  t.ok(resting.length > 0, 'some rest');
  t.notOk(resting.includes(true), 'and are not read from');
  for (const { pace } of connections) pace.endAnswer();
});

t.test('what TLS still delivers while a connection rests is kept, and dealt with in its turn, in order', async (t) => {
  let nowMs = 0;
  const turns = new ReadScheduler(() => nowMs);
  let taken = '';
  const connection = { isPaused: false, onBytes: (bytes: Buffer) => void (taken += bytes.toString()) };
  const pace = new ReadPace(turns, { ...connection, stopReading: () => undefined, resumeReading: () => undefined });
  pace.onPiece(1, 'alice');
  nowMs = limits.turnMs + 1;
  const [first, second] = ['1', '2'].map((digit) => digit.repeat(connectionBounds.upstreamReadBytes));
  for (const bytes of [first, second]) t.ok(pace.tryKeep(Buffer.from(bytes!), 'alice'));
  await until(() => taken !== '', 'its turn');
  t.ok(taken === `${first}${second}`);
  pace.endAnswer();
});

t.test(
  'the first piece of a turn counts as the others do, and nothing of it is looked at before it is processed',
  async (t) => {
    const scheduler = new ReadScheduler(() => 0);
    t.equal(scheduler.notePiece(UPSTREAM_TURN_BYTES_TOTAL_MAX - 1, undefined), false);
    t.equal(scheduler.mustKeep(MIB, 'alice'), false, 'there is one byte left');
    scheduler.noteLastPiece(1);
    t.equal(scheduler.mustKeep(MIB, 'alice'), true);
    t.equal(scheduler.notePiece(1, undefined), true);
    await new Promise(setImmediate);
    t.equal(scheduler.notePiece(UPSTREAM_TURN_BYTES_TOTAL_MAX, undefined), false, 'another turn has bytes of its own');
    t.equal(scheduler.mustKeep(MIB, 'alice'), true);
  },
);
