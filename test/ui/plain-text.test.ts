import t from 'tap';
import { plainText } from '../../ui/model/plain-text.js';

t.test('characters that would reverse or hide other text are written out', async (t) => {
  t.same(plainText('a\u202egnp.exe', 100), { text: 'a⟨U+202E⟩gnp.exe', leftOut: 0 });
  t.same(plainText('in\u200bvisible\u2066x\u0007\u001b[2J', 100).text, 'in⟨U+200B⟩visible⟨U+2066⟩x⟨U+0007⟩⟨U+001B⟩[2J');
  t.same(plainText('tag \u{e0041}', 100).text, 'tag ⟨U+E0041⟩');
});

t.test('ordinary text stays as it is', async (t) => {
  const text = 'Grüße, 你好, שלום, 🙂\n\tand <b>markup</b> &amp; more';
  t.same(plainText(text, 1_000), { text, leftOut: 0 });
  t.equal(plainText('one\r\ntwo', 100).text, 'one\ntwo');
});

t.test('a long text is cut, never between the halves of a character', async (t) => {
  t.same(plainText('x'.repeat(1_000_000), 300), { text: 'x'.repeat(300), leftOut: 999_700 });
  t.same(plainText('ab🙂', 3), { text: 'ab', leftOut: 2 });
});

t.test('a value that is no string is shown as JSON, and nothing as nothing', async (t) => {
  t.equal(plainText({ a: [1] }, 100).text, '{\n  "a": [\n    1\n  ]\n}');
  t.equal(plainText(undefined, 100).text, '');
  t.equal(plainText(null, 100).text, '');
});
