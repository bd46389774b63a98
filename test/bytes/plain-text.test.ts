// The end of plain text is found at every position of a search step, and of a stretch that is loaded for the search.
import t from 'tap';
import { PlainText, LOADED_BYTES_MAX } from '../../src/bytes/plain-text.js';
import { Random } from '../support/random.js';

const PLAIN = 0x61;

/** The reference: looks at every byte. */
function endOf(bytes: Uint8Array, from: number): number {
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte < 0x20 || byte === 0x22 || byte === 0x5c) return at;
  }
  return bytes.length;
}

function endFoundIn(bytes: Uint8Array, from: number): number {
  const text = new PlainText();
  text.begin();
  return text.findEnd(bytes, from);
}

t.test('every byte value is recognised as plain or not, at any position', async (t) => {
  const bytes = new Uint8Array(400).fill(PLAIN);
  for (let byte = 0; byte < 256; byte += 1) {
    for (const at of [0, 1, 63, 64, 65, 127, 128, 150, 255, 256, 257, 399]) {
      bytes[at] = byte;
      if (endFoundIn(bytes, 0) !== endOf(bytes, 0)) t.fail(`byte ${byte} at ${at}`);
      bytes[at] = PLAIN;
    }
  }
  t.equal(endFoundIn(bytes, 0), 400, 'plain to its end');
});

t.test('the end is found in texts of any length, from any start', async (t) => {
  const random = new Random(11);
  const text = new PlainText();
  for (let each = 0; each < 2_000; each += 1) {
    const length = random.below(3) === 0 ? random.below(3 * LOADED_BYTES_MAX) : random.below(600);
    const bytes = new Uint8Array(length + 8).subarray(random.below(8)).fill(0x20 + random.below(2));
    const special = [0x00, 0x1f, 0x22, 0x5c];
    for (let some = random.below(4); some > 0; some -= 1) bytes[random.below(bytes.length)] = special[some]!;
    text.begin();
    // As the scanner does: continues right after the found byte, or a little further.
    for (let at = random.below(10); at < bytes.length; at += 1 + random.below(3)) {
      const end = text.findEnd(bytes, at);
      if (end !== endOf(bytes, at)) t.fail(`${end} in text ${each} from ${at}`);
      at = end;
    }
  }
});

t.test('the end is found around the end of a loaded stretch', async (t) => {
  for (let near = -70; near <= 70; near += 1) {
    const bytes = new Uint8Array(2 * LOADED_BYTES_MAX + 200).fill(PLAIN);
    const at = LOADED_BYTES_MAX + 64 + near;
    bytes[at] = 0x22;
    if (endFoundIn(bytes, 0) !== at) t.fail(`quote at ${at}`);
    if (endFoundIn(bytes.subarray(0, at), 0) !== at) t.fail(`text of ${at} bytes`);
  }
});

t.test('a shorter text after a longer one ends at its own end', async (t) => {
  const text = new PlainText();
  const long = new Uint8Array(1_000).fill(PLAIN);
  text.begin();
  t.equal(text.findEnd(long, 0), 1_000);
  const other = new Uint8Array(500).fill(PLAIN);
  other[400] = 0x5c;
  text.begin();
  t.equal(text.findEnd(other, 0), 400);
  t.equal(text.findEnd(other, 401), 500);
});

t.test('a text is ASCII unless any byte in it is not', async (t) => {
  const text = new PlainText();
  for (const length of [1, 20, 64, 65, 192, 193, 450, LOADED_BYTES_MAX + 100]) {
    const bytes = new Uint8Array(length).fill(PLAIN);
    const isAscii = (): boolean => {
      text.begin();
      text.findEnd(bytes, 0);
      return text.isAscii;
    };
    // Neither the longer text before nor an earlier state of this one may show.
    if (!isAscii()) t.fail(`${length} bytes of ASCII`);
    for (let at = 0; at < length; at += length < 500 ? 1 : 997) {
      bytes[at] = 0x80 + (at % 128);
      if (isAscii()) t.fail(`wide byte at ${at} of ${length}`);
      bytes[at] = PLAIN;
    }
    bytes[length - 1] = 0xff;
    isAscii();
    bytes[length - 1] = PLAIN;
    if (!isAscii()) t.fail(`${length} bytes of ASCII after others`);
  }
});
