// Edits of a message: new bytes are put in, and every other byte stays as it was.
import t from 'tap';
import { edited as whole, insertion, partsOf, type Edit } from '../../src/bytes/edits.js';
import { Random } from '../support/random.js';

function edited(text: string, edits: readonly Edit[]): string {
  const bytes = Buffer.from(text, 'latin1');
  const joined = Buffer.concat(partsOf(bytes, edits));
  t.ok(whole(bytes, edits).equals(joined), 'the same as one');
  return joined.toString('latin1');
}

function edit(start: number, end: number, text: string): Edit {
  return { start, end, putIn: Buffer.from(text, 'latin1') };
}

t.test('edits apply in any order, at the ends, and next to each other', (t) => {
  t.equal(edited('abcdef', []), 'abcdef');
  t.equal(edited('abcdef', [edit(4, 5, 'XX'), edit(1, 2, '')]), 'acdXXf');
  t.equal(edited('abcdef', [edit(0, 1, 'X'), edit(6, 6, 'Y')]), 'XbcdefY');
  t.equal(edited('abcdef', [edit(2, 3, 'X'), edit(3, 4, 'Y')]), 'abXYef');
  t.equal(edited('abcdef', [edit(3, 3, 'X'), edit(1, 1, '-'), edit(3, 3, 'Y')]), 'a-bcXYdef', 'the earlier first');
  t.equal(edited('abcdef', [insertion({ at: 3, putIn: Buffer.from('-') })]), 'abc-def');
  t.end();
});

t.test('bytes that stay are not copied, and the given array of edits keeps its order', (t) => {
  // `Buffer.alloc` gives memory of its own, while small copies share a pool: so a copy shows.
  const bytes = Buffer.alloc(6, 'abcdef');
  const edits = [edit(4, 5, 'X'), edit(1, 2, 'Y')];
  for (const part of partsOf(bytes, edits)) {
    t.ok(part.buffer === bytes.buffer || edits.some(({ putIn }) => putIn === part), part.toString());
  }
  t.same(
    edits.map(({ start }) => start),
    [4, 1],
  );
  t.end();
});

t.test('random edits give the expected text', (t) => {
  const random = new Random(20251125);
  for (let round = 0; round < 500; round += 1) {
    const edits: Edit[] = [];
    let [text, expected] = ['', ''];
    for (let count = random.below(6); count > 0; count -= 1) {
      const [kept, goes, comes] = [
        'k'.repeat(random.below(4)),
        'g'.repeat(random.below(4)),
        'c'.repeat(random.below(4)),
      ];
      const start = text.length + kept.length;
      edits.push(edit(start, start + goes.length, comes));
      text += `${kept}${goes}|`;
      expected += `${kept}${comes}|`;
    }
    if (edited(text, edits.toReversed()) !== expected) t.fail(JSON.stringify({ text, edits, expected }));
  }
  t.pass('each as it must be');
  t.end();
});
