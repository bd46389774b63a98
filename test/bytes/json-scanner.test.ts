import { isUtf8 } from 'node:buffer';
import t from 'tap';
import { JsonScanner, jsonKind } from '../../src/bytes/json-scanner.js';
import { limits } from '../../src/shared/limits.js';
import { printable } from '../support/printable.js';
import { Random } from '../support/random.js';
import { randomJson } from '../support/random-json.js';

const DEPTH_ALL = limits.jsonDepthMax;
const scanner = new JsonScanner();

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function scanPieces(pieces: readonly Buffer[], depthMax: number): boolean {
  scanner.begin(depthMax);
  return pieces.every((piece) => scanner.push(piece)) && scanner.finish();
}

/** The whole tape as one comparable value. */
function tape(): number[][] {
  return Array.from({ length: scanner.count }, (_, node) => [
    scanner.kind(node),
    scanner.start(node),
    scanner.end(node),
    scanner.keyStart(node),
    scanner.keyEnd(node),
    scanner.depth(node),
    scanner.next(node),
  ]);
}

function singleBytes(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (byte) => Buffer.from([byte]));
}

void t.test('accepts what JSON.parse accepts, and nothing else', async (t) => {
  const texts = [
    ...[
      '',
      ' ',
      'null',
      ' true ',
      'false',
      'nul',
      'nulll',
      'True',
      'tru e',
      'truefalse',
      'undefined',
      'NaN',
      'Infinity',
    ],
    ...[
      '0',
      '-0',
      '-',
      '+1',
      '01',
      '-01',
      '1.',
      '.5',
      '1.5',
      '1e5',
      '1E+5',
      '1e-05',
      '1e',
      '1e+',
      '1.e5',
      '0x1',
      '1 2',
    ],
    ...['1a', '1.5.5', '1e5e5', '--1', '1-1', '00', '0.0', '0e1', '123456789012345678901234567890', '1_000'],
    ...[
      '""',
      '"',
      '"a',
      '"\\"',
      '"\\""',
      '"\\x"',
      '"\\u12"',
      '"\\u12g4"',
      '"\\uABcd"',
      '"\\ud800"',
      '"\\u 123"',
      "'a'",
    ],
    ...['"\u0000"', '"\u001f"', '"\n"', '"\t"', '"\u007f"', '"\u2028"', '"é"', '"12345678\u0001"', '"1234567\\u00zz"'],
    ...[
      '[]',
      '[',
      ']',
      '[1]',
      '[1,]',
      '[,1]',
      '[,]',
      '[1 2]',
      '[1}',
      '{]',
      '[[]]',
      '[[]',
      '[]]',
      '[]1',
      '[1,2,[3]]',
      '[:]',
    ],
    ...[
      '{}',
      '{',
      '}',
      '{"a":1}',
      '{"a":1,}',
      '{,"a":1}',
      '{"a"}',
      '{"a":}',
      '{"a",1}',
      '{a:1}',
      '{1:1}',
      '{"a":1 "b":2}',
    ],
    ...[
      '{"a":1,"a":2}',
      '{"a"::1}',
      '{"":{}}',
      '{"a":[}]',
      '[{"a":1]}',
      '{"a":1}}',
      '[1]:',
      '{"a":1,[]}',
      '{"a":{"b"}}',
    ],
    ...[
      '\ufeffnull',
      '\u00a0null',
      '\vnull',
      '\fnull',
      '// a\n1',
      '/**/1',
      '\u20281',
      '1\u0000',
      'null\u0000',
      '{} {}',
    ],
  ];
  for (const text of texts) {
    const bytes = Buffer.from(text);
    t.equal(scanner.scan(bytes, DEPTH_ALL), parses(text), `whole: ${printable(text)}`);
    t.equal(scanPieces(singleBytes(bytes), DEPTH_ALL), parses(text), `in bytes: ${printable(text)}`);
  }
});

void t.test('long strings are judged as by JSON.parse, whatever they hold, wherever they are in memory', async (t) => {
  const insertions = [
    '',
    '"',
    '\\n',
    '\\"',
    '\\u0041',
    '\\x',
    '\\',
    '\x1f',
    '\n',
    '\x00',
    ' ',
    '\x7f',
    'é',
    '€',
    '\\"\\"x"',
  ];
  for (const insertion of insertions) {
    for (let before = 240; before < 300; before++) {
      const text = `["${'x'.repeat(before)}${insertion}${'y'.repeat(300)}","${'é'.repeat(before)}${insertion}"]`;
      const memory = Buffer.alloc(Buffer.byteLength(text) + 4, '"');
      const start = before % 4;
      const bytes = memory.subarray(start, start + memory.write(text, start));
      const isValid = parses(text);
      if (scanner.scan(bytes, 2) !== isValid) t.fail(`${printable(insertion)} behind ${before} is ${isValid}`);
      if (isValid && scanner.end(scanner.next(1)) !== bytes.length - 1) t.fail(`${printable(insertion)}: end`);
      const pieces = [bytes.subarray(0, before), bytes.subarray(before, before + 270), bytes.subarray(before + 270)];
      if (scanPieces(pieces, 2) !== isValid) t.fail(`in pieces: ${printable(insertion)} behind ${before}`);
    }
  }
});

void t.test('refuses what is not UTF-8', async (t) => {
  for (const byte of [0x80, 0xc0, 0xed, 0xff]) {
    t.equal(scanner.scan(Buffer.from([0x22, byte, 0x22]), 0), false);
  }
  t.equal(scanner.scan(Buffer.from('"é"'), 0), true);
});

void t.test('refuses invalid UTF-8 at any place in a text of any length', async (t) => {
  for (const length of [10, 70, 200, 500]) {
    for (let at = 1; at <= length - 3; at += 1) {
      const text = Buffer.from(`"${'a'.repeat(length - 2)}"`);
      text[at] = 0xc3;
      if (scanner.scan(text, 0)) t.fail(`half a character at ${at} of ${length}`);
      text[at + 1] = 0xa9;
      if (!scanner.scan(text, 0)) t.fail(`a character at ${at} of ${length}`);
    }
  }
});

void t.test('returns false from the first faulty piece on', async (t) => {
  scanner.begin(0);
  t.equal(scanner.push(Buffer.from('[1,')), true);
  t.equal(scanner.push(Buffer.from(']')), false);
  t.equal(scanner.push(Buffer.from('2]')), false);
  t.equal(scanner.finish(), false);
});

void t.test('bounds the nesting', async (t) => {
  const nested = (depth: number): Buffer => Buffer.from('['.repeat(depth) + ']'.repeat(depth));
  t.equal(scanner.scan(nested(limits.jsonDepthMax), DEPTH_ALL), true);
  t.equal(scanner.count, limits.jsonDepthMax);
  t.equal(scanner.scan(nested(limits.jsonDepthMax + 1), DEPTH_ALL), false);
  t.equal(scanner.scan(Buffer.alloc(1_000_000, '{"a":'), 0), false);
});

void t.test('bounds the number of recorded values, and not of others', async (t) => {
  const list = (items: number): Buffer => Buffer.from(`[${'1,'.repeat(items - 1)}1]`);
  t.equal(scanner.scan(list(limits.jsonNodesMax - 1), 1), true);
  t.equal(scanner.count, limits.jsonNodesMax);
  t.equal(scanner.scan(list(limits.jsonNodesMax), 1), false);
  t.equal(scanner.scan(list(limits.jsonNodesMax), 0), true);
  t.equal(scanner.count, 1);
});

void t.test('records spans, keys and the shape of the tree', async (t) => {
  const text = ' {"a":[1,{"b":2}],"c\\n":"d"} ';
  t.equal(scanner.scan(Buffer.from(text), 2), true);
  t.same(tape(), [
    [jsonKind.object, 1, 28, -1, -1, 0, 5],
    [jsonKind.array, 6, 17, 3, 4, 1, 4],
    [jsonKind.number, 7, 8, -1, -1, 2, 3],
    [jsonKind.object, 9, 16, -1, -1, 2, 4],
    [jsonKind.string, 24, 27, 19, 22, 1, 5],
  ]);
});

/** The value that the tape describes below a node, with children assembled from their own spans. */
function rebuild(text: Buffer, node: number, depthMax: number): unknown {
  const whole: unknown = JSON.parse(text.toString('utf8', scanner.start(node), scanner.end(node)));
  const kind = scanner.kind(node);
  if ((kind !== jsonKind.object && kind !== jsonKind.array) || scanner.depth(node) === depthMax) {
    if (scanner.next(node) !== node + 1) throw new Error('a value without recorded children has some');
    return whole;
  }
  const members: [string, unknown][] = [];
  for (let child = node + 1; child < scanner.next(node); child = scanner.next(child)) {
    if (scanner.depth(child) !== scanner.depth(node) + 1) throw new Error('a child is not one deeper');
    const isMember = scanner.keyStart(child) !== -1;
    if (isMember !== (kind === jsonKind.object)) throw new Error('a key where none belongs, or none where one does');
    const key = isMember ? text.toString('utf8', scanner.keyStart(child) - 1, scanner.keyEnd(child) + 1) : '""';
    members.push([JSON.parse(key) as string, rebuild(text, child, depthMax)]);
  }
  return kind === jsonKind.array ? members.map(([, value]) => value) : Object.fromEntries(members);
}

function kindOf(value: unknown): number {
  if (value === null) return jsonKind.null;
  if (Array.isArray(value)) return jsonKind.array;
  return jsonKind[typeof value as 'object' | 'string' | 'number' | 'boolean'];
}

void t.test('fuzz: every span is the value at its place, for a text in any pieces', async (t) => {
  const random = new Random(1);
  for (let round = 0; round < 1_500; round++) {
    const text = randomJson(random, 5);
    const bytes = Buffer.from(text);
    const depthMax = random.below(7);
    if (!scanner.scan(bytes, depthMax)) throw new Error(`refused: ${printable(text)}`);
    const expected: unknown = JSON.parse(text);
    if (JSON.stringify(rebuild(bytes, 0, depthMax)) !== JSON.stringify(expected)) t.fail(`differs: ${printable(text)}`);
    for (let node = 0; node < scanner.count; node++) {
      const value: unknown = JSON.parse(bytes.toString('utf8', scanner.start(node), scanner.end(node)));
      if (scanner.kind(node) !== kindOf(value)) t.fail(`kind of node ${node}: ${printable(text)}`);
    }
    const whole = JSON.stringify(tape());
    for (const pieces of [singleBytes(bytes), random.pieces(bytes, 4), random.pieces(bytes, 40)]) {
      if (!scanPieces(pieces, depthMax)) t.fail(`refused in pieces: ${printable(text)}`);
      if (JSON.stringify(tape()) !== whole) t.fail(`differs in pieces: ${printable(text)}`);
    }
  }
  t.pass('1,500 documents');
});

const INTERESTING = Buffer.from('{}[]",:\\/ \n\t\r\u0000\u001f0159.-+eEtfnulrbsax\u007f');

function mutate(random: Random, bytes: Buffer): Buffer {
  const mutant = [...bytes];
  for (let count = 1 + random.below(3); count > 0; count--) {
    const at = random.below(mutant.length + 1);
    const byte = INTERESTING[random.below(INTERESTING.length)] ?? 0;
    const choice = random.below(5);
    if (choice === 0) mutant.splice(at, 1);
    else if (choice === 1) mutant.splice(at, 0, byte);
    else if (choice === 2) mutant.splice(at, 1, byte);
    else if (choice === 3) mutant.splice(at, random.below(4), ...mutant.slice(0, random.below(8)));
    else if (random.chance(0.2)) mutant.length = at;
  }
  return Buffer.from(mutant);
}

void t.test('fuzz: damaged documents are refused exactly when JSON.parse refuses them', async (t) => {
  const random = new Random(2);
  let accepted = 0;
  let refused = 0;
  while (accepted + refused < 20_000) {
    const bytes = mutate(random, Buffer.from(randomJson(random, 3)));
    if (!isUtf8(bytes)) continue;
    // Buffer.toString keeps a byte order mark, so JSON.parse sees it too.
    const text = bytes.toString();
    const isValid = parses(text);
    if (scanner.scan(bytes, 2) !== isValid) t.fail(`whole: ${printable(text)} is ${isValid}`);
    if (scanPieces(random.pieces(bytes, 5), 2) !== isValid) t.fail(`in pieces: ${printable(text)} is ${isValid}`);
    if (isValid) accepted++;
    else refused++;
  }
  t.ok(accepted > 2_000, `${accepted} accepted`);
  t.ok(refused > 2_000, `${refused} refused`);
});
