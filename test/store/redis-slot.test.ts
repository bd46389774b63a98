import { randomBytes } from 'node:crypto';
import t from 'tap';
import { redisSlotOf, slotTag } from '../../src/store/redis-location.js';

t.test('slots are those of a Redis cluster', async (t) => {
  // As `CLUSTER KEYSLOT` returns them.
  const slots: readonly (readonly [key: string, slot: number])[] = [
    ['123456789', 12_739],
    ['foo', 12_182],
    ['{user1000}.following', 3_443],
    ['{user1000}.followers', 3_443],
  ];
  for (const [key, slot] of slots) t.equal(redisSlotOf(Buffer.from(key)), slot, key);
  t.equal(
    redisSlotOf(Buffer.from('foo{}{bar}')),
    redisSlotOf(Buffer.from('{foo{}{bar}}'.slice(1, -1))),
    'empty braces count not',
  );
  t.equal(redisSlotOf(Buffer.from('foo{{bar}}zap')), redisSlotOf(Buffer.from('{bar')), 'the first brace counts');
});

t.test('a tag keeps another key in the slot of the first', async (t) => {
  const keys = ['alice', 'a}b', '{}', '{', '}', 'a{b}c', 'x{y', '}{z}', 'é😀', '{}{a}'].map((key) => Buffer.from(key));
  for (let count = 0; count < 50; count++) keys.push(randomBytes(count + 1));
  for (const key of keys) {
    const tagged = Buffer.concat([
      Buffer.from([0xff]),
      Buffer.from('{'),
      slotTag(key),
      Buffer.from('}published/'),
      key,
    ]);
    t.equal(redisSlotOf(tagged), redisSlotOf(key), key.toString('latin1'));
  }
});
