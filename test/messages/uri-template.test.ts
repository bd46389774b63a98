import t from 'tap';
import { UriMatcher, UriTemplate, TEMPLATE_VARIABLES_MAX, TEMPLATE_TEXT_CHARS_MAX } from '../../src/messages/uris.js';
import { Random } from '../support/random.js';

const matchesTemplate = (uri: string, template: string): boolean =>
  new UriMatcher(uri).matches(new UriTemplate(template));

t.test('variables stand for unreserved characters and percent-escapes', async (t) => {
  const rows: [template: string, matches: string[], others: string[]][] = [
    ['a://b', ['a://b'], ['a://b/', 'a://', 'xa://b']],
    [
      'a://{x}',
      ['a://', 'a://b', 'a://%2F', 'a://~._-9é'],
      ['a://b/c', 'a://b?c', 'a://b#c', 'a://b:c', 'a:/', 'a://b\n', 'a://b c'],
    ],
    ['{x}', ['', 'b'], ['a:b']],
    ['a/{x}/b/{y}', ['a/1/b/2', 'a//b/', 'a/b/b/b'], ['a/1/2/b/3', 'a/1/b/2/', 'a/b/']],
    ['{x}{y}', ['', 'ab'], ['/']],
    ['a{x}a', ['aa', 'aaa'], ['a', 'ab']],
    ['a/{x}b{y}/c', ['a/b/c', 'a/1b2b3/c'], ['a/1/c', 'a/b/b/c']],
    ['a/{x.y}/{a_1}', ['a/1/2'], ['a/1']],
    ['a/{%61}/{b%C3%a9.c}', ['a/1/2'], ['a/1']],
  ];
  for (const [template, matches, others] of rows) {
    for (const uri of matches) t.ok(matchesTemplate(uri, template), `${template} ${uri}`);
    for (const uri of others) t.notOk(matchesTemplate(uri, template), `${template} ${uri}`);
  }
});

t.test('templates of higher levels and invalid templates match nothing', async (t) => {
  for (const template of [
    'a{+x}',
    'a{/x}',
    'a{?x,y}',
    'a{x,y}',
    'a{x*}',
    'a{x:3}',
    'a{}',
    'a{',
    'a}',
    'a{{x}}',
    'a{x}}',
    'a{ x}',
    'a{.x}',
    'a{%6}',
    'a{x%6g}',
  ])
    for (const uri of ['a', 'ab', template]) t.notOk(matchesTemplate(uri, template), `${template} ${uri}`);
});

t.test('agrees with a regular expression on random texts', async (t) => {
  const random = new Random(5);
  const pieces = ['a', 'b', '/', '{x}', '{y}', 'ab'];
  let matchCount = 0;
  for (let round = 0; round < 5_000; round += 1) {
    const template = Array.from({ length: random.below(6) }, () => random.pick(pieces)).join('');
    const uri = Array.from({ length: random.below(7) }, () => random.pick(['a', 'b', '/'])).join('');
    const expected = new RegExp(`^${template.replace(/\{.\}/g, '[ab]*')}$`).test(uri);
    if (expected) matchCount += 1;
    if (matchesTemplate(uri, template) !== expected) t.equal(!expected, expected, `${template} ${uri}`);
  }
  t.ok(matchCount > 300, `${matchCount} matched`);
});

t.test('a template that can match in very many ways takes no longer', async (t) => {
  const template = `${'{x}a'.repeat(TEMPLATE_VARIABLES_MAX)}!`;
  t.notOk(matchesTemplate('a'.repeat(16_000), template));
  t.ok(matchesTemplate(`${'a'.repeat(16_000)}!`, template));
});

t.test('a URI with a dot segment matches no template', async (t) => {
  for (const step of ['..', '.', '%2e%2E', '.%2e', '%2E']) {
    for (const uri of [`a://b/${step}/c`, `a://b/c/${step}`, `a://b/${step}?c`, `a://b/x\\${step}`]) {
      t.notOk(matchesTemplate(uri, 'a://b/{x}/{y}'), uri);
      t.notOk(matchesTemplate(uri, 'a://b/{x}'), uri);
    }
  }
  t.ok(matchesTemplate('a://b/..c/d..', 'a://b/{x}/{y}'));
});

t.test('nor does one with a dot segment between escaped separators, which a server decodes', async (t) => {
  const climbing = [
    '..%2fc',
    '..%2Fc',
    '..%5cc',
    '%2e%2e%2fc',
    '.%2e%5Cc',
    'c%2f..',
    'c%5c%2e%2e',
    'c%2f.%2fd',
    '..%3fc',
  ];
  for (const value of climbing) t.notOk(matchesTemplate(`a://b/${value}`, 'a://b/{x}'), value);
  for (const value of ['c%2fd', 'c..%2fd', '..c%2fd', '%2e%2ec', 'c%5cd'])
    t.ok(matchesTemplate(`a://b/${value}`, 'a://b/{x}'), value);
});

t.test('a template with more variables than the limit matches nothing', async (t) => {
  const variables = '{x}'.repeat(TEMPLATE_VARIABLES_MAX);
  t.ok(matchesTemplate('a', variables));
  t.notOk(matchesTemplate('a', `${variables}{x}`));
});

t.test('a text between variables that is longer than the limit is not searched for', async (t) => {
  const long = 'a'.repeat(TEMPLATE_TEXT_CHARS_MAX + 1);
  t.notOk(matchesTemplate(`1${long}2`, `{x}${long}{y}`));
  t.ok(matchesTemplate(`1${long.slice(1)}2`, `{x}${long.slice(1)}{y}`));
});
