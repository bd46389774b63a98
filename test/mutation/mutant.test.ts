import t from 'tap';
import { mutantsOf, mutate, nameOf } from './mutant.js';

const [mutant, named] = mutantsOf(
  'src/a.ts',
  ['a'],
  [
    { slip: 'one too many', text: 'at < end', becomes: 'at <= end' },
    { slip: 'never ends', text: 'at++', becomes: '', noticedBy: ['b', 'c'] },
  ],
);
if (mutant === undefined || named === undefined) throw new Error('there are two mutants');

t.test('only the text itself is replaced', async (t) => {
  t.equal(mutate('for (; at < end; at++) {}', mutant), 'for (; at <= end; at++) {}');
  t.equal(mutate('for (; at < end; at++) {}', named), 'for (; at < end; ) {}');
  t.equal(mutate("'at < end'", { ...mutant, becomes: "$'$&$1" }), "'$'$&$1'", 'as it is written');
});

t.test('a text that is missing, or present twice, is an error that names the mutant', async (t) => {
  t.throws(
    () => mutate('for (; at !== end; at++) {}', mutant),
    /src\/a\.ts: one too many\n.*no longer there: at < end/,
  );
  t.throws(() => mutate('at < end || at < end', mutant), /src\/a\.ts: one too many\n.*there 2 times/);
});

t.test('with `after`, the first occurrence after that text is replaced', async (t) => {
  const second = { ...mutant, after: 'then' };
  t.equal(mutate('at < end; then at < end; at < end', second), 'at < end; then at <= end; at < end');
  t.throws(() => mutate('at < end then', second), /no longer there: at < end/);
  t.throws(() => mutate('at < end', second), /no longer there: then/);
  t.throws(() => mutate('then then at < end', second), /there 2 times: then/);
});

t.test('what changes nothing, or more than a line, is no mutant', async (t) => {
  t.throws(() => mutate('at < end', { ...mutant, becomes: mutant.text }), /not a change of one line/);
  t.throws(() => mutate('a\nb', { ...mutant, text: 'a\nb' }), /not a change of one line/);
});

t.test('a mutant has the tests of its file, unless it names its own', async (t) => {
  t.same(mutant.noticedBy, ['a']);
  t.same(named.noticedBy, ['b', 'c']);
  t.equal(nameOf(named), 'src/a.ts: never ends');
});
