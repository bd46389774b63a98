// The parser of backends' responses: what it accepts, what it refuses, and that the split into pieces makes no difference. undici is the
// oracle for what a response means; being stricter than undici is allowed, reading a different meaning is not.
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import t from 'tap';
import { Client } from 'undici';
import { connectionBounds } from '../../src/http-client/connection-bounds.js';
import { INVALID, ResponseParser } from '../../src/http-client/response-parser.js';
import { fuzzInputs } from '../support/fuzz-inputs.js';
import { keptHeapBytes } from '../support/kept-bytes.js';
import { printable } from '../support/printable.js';
import { Random } from '../support/random.js';

const SEED = 0x5171;
const PIECES_INPUTS = fuzzInputs(5_000);
const UNDICI_INPUTS = fuzzInputs(1_500);

interface Heard {
  readonly kind: 'complete' | 'invalid' | 'incomplete';
  readonly status?: number;
  readonly contentType?: string;
  readonly sessionId?: string;
  readonly body?: string;
  readonly canReuse?: boolean;
  /** How many bytes follow the end of the response. */
  readonly left?: number;
}

/** Parses a response that arrives in these pieces; the connection ends after the last. */
function parse(pieces: readonly Buffer[]): Heard {
  const head = { status: 0, contentType: '', sessionId: '' };
  const body: Buffer[] = [];
  const parser = new ResponseParser({
    call: {
      handler: {
        onHead: (status, contentType, sessionId) => Object.assign(head, { status, contentType, sessionId }),
        onData: (chunk) => void body.push(Buffer.from(chunk)),
      },
    },
  });
  parser.begin();
  let left = 0;
  for (const piece of pieces) {
    if (parser.state === 'done') {
      left += piece.length;
      continue;
    }
    // The connection's read buffer is reused for each read.
    const read = Buffer.from(piece);
    const taken = parser.push(read);
    read.fill(0);
    if (taken === INVALID) return { kind: 'invalid' };
    left += piece.length - taken;
  }
  if (parser.state !== 'done' && !parser.end()) return { kind: 'incomplete' };
  const text = Buffer.concat(body).toString('latin1');
  return { kind: 'complete', ...head, body: text, canReuse: parser.canReuseConnection, left };
}

function parseText(text: string): Heard {
  return parse([Buffer.from(text, 'latin1')]);
}

const OK = 'HTTP/1.1 200 OK\r\n';

/** The hints of responses that have these header lines, each with one of the statuses. */
function hintsOf(lines: string, statuses: readonly number[]): readonly string[] {
  const hints: string[] = [];
  const parser = new ResponseParser({
    call: {
      handler: {
        onHead: (_status, _contentType, _sessionId, _bodyBytes, hint) => void hints.push(hint),
        onData: () => undefined,
      },
    },
  });
  for (const status of statuses) {
    parser.begin();
    parser.push(Buffer.from(`HTTP/1.1 ${status} x\r\n${lines}content-length: 0\r\n\r\n`));
  }
  return hints;
}

t.test('a large piece of a body is handed over as it came; of an event stream, a few events at a time', async (t) => {
  const bodyBytes = 3 * connectionBounds.upstreamEventBytesAtOnce;
  for (const [type, pieces] of [
    ['application/json', 1],
    ['text/event-stream', 3],
  ] as const) {
    const handed: number[] = [];
    const parser = new ResponseParser({
      call: { handler: { onHead: () => undefined, onData: ({ length }) => void handed.push(length) } },
    });
    parser.begin();
    parser.push(Buffer.from(`${OK}content-type: ${type}\r\ncontent-length: ${bodyBytes}\r\n\r\n`));
    const body = Buffer.alloc(bodyBytes, 'x');
    for (let at = 0; at < bodyBytes;) at += parser.push(body.subarray(at));
    t.same(
      handed,
      Array.from({ length: pieces }, () => bodyBytes / pieces),
      type,
    );
  }
});

t.test('a success tells the cookies that it sets, each on a line; any other response tells none', async (t) => {
  const hints = hintsOf(
    'Set-Cookie: a=1; Path=/\r\nset-cookie:  b=2 \r\nset-cookies: c=3\r\n',
    [200, 202, 302, 404, 503, 200],
  );
  t.same(hints, ['a=1; Path=/\nb=2', 'a=1; Path=/\nb=2', '', '', '', 'a=1; Path=/\nb=2']);
});

t.test('a redirect tells where to; any other response with a location tells nothing', async (t) => {
  t.same(hintsOf('Location: /other\r\n', [200, 201, 300, 307, 308, 404]), ['', '', '/other', '/other', '/other', '']);
});

t.test('reads every framing', async (t) => {
  const cases: Record<string, [string, Partial<Heard>]> = {
    'a length': [`${OK}content-length: 2\r\n\r\n{}`, { body: '{}', canReuse: true }],
    'a length twice': [`${OK}content-length: 2\r\nContent-Length: 2\r\n\r\n{}`, { body: '{}', canReuse: true }],
    'a list of equal lengths': [
      `${OK}content-length: 12, 12 ,12\r\n\r\n{"a":"12345"}`,
      { body: '{"a":"12345"', left: 1 },
    ],
    'a length of nothing': [`${OK}content-length: 0\r\n\r\n`, { body: '', canReuse: true }],
    chunks: [`${OK}transfer-encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n`, { body: '{}', canReuse: true }],
    'chunks with extensions': [`${OK}Transfer-Encoding: Chunked\r\n\r\n2;a=b\r\n{}\r\n00\r\n\r\n`, { body: '{}' }],
    'chunks with quoted extensions': [
      `${OK}transfer-encoding: chunked\r\n\r\n2;a="b;\\"=";c ; d=\t"" ;e\r\n{}\r\n0\r\n\r\n`,
      { body: '{}' },
    ],
    'chunks with trailers': [`${OK}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nx: y\r\n\r\n`, { body: '{}' }],
    'the end of the connection': [`${OK}\r\n{}`, { body: '{}', canReuse: false }],
    'no body': ['HTTP/1.1 204 No Content\r\n\r\n', { status: 204, body: '', canReuse: true }],
    'interim answers first': [
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${OK}content-length: 2\r\n\r\n{}`,
      { status: 200, body: '{}' },
    ],
    'connection: close': [`${OK}connection: close\r\ncontent-length: 2\r\n\r\n{}`, { body: '{}', canReuse: false }],
    'HTTP/1.0': ['HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}', { body: '{}', canReuse: false }],
    'no reason': ['HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n', { status: 200 }],
    'a coding of what nobody reads': [
      'HTTP/1.1 202 Accepted\r\ncontent-encoding: gzip\r\ncontent-length: 0\r\n\r\n',
      { status: 202 },
    ],
    'bytes behind it': [`${OK}content-length: 2\r\n\r\n{}HTTP/1.1 200 OK`, { body: '{}', left: 15 }],
    'the headers that matter': [
      `${OK}Content-Type: Application/JSON ; charset=utf-8\r\nMCP-Session-Id:\t a b \r\ncontent-length: 0\r\n\r\n`,
      { contentType: 'application/json', sessionId: 'a b' },
    ],
  };
  for (const [name, [text, expected]] of Object.entries(cases)) {
    t.match(parseText(text), { kind: 'complete', ...expected }, name);
  }
});

t.test('an answer that two readers could understand differently is refused', async (t) => {
  const cases: Record<string, string> = {
    'two lengths': `${OK}content-length: 2\r\ncontent-length: 3\r\n\r\n{} `,
    'a length of nothing, and another': `${OK}content-length: 0\r\ncontent-length: 2\r\n\r\n{}`,
    'a length and chunks': `${OK}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    'a signed length': `${OK}content-length: +2\r\n\r\n{}`,
    'a list of lengths': `${OK}content-length: 2, 3\r\n\r\n{} `,
    'a list of lengths that begin alike': `${OK}content-length: 2, 22\r\n\r\n{}`,
    'a list with an empty length': `${OK}content-length: 2,\r\n\r\n{}`,
    'an empty length': `${OK}content-length:\r\n\r\n`,
    'another coding': `${OK}transfer-encoding: gzip, chunked\r\n\r\n`,
    'chunked twice': `${OK}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    'a content encoding': `${OK}content-encoding: gzip\r\ncontent-length: 0\r\n\r\n`,
    'a folded line': `${OK}x: a\r\n b\r\ncontent-length: 0\r\n\r\n`,
    'white space before the colon': `${OK}content-length : 0\r\n\r\n`,
    'a header without a name': `${OK}: a\r\n\r\n`,
    'a header without a colon': `${OK}content-length\r\n\r\n`,
    'a bare LF in the head': `${OK}x: a\ncontent-length: 0\r\n\r\n`,
    'a head of bare LFs, which has no end': 'HTTP/1.1 200 OK\ncontent-length: 2\n\n{}',
    'a bare CR in a value': `${OK}x: a\rb\r\ncontent-length: 0\r\n\r\n`,
    'a NUL in a value': `${OK}x: a\0b\r\ncontent-length: 0\r\n\r\n`,
    'a chunk size that is none': `${OK}transfer-encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n`,
    'a chunk longer than its size': `${OK}transfer-encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n`,
    'a bare LF behind a chunk size': `${OK}transfer-encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n`,
    'a blank behind a chunk size': `${OK}transfer-encoding: chunked\r\n\r\n2 \r\n{}\r\n0\r\n\r\n`,
    'an extension of a chunk that is none': `${OK}transfer-encoding: chunked\r\n\r\n2;\r\n{}\r\n0\r\n\r\n`,
    'an extension of a chunk whose name is none': `${OK}transfer-encoding: chunked\r\n\r\n2;x{"a"\r\n{}\r\n0\r\n\r\n`,
    'an extension of the last chunk that is a header': `${OK}transfer-encoding: chunked\r\n\r\n0;x: 1\r\n\r\n`,
    'an extension of a chunk without its last quote': `${OK}transfer-encoding: chunked\r\n\r\n2;a="b\r\n{}\r\n0\r\n\r\n`,
    'a control character in a trailer': `${OK}transfer-encoding: chunked\r\n\r\n0\r\nx: \r1\r\n\r\n`,
    'a huge chunk size': `${OK}transfer-encoding: chunked\r\n\r\nfffffffff\r\n`,
    'HTTP/2.0': 'HTTP/2.0 200 OK\r\n\r\n',
    'another protocol': '220 smtp.example ESMTP\r\n',
    'a status of four digits': 'HTTP/1.1 2000 OK\r\n\r\n',
    'a status below 100': 'HTTP/1.1 099 No\r\n\r\n',
    'a status with a letter': 'HTTP/1.1 2x0 OK\r\n\r\n',
    'a status that ends with a letter': 'HTTP/1.1 20x OK\r\n\r\n',
    'a switch of protocols': 'HTTP/1.1 101 Switching Protocols\r\n\r\n',
    'an empty line first': `\r\n${OK}content-length: 0\r\n\r\n`,
  };
  for (const [name, text] of Object.entries(cases)) t.same(parseText(text), { kind: 'invalid' }, name);
});

t.test('a session id that nobody could keep for each session is refused', async (t) => {
  const bytesMax = connectionBounds.upstreamSessionIdBytesMax;
  for (const [bytes, kind] of [
    [bytesMax, 'complete'],
    [bytesMax + 1, 'invalid'],
  ] as const)
    t.equal(parseText(`${OK}mcp-session-id: ${'x'.repeat(bytes)}\r\ncontent-length: 0\r\n\r\n`).kind, kind);
});

t.test('an answer that is cut short is not complete', async (t) => {
  const whole = `${OK}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`;
  for (let end = 0; end < whole.length; end += 1) {
    t.equal(parseText(whole.slice(0, end)).kind, 'incomplete', `${end} bytes`);
  }
});

/** A response that a backend could send, framed in one of the possible ways. */
function randomAnswer(random: Random): string {
  const interim = random.chance(0.1) ? 'HTTP/1.1 103 Early Hints\r\nx-hint: 1\r\n\r\n' : '';
  const status = random.pick(['200 OK', '202 Accepted', '404 Not Found', '500', '204 No Content']);
  const body = 'x{"a":1}\r\n0'.repeat(random.below(6)).slice(0, random.below(60));
  const headers = [
    ...(random.chance(0.5) ? ['Content-Type: application/json; charset=utf-8'] : []),
    ...(random.chance(0.3) ? ['mcp-session-id: s-1'] : []),
    ...(random.chance(0.2) ? ['connection: close'] : []),
    ...(random.chance(0.3) ? [`X-Filler: ${'f'.repeat(random.below(40))}`] : []),
    ...(random.chance(0.2) ? ['keep-alive: timeout=5'] : []),
  ];
  if (status.startsWith('204')) return `${interim}HTTP/1.1 ${status}\r\n${lines(headers)}\r\n`;
  const framing = random.pick(['length', 'chunks', 'close'] as const);
  if (framing === 'length') {
    return `${interim}HTTP/1.1 ${status}\r\n${lines([...headers, `Content-Length: ${body.length}`])}\r\n${body}`;
  }
  if (framing === 'close') return `${interim}HTTP/1.1 ${status}\r\n${lines(headers)}\r\n${body}`;
  const chunks = random
    .pieces(Buffer.from(body, 'latin1'), 9)
    .map((piece) => `${piece.length.toString(16)}\r\n${piece.toString('latin1')}\r\n`);
  const end = random.chance(0.2) ? '0\r\nx-trailer: 1\r\n\r\n' : '0\r\n\r\n';
  return `${interim}HTTP/1.1 ${status}\r\n${lines([...headers, 'transfer-encoding: chunked'])}\r\n${chunks.join('')}${end}`;
}

function lines(headers: readonly string[]): string {
  return headers.map((header) => `${header}\r\n`).join('');
}

/** The same response with a few bytes changed, removed, doubled or inserted. */
function damage(random: Random, text: string): string {
  let damaged = text;
  for (let count = 1 + random.below(3); count > 0; count -= 1) {
    const at = random.below(damaged.length + 1);
    const byte = random.pick(['\r', '\n', '\0', ' ', ':', ';', '0', '9', 'a', '\t', '\xff', ',']);
    const cut = random.below(3);
    damaged = damaged.slice(0, at) + (random.chance(0.7) ? byte : '') + damaged.slice(at + cut);
  }
  return damaged;
}

t.test('the pieces in which an answer arrives make no difference', async (t) => {
  const random = new Random(SEED);
  let differences = 0;
  for (let round = 0; round < PIECES_INPUTS; round += 1) {
    const answer = randomAnswer(random);
    const bytes = Buffer.from(random.chance(0.5) ? damage(random, answer) : answer, 'latin1');
    const whole = JSON.stringify(parse([bytes]));
    const inPieces = JSON.stringify(parse(random.pieces(bytes, random.pick([1, 3, 20]))));
    if (whole === inPieces) continue;
    differences += 1;
    if (differences <= 3) t.fail(printable(`${bytes.toString('latin1')}: ${whole} whole, ${inPieces} in pieces`));
  }
  t.equal(differences, 0);
});

t.test('an answer means what it means to undici, or is refused', async (t) => {
  const random = new Random(SEED + 1);
  const outcomes = { same: 0, stricter: 0, known: 0 };
  for (let round = 0; round < UNDICI_INPUTS; round += 1) {
    const sound = randomAnswer(random);
    const isDamaged = random.chance(0.6);
    const text = isDamaged ? damage(random, sound) : sound;
    const ours = parseText(text);
    if (ours.kind !== 'complete') {
      // Intact responses are never refused; for damaged ones this parser may be stricter than undici.
      if (!isDamaged) t.fail(printable(`refused: ${sound}`));
      outcomes.stricter += 1;
      continue;
    }
    const theirs = await askUndici(text);
    if (isSame(ours, theirs)) outcomes.same += 1;
    else if (plain(text) !== text && isSame(ours, await askUndici(plain(text)))) outcomes.known += 1;
    else t.fail(printable(`${text}: ${JSON.stringify({ ours, theirs })}`));
  }
  t.comment(JSON.stringify(outcomes));
  t.ok(outcomes.same > 500 && outcomes.stricter > 100, `both happened: ${JSON.stringify(outcomes)}`);
});

t.test('a tab after a length or a coding is white space like any other, unlike for undici', async (t) => {
  for (const framing of ['content-length: 2\t\r\n\r\n{}', 'transfer-encoding: chunked\t\r\n\r\n2\r\n{}\r\n0\r\n\r\n']) {
    const ours = parseText(OK + framing);
    t.match(ours, { kind: 'complete', body: '{}' });
    t.notOk(isSame(ours, await askUndici(OK + framing)), 'once undici agrees, nothing has to be told apart');
    t.ok(isSame(ours, await askUndici(withoutTabs(OK + framing))));
  }
});

interface UndiciAnswer {
  readonly status: number;
  readonly body: string;
}

function isSame(ours: Heard, theirs: UndiciAnswer | undefined): boolean {
  return theirs?.status === ours.status && theirs?.body === ours.body;
}

/** The text without what undici is known to read differently. */
function plain(text: string): string {
  return withoutTabs(text).replace(UNEXPECTED_INTERIM, '');
}

/** RFC 9110, 15.2: 1xx responses are skipped, expected or not. undici accepts neither a 100 nor any in HTTP/1.0. */
const UNEXPECTED_INTERIM = /^HTTP\/1\.(?:1 100|0 1\d\d)(?: [^\r\n]*)?\r\n(?:[^\r\n]+\r\n)*\r\n/;

/** RFC 9110, 5.5: whitespace around a value is not part of it. undici accepts spaces there, but no tab after a value that frames a body. */
function withoutTabs(text: string): string {
  return text.replace(/^(content-length:[ \t]*\d+|transfer-encoding:[ \t]*chunked)[ \t]*\t[ \t]*(?=\r\n)/gim, '$1');
}

/** How undici reads a response that comes in one piece, followed by the connection's end; `undefined`: refused. */
async function askUndici(text: string): Promise<UndiciAnswer | undefined> {
  const client = new Client('http://backend.test', {
    // undici expects the connection in a later turn, not at once.
    connect: (_options, onConnected) => void setImmediate(() => onConnected(null, answeringSocket(text))),
  });
  try {
    const { statusCode, body } = await client.request({ path: '/', method: 'POST', body: '{}' });
    return { status: statusCode, body: Buffer.from(await body.arrayBuffer()).toString('latin1') };
  } catch {
    return undefined;
  } finally {
    await client.destroy();
  }
}

t.test('a content-type is what it begins with, as official clients take it, also if it is said twice', async (t) => {
  for (const [said, read] of [
    ['application/json, application/json', 'application/json'],
    ['Text/Event-Stream,text/event-stream; charset=utf-8', 'text/event-stream'],
    ['application/json, text/html', 'application/json'],
    ['application/json-rpc; charset=utf-8', 'application/json'],
    ['application/problem+json', 'application/problem+json'],
    ['text/json ; charset=utf-8', 'text/json'],
    ['text/event-stream; a="x, y"', 'text/event-stream'],
  ] as const) {
    const head = `HTTP/1.1 200 OK\r\ncontent-type: ${said}\r\ncontent-length: 0\r\n\r\n`;
    t.equal(parse([Buffer.from(head)]).contentType, read);
  }
});

t.test('a long content-type is read, and not kept in memory', async (t) => {
  const parameter = 'x'.repeat(50_000);
  const keptBytes = keptHeapBytes(() => {
    for (let n = 0; n < 200; n += 1) {
      const head = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; a=${parameter}${n}\r\ncontent-length: 0\r\n\r\n`;
      t.equal(parse([Buffer.from(head)]).contentType, 'text/event-stream');
    }
  });
  t.ok(keptBytes < 60 * parameter.length, `${keptBytes} bytes`);
});

/** A connection whose other side responds to the first write with this text, and ends. */
function answeringSocket(text: string): Socket {
  let isAsked = false;
  const stream = new Duplex({
    read: () => undefined,
    write: (_chunk, _encoding, onWritten) => {
      onWritten();
      if (isAsked) return;
      isAsked = true;
      // Not within the write: the response would arrive before the request is in flight.
      setImmediate(() => {
        stream.push(Buffer.from(text, 'latin1'));
        stream.push(null);
      });
    },
  });
  // Beyond a stream's methods, undici calls only these two of a socket.
  return Object.assign(stream, { ref: () => stream, unref: () => stream }) as unknown as Socket;
}
