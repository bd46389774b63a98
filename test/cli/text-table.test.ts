import t from 'tap';
import { printable, textLines, textTable } from '../../src/cli/command-result.js';

t.test('columns are as wide as their widest cell', async (t) => {
  t.equal(
    textTable(
      ['A', 'LONG'],
      [
        ['xxx', 'y'],
        ['z', ''],
      ],
      undefined,
    ),
    ['A    LONG', 'xxx  y', 'z', ''].join('\n'),
  );
});

t.test('characters outside the basic plane count once', async (t) => {
  t.equal(textTable(['A', 'B'], [['😀', 'x']], undefined), 'A  B\n😀  x\n');
});

t.test('a terminal gets no line that it would wrap', async (t) => {
  t.equal(textTable(['ABCDEF', 'G'], [['abc', 'd']], 6), 'ABCDE…\nabc  …\n');
  t.equal(textTable(['AB', 'C'], [], 5), 'AB  C\n');
});

t.test('names and values are printed in lines', async (t) => {
  t.equal(
    textLines([
      ['a', '1'],
      ['long', '2\n3'],
      ['b', ''],
    ]),
    'a     1\nlong  2 3\nb\n',
  );
});

t.test('nothing that is printed can control the terminal', async (t) => {
  t.equal(printable('a\u001b[31m\u0007b\u009bc\u202ed\r\n\te'), 'a\u{FFFD}[31m\u{FFFD}b\u{FFFD}c\u{FFFD}d e');
  t.equal(printable('naïve 日本 😀'), 'naïve 日本 😀');
});
