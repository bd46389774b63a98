import { createParser } from 'eventsource-parser';
import t from 'tap';
import {
  EventStreamParser,
  TOO_LONG_ID,
  encodeEvent,
  encodeNumberedEvent,
  keepAliveComment,
  EVENT_FIELD_BYTES_MAX,
} from '../../src/bytes/event-stream.js';
import { fuzzInputs } from '../support/fuzz-inputs.js';
import { printable } from '../support/printable.js';
import { Random } from '../support/random.js';

const UNBOUNDED = 1_000_000;
const FUZZ_INPUTS = fuzzInputs(3_000);

interface SeenEvent {
  data: string;
  event: string;
  id: string;
}

interface Outcome {
  events: SeenEvent[];
  retryMs: number | undefined;
}

function parse(pieces: readonly Buffer[]): Outcome {
  const events: SeenEvent[] = [];
  const parser = new EventStreamParser(
    (data, event, id) => events.push({ data: data.toString(), event, id }),
    UNBOUNDED,
  );
  for (const piece of pieces) {
    // The piece is overwritten after the call, as a reused read buffer would be.
    const chunk = Buffer.from(piece);
    if (!parser.push(chunk)) throw new Error('refused');
    chunk.fill(0x58);
  }
  return { events, retryMs: parser.retryMs };
}

/** The reference, adapted: ids are left out, since they last until the next one (WHATWG); empty data is not dispatched (C15). */
function parseByReference(stream: string): Outcome {
  const events: SeenEvent[] = [];
  let retryMs: number | undefined;
  const parser = createParser({
    onEvent: ({ data, event }) => {
      if (data !== '') events.push({ data, event: event === undefined || event === 'message' ? '' : event, id: '' });
    },
    onRetry: (ms) => (retryMs = ms),
  });
  parser.feed(stream.replace(/^\ufeff/, ''));
  // The reference waits for a LF after a CR that ends the stream, though the line has ended.
  if (stream.endsWith('\r')) parser.feed('\n');
  return { events, retryMs };
}

const stream = (text: string): Outcome => parse([Buffer.from(text)]);
const data = (text: string): string[] => stream(text).events.map((event) => event.data);

void t.test('line ends of every kind are read', async (t) => {
  for (const end of ['\n', '\r\n', '\r']) {
    t.same(data(`data: a${end}${end}data: b${end}data:c${end}${end}`), ['a', 'b\nc'], printable(end));
  }
  t.same(data('data: a\r\n\ndata: b\n\r\ndata: c\r\r'), ['a', 'b', 'c']);
});

void t.test('CR LF cut in two is one line end', async (t) => {
  const pieces = (...texts: string[]): string[] =>
    parse(texts.map((text) => Buffer.from(text))).events.map((e) => e.data);
  t.same(pieces('data: a\r', '\ndata: b\r', '\n\r', '\n'), ['a\nb']);
  t.same(pieces('data: a\r', '\r', 'data: b\n\n'), ['a', 'b']);
  t.same(pieces('data: a\r', '', '\n\n'), ['a']);
});

void t.test('the fields of an event are read as WHATWG says', async (t) => {
  t.same(stream('event: x\ndata: 1\n\ndata: 2\n\nevent: message\ndata: 3\n\n').events, [
    { data: '1', event: 'x', id: '' },
    { data: '2', event: '', id: '' },
    { data: '3', event: '', id: '' },
  ]);
  t.same(data('data\ndata\n\n'), ['\n'], 'a field without a colon has the empty value');
  t.same(data('data:  a \n\ndata:\tb\n\n'), [' a ', '\tb'], 'one space is the separator, and no more');
  t.same(data(': comment\nDATA: a\n data: b\ndata : c\nfoo: d\ndataa: e\ndata: f\n\n'), ['f']);
});

void t.test('an id lasts until the next, and an id with a NUL is ignored', async (t) => {
  const { events } = stream('id: 1\ndata: a\n\ndata: b\n\nid: x\0y\ndata: c\n\nid: 2\n\ndata: d\n\nid\ndata: e\n\n');
  t.same(
    events.map(({ id }) => id),
    ['1', '1', '1', '2', ''],
  );
});

void t.test('events without data are not dispatched', async (t) => {
  t.same(data('\n\nevent: x\n\nid: 1\ndata:\n\nid: 2\ndata\n\ndata: a\n\n'), ['a']);
  t.equal(stream('event: x\n\ndata: a\n\n').events[0]?.event, '', 'and their name does not stay');
});

void t.test('an event that is cut off by the end of the stream is dropped', async (t) => {
  t.same(data('data: a\n\ndata: b\n'), ['a']);
  t.same(data('data: a\n\ndata: b'), ['a']);
});

void t.test('a byte order mark is skipped at the beginning only', async (t) => {
  t.same(data('\ufeffdata: a\n\n\ufeffdata: b\n\n'), ['a']);
  const bytes = Buffer.from('\ufeffdata: a\n\n');
  t.same(parse(Array.from(bytes, (byte) => Buffer.from([byte]))).events.length, 1);
  t.same(parse([Buffer.from([0xef, 0xbb]), Buffer.from('data: a\n\ndata: b\n\n')]).events.length, 1);
});

void t.test('retry is read when it is a whole number', async (t) => {
  t.equal(stream('retry: 1500\n').retryMs, 1500);
  t.equal(stream('retry: 10\nretry: 1.5\nretry: -1\nretry:\nretry: 1e3\n').retryMs, 10);
  t.equal(stream('data: a\n\n').retryMs, undefined);
});

void t.test('ids, names and `retry` are decoded only up to a bounded length', async (t) => {
  const eventFieldBytesMax = EVENT_FIELD_BYTES_MAX;
  const long = '1'.repeat(eventFieldBytesMax);
  for (const pieceBytes of [700, UNBOUNDED]) {
    const seen: string[][] = [];
    const parser = new EventStreamParser((data, event, id) => seen.push([data.toString(), event, id]), UNBOUNDED);
    const push = (text: string): void => {
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += pieceBytes) parser.push(bytes.subarray(at, at + pieceBytes));
    };
    push(`id: ${long}\nevent: ${long}\nretry: 0${long.slice(0, -2)}7\ndata: a\n\n`);
    t.same(seen, [['a', long, long]], 'as long as may be');
    const { retryMs } = parser;
    t.equal(retryMs, Infinity, 'more digits than a number has');
    push(`retry: 5\nid: ${long}2\nevent: ${long}2\nretry: ${long}2\ndata: b\n\n${long}2: x\n\n`);
    t.same(seen[1], ['b', long, TOO_LONG_ID], 'longer');
    t.equal(parser.retryMs, 5);
    t.equal(parser.lastEventId, TOO_LONG_ID);
    push(`id: ${'é'.repeat(eventFieldBytesMax / 2)}é\n\n`);
    t.equal(parser.lastEventId, TOO_LONG_ID, 'bytes count');
    push('id: 3\n\n');
    t.equal(parser.lastEventId, '3', 'and the next is kept again');
    t.equal(parser.keptBytes, 0);
  }
});

void t.test('after an event that is too large the id of that event counts, if it came before the bound', async (t) => {
  for (const [text, lastEventId] of [
    [`id: 1\ndata: a\n\nid: 2\ndata: ${'a'.repeat(20)}`, '2'],
    [`id: 1\ndata: a\n\ndata: ${'a'.repeat(20)}\nid: 2\n\n`, '1'],
    [`id: 1\ndata: a\n\nid: 2\ndata: ${'a'.repeat(10)}`, '1'],
  ] as const) {
    const parser = new EventStreamParser(() => {}, 20);
    parser.push(Buffer.from(text));
    t.equal(parser.lastEventId, lastEventId, printable(text));
  }
});

void t.test('data is passed on without a copy when its event lies in one chunk', async (t) => {
  const chunk = Buffer.from('event: message\ndata: abc\n\n');
  let seen: Buffer | undefined;
  new EventStreamParser((data) => (seen = data), UNBOUNDED).push(chunk);
  chunk.write('xyz', chunk.indexOf('abc'));
  t.equal(seen?.toString(), 'xyz');
});

void t.test('the size of an event is bounded, in whatever pieces it comes', async (t) => {
  const isTaken = (text: string, pieceBytes: number): boolean => {
    const parser = new EventStreamParser(() => {}, 20);
    const bytes = Buffer.from(text);
    let taken = true;
    for (let at = 0; at < bytes.length; at += pieceBytes) taken = parser.push(bytes.subarray(at, at + pieceBytes));
    return taken;
  };
  for (const pieceBytes of [1, 7, 1_000]) {
    t.equal(isTaken(`data: ${'a'.repeat(14)}\n\n`.repeat(10), pieceBytes), true);
    t.equal(isTaken(`data: ${'a'.repeat(15)}\n\n`, pieceBytes), false);
    t.equal(isTaken(`data: ${'a'.repeat(15)}\n\ndata: a\n\n`, pieceBytes), false, 'and stays refused');
    t.equal(isTaken('data: aaaaaaa\n'.repeat(2), pieceBytes), true);
    t.equal(isTaken('data: aaaaaaa\n'.repeat(3), pieceBytes), false);
    t.equal(isTaken(`:${'a'.repeat(20)}`, pieceBytes), false, 'a line without end counts too');
  }
});

/** Data of all events, with a `*` before those that were taken in pieces; lines of ten bytes or more are offered to the handler. */
function parseWithLargeHandler(pieces: readonly Buffer[], accepts: (beginning: string) => boolean): string[] {
  const seen: string[] = [];
  let taken: Buffer[] = [];
  const largeHandler = {
    fromBytes: 10,
    accepts: (beginning: Buffer) => accepts(beginning.toString()),
    onPiece: (piece: Buffer) => void taken.push(Buffer.from(piece)),
    onEnd: () => {
      seen.push(`*${Buffer.concat(taken).toString()}`);
      taken = [];
    },
  };
  const parser = new EventStreamParser((data) => void seen.push(data.toString()), UNBOUNDED, largeHandler);
  for (const piece of pieces) {
    const chunk = Buffer.from(piece);
    parser.push(chunk);
    chunk.fill(0x58);
  }
  return seen;
}

void t.test('a large event can be taken in pieces', async (t) => {
  const texts = ['data: 1234567', '89', '\ndata: 0\nid: 1\ndata:a', '\n\ndata: b\n\n'];
  const pieces = texts.map((text) => Buffer.from(text));
  const beginnings: string[] = [];
  t.same(
    parseWithLargeHandler(pieces, (beginning) => beginnings.push(beginning) > 0),
    ['*123456789\n0\na', 'b'],
  );
  t.same(beginnings, ['1234567'], 'it is asked once');
  beginnings.length = 0;
  t.same(
    parseWithLargeHandler(pieces, (beginning) => beginnings.push(beginning) === 0),
    ['123456789\n0\na', 'b'],
  );
  t.same(beginnings, ['1234567'], 'for each event');
  const others = ['\ufeffdata: 123', '4567\n\nevent: 1234', '567\n: 12345678', '9\ndata: 1', '2\n\n'];
  const ofOthers = others.map((text) => Buffer.from(text));
  t.same(
    parseWithLargeHandler(ofOthers, () => true),
    ['*1234567', '12'],
    'a byte order mark, other fields, a short line',
  );
});

void t.test('the size of an event that is taken in pieces is bounded too', async (t) => {
  const largeHandler = { fromBytes: 10, accepts: () => true, onPiece: () => {}, onEnd: () => {} };
  for (const [text, isTaken] of [
    [`data: ${'a'.repeat(14)}\n\n`, true],
    [`data: ${'a'.repeat(21)}\n\n`, false],
    ['data: aaaaaaa\n'.repeat(2), true],
    ['data: aaaaaaa\n'.repeat(3), false],
  ] as const) {
    const parser = new EventStreamParser(() => {}, 20, largeHandler);
    t.equal(
      [...Buffer.from(text)].every((byte) => parser.push(Buffer.of(byte))),
      isTaken,
      printable(text),
    );
  }
});

const LINES = [
  ...[
    'data: {"a":1}',
    'data:b',
    'data',
    'data:',
    'data:  c',
    'data: é漢😀',
    'data: :x',
    'data: \ufeff',
    '',
    '',
    '',
    '',
  ],
  ...[
    'event: message',
    'event: ping',
    'event:',
    'event',
    'retry: 5',
    'retry: x',
    'id: 1',
    ': comment',
    ':',
    'datax: 1',
  ],
];

void t.test('fuzz: agrees with eventsource-parser, in any pieces', async (t) => {
  const random = new Random(7);
  let events = 0;
  let taken = 0;
  for (let round = 0; round < FUZZ_INPUTS; round++) {
    let text = random.chance(0.1) ? '\ufeff' : '';
    const ends = random.pick([['\n'], ['\r\n'], ['\r'], ['\n', '\r\n', '\r']]);
    for (let count = random.below(20); count > 0; count--) text += random.pick(LINES) + random.pick(ends);
    if (random.chance(0.2)) text += random.pick(LINES);
    const bytes = Buffer.from(text);
    const expected = parseByReference(text);
    events += expected.events.length;
    for (const pieceBytesMax of [1, 3, 30, 1_000]) {
      const actual = parse(random.pieces(bytes, pieceBytesMax));
      for (const event of actual.events) event.id = '';
      if (JSON.stringify(actual) !== JSON.stringify(expected)) t.fail(`${pieceBytesMax}: ${printable(text)}`);
      const withTaker = parseWithLargeHandler(random.pieces(bytes, pieceBytesMax), () => random.chance(0.5));
      taken += withTaker.filter((data) => data.startsWith('*')).length;
      const data = withTaker.map((each) => each.replace(/^\*/, ''));
      if (data.join('|') !== expected.events.map((event) => event.data).join('|')) t.fail(`taken: ${printable(text)}`);
    }
  }
  t.ok(events > 2_000, `${events} events`);
  t.ok(taken > 500, `${taken} taken`);
});

void t.test('fuzz: an encoded event is read back with its line breaks as LF', async (t) => {
  const random = new Random(8);
  for (let round = 0; round < 300; round++) {
    let text = random.chance(0.5) ? '{"a":' : '';
    for (let count = random.below(8); count > 0; count--)
      text += random.pick(['x', ' ', ':', 'é', '\n', '\r', '\r\n', 'data: ']);
    const encoded = encodeEvent(Buffer.from(text));
    const seen: unknown[] = [];
    createParser({ onEvent: (event) => seen.push(event) }).feed(encoded.toString());
    const lines = text.replace(/\r\n|\r/g, '\n');
    t.same(seen, [{ id: undefined, event: 'message', data: lines }], printable(text));
    t.same(parse([encoded]).events, lines === '' ? [] : [{ data: lines, event: '', id: '' }]);
  }
});

void t.test('encoded events and comments have the documented form', async (t) => {
  t.equal(encodeEvent(Buffer.from('{}')).toString(), 'event: message\ndata: {}\n\n');
  t.equal(encodeEvent(Buffer.from('{\r\n}')).toString(), 'event: message\ndata: {\ndata: }\n\n');
  t.same(parse([keepAliveComment]).events, []);
  t.match(keepAliveComment.toString(), /^:.*\n\n$/);
});

void t.test('a numbered event carries its id; before the first of a stream comes an id without data', async (t) => {
  for (const [stream, position] of [
    [1_000_000_000, 1],
    [1_999_999_999, 9],
    [2_147_483_648, 10],
    [9, 1_234_567],
    [0, 0],
  ] as const) {
    const data = Buffer.from('a\r\nb\u2028');
    const event = `id: ${stream}_${position}\nevent: message\ndata: a\ndata: b\u2028\n\n`;
    t.equal(encodeNumberedEvent(`id: ${stream}_`, position, false, data).toString(), event);
    const first = encodeNumberedEvent(`id: ${stream}_`, position, true, data).toString();
    t.equal(first, `id: ${stream}_0\nretry: 1000\ndata: \n\n${event}`);
  }
  t.equal(
    encodeNumberedEvent('id: 12_', 3, false, Buffer.from('{}')).toString(),
    'id: 12_3\nevent: message\ndata: {}\n\n',
  );
});
