import t from 'tap';
import { BodyCollector, BODY_AHEAD_BYTES_MAX, shortLivedMemory } from '../../src/bytes/body-collector.js';
import { Random } from '../support/random.js';
import { bodyMemory } from '../../src/fair/large-memory.js';
import { SHORT_MEMORY_BLOCK_BYTES } from '../../src/fair/short-memory.js';

const BYTES_MAX = 64 * 1024 * 1024;

t.test('an empty body, and a body of one piece', async (t) => {
  const collector = new BodyCollector(BYTES_MAX, bodyMemory);
  t.equal(collector.length, 0);
  t.equal(collector.bytes.length, 0);
  collector.add(Buffer.alloc(0), 3);
  t.equal(collector.bytes.length, 0);
  const piece = Buffer.from('abc');
  collector.add(piece, 3);
  piece.fill(0);
  t.equal(collector.bytes.toString(), 'abc', 'it is a copy');
  collector.clear();
  t.equal(collector.length, 0);
  t.equal(collector.bytes.length, 0);
});

t.test('a body is collected whole, whatever length was stated and however it is cut', async (t) => {
  const random = new Random(5);
  for (let round = 0; round < 2_000; round += 1) {
    const body = Buffer.from(Array.from({ length: 1 + random.below(300) }, () => random.below(256)));
    const stated = random.pick([-1, Number.NaN, 0, 1, body.length - 1, body.length, body.length + 1, 1_000]);
    const collector = new BodyCollector(BYTES_MAX, bodyMemory);
    for (const piece of random.pieces(body, 1 + random.below(100))) collector.add(piece, stated);
    if (!collector.bytes.equals(body)) t.fail(`${body.length} bytes, ${stated} stated`);
    if (collector.length !== body.length) t.fail(`length ${collector.length}`);
  }
});

t.test('the memory reserved in advance is bounded, whatever length is stated', async (t) => {
  const collector = new BodyCollector(BYTES_MAX, bodyMemory);
  const parts = Array.from({ length: 3 }, (_, index) => Buffer.alloc(BODY_AHEAD_BYTES_MAX / 2, index));
  for (const part of parts) collector.add(part, 100 * BODY_AHEAD_BYTES_MAX);
  t.ok(collector.bytes.equals(Buffer.concat(parts)));
  const started = new BodyCollector(BYTES_MAX, bodyMemory);
  for (const byte of [1, 2]) started.add(Buffer.of(byte), 100 * BODY_AHEAD_BYTES_MAX);
  t.ok(started.bytes.buffer.byteLength <= BODY_AHEAD_BYTES_MAX);
});

t.test('a first piece takes its own memory, whatever length is stated', async (t) => {
  const collector = new BodyCollector(BYTES_MAX, bodyMemory);
  collector.add(Buffer.alloc(5_000, 1), BODY_AHEAD_BYTES_MAX);
  t.equal(collector.bytes.buffer.byteLength, 5_000);
  for (const byte of [2, 3]) {
    collector.add(Buffer.alloc(5_000, byte), BODY_AHEAD_BYTES_MAX);
    t.equal(collector.bytes.buffer.byteLength, BODY_AHEAD_BYTES_MAX, 'the second one has room for all');
  }
  t.ok(collector.bytes.equals(Buffer.concat([1, 2, 3].map((byte) => Buffer.alloc(5_000, byte)))));
});

t.test('a first piece has room for all, up to a bound, if the owner counts all', async (t) => {
  for (const [stated, reserved] of [
    [1_024 * 1_024, 1_024 * 1_024],
    [100 * BODY_AHEAD_BYTES_MAX, BODY_AHEAD_BYTES_MAX],
  ] as const) {
    const collector = new BodyCollector(BYTES_MAX, bodyMemory);
    collector.add(Buffer.alloc(5_000), stated, true);
    t.equal(collector.bytes.buffer.byteLength, reserved);
  }
});

t.test('a body of the stated length is never moved while it is collected', async (t) => {
  const collector = new BodyCollector(BYTES_MAX, bodyMemory);
  collector.add(Buffer.from('ab'), 4);
  const early = collector.bytes;
  collector.add(Buffer.from('cd'), 4);
  t.equal(collector.bytes.buffer, early.buffer);
  t.equal(collector.bytes.byteOffset, early.byteOffset);
  t.equal(collector.bytes.toString(), 'abcd');
});

t.test('a large body of an unknown length is never copied as a whole', async (t) => {
  const collector = new BodyCollector(BYTES_MAX, bodyMemory);
  const piece = Buffer.alloc(512 * 1024);
  let moves = 0;
  let movedBytes = 0;
  for (let at = 0; at < BYTES_MAX; at += piece.length) {
    const before = collector.bytes;
    collector.add(piece.fill(at / piece.length), Number.NaN);
    if (collector.bytes.buffer === before.buffer) continue;
    moves += 1;
    movedBytes = Math.max(movedBytes, before.length);
  }
  t.ok(moves < 10, `moved ${moves} times`);
  t.ok(movedBytes <= 16 * 1024 * 1024, `${movedBytes} bytes at once`);
  const { bytes } = collector;
  t.equal(bytes.length, BYTES_MAX);
  for (let at = 0; at < BYTES_MAX; at += piece.length) {
    if (bytes[at] !== at / piece.length || bytes[at + piece.length - 1] !== at / piece.length) t.fail(`at ${at}`);
  }
});

t.test('a kept body has memory of its own; a passing one shares memory with others', async (t) => {
  const memoryOf = (isPassing: boolean): ArrayBufferLike => {
    const collector = new BodyCollector(BYTES_MAX, isPassing ? shortLivedMemory : bodyMemory);
    collector.add(Buffer.alloc(5_000), 5_000);
    return collector.bytes.buffer;
  };
  t.equal(memoryOf(false).byteLength, 5_000);
  t.equal(memoryOf(true).byteLength, SHORT_MEMORY_BLOCK_BYTES);
});
