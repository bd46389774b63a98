import { randomBytes } from 'node:crypto';
import t from 'tap';
import { joinedParts, seal, SEAL_BYTES, SEAL_KEY_BYTES, sealParts, unseal } from '../../src/shared/sealing.js';

const KEY = randomBytes(SEAL_KEY_BYTES);
const USE = Buffer.from('what it is for');
const BYTES = Buffer.from('what nobody may read');

t.test('a sealed text opens under its key and for its use, and not otherwise', async (t) => {
  const sealed = seal(KEY, USE, BYTES);
  t.equal(sealed.length, SEAL_BYTES + BYTES.length);
  t.notOk(sealed.includes(BYTES));
  t.same(unseal(KEY, USE, sealed), BYTES);
  t.equal(unseal(randomBytes(SEAL_KEY_BYTES), USE, sealed), undefined, 'another key');
  t.equal(unseal(KEY, Buffer.from('something else'), sealed), undefined, 'another use');
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed);
    changed[at] = changed[at]! ^ 1;
    t.equal(unseal(KEY, USE, changed), undefined, `a bit of byte ${at} changed`);
  }
  for (const length of [0, SEAL_BYTES - 1, sealed.length - 1])
    t.equal(unseal(KEY, USE, sealed.subarray(0, length)), undefined, `the first ${length} bytes`);
  const empty = seal(KEY, USE, Buffer.alloc(0));
  t.equal(unseal(KEY, USE, empty)?.length, 0, 'nothing can be sealed as well');
});

t.test('a nonce is used once', async (t) => {
  const nonces = Array.from({ length: 1_000 }, () => sealParts(seal(KEY, USE, BYTES)).nonce.toString('hex'));
  t.equal(new Set(nonces).size, 1_000);
});

t.test('parts are put together again, if they are complete', async (t) => {
  const sealed = seal(KEY, USE, BYTES);
  const parts = sealParts(sealed);
  t.same(joinedParts(parts), sealed);
  const cut = { nonce: sealed.subarray(0, 11), tag: sealed.subarray(11, SEAL_BYTES), sealed: parts.sealed };
  t.equal(joinedParts(cut), undefined, 'the same bytes, parted elsewhere');
  t.equal(joinedParts({ ...parts, tag: parts.tag.subarray(1) }), undefined);
});
