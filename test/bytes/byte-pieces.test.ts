// However small the pieces of a body are, keeping them takes little more memory than their bytes.
import t from 'tap';
import { addPiece } from '../../src/bytes/body-collector.js';

/** Bytes that differ from their neighbours, so that losing, repeating or moving any of them shows. */
function body(bytes: number): Buffer {
  return Buffer.from(Array.from({ length: bytes }, (_, index) => (index * 31 + (index >> 8)) & 0xff));
}

function gather(bytes: Buffer, sizeOf: (index: number) => number): Buffer[] {
  const pieces: Buffer[] = [];
  let at = 0;
  for (let index = 0; at < bytes.length; index += 1) {
    addPiece(pieces, bytes.subarray(at, at + sizeOf(index)));
    at += sizeOf(index);
  }
  return pieces;
}

t.test('pieces are copied, and a single piece stays one piece', async (t) => {
  const sent = Buffer.from('abc');
  const pieces: Buffer[] = [];
  addPiece(pieces, sent);
  sent.fill(0);
  t.same(pieces, [Buffer.from('abc')]);
});

t.test('any mixture of sizes is kept in order, in a bounded number of pieces', async (t) => {
  const bytes = body(4_000_000);
  const mixtures: Readonly<Record<string, (index: number) => number>> = {
    'single bytes': () => 1,
    'just too small to stand alone': () => 63,
    'just large enough': () => 64,
    'small and large in turn': (index) => (index % 2 === 0 ? 1 : 2_000),
    'many small before each large': (index) => (index % 1_500 === 0 ? 5_000 : 3),
  };
  for (const [name, sizeOf] of Object.entries(mixtures)) {
    const pieces = gather(bytes, sizeOf);
    t.ok(Buffer.concat(pieces).equals(bytes), name);
    t.ok(pieces.length < 2_048 + bytes.length / 64, `${name}: ${pieces.length} pieces`);
  }
});
