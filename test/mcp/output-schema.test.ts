// A schema of results is listed where the validator of the official client compiles it.
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import t from 'tap';
import { isCompilable, mayNotCompile, PATTERN_LENGTH_MAX, UNICODE_CLASSES_MAX } from '../../src/mcp/output-schema.js';

type Schema = Readonly<Record<string, unknown>>;

const within = (property: unknown, more: Schema = {}): Schema => ({
  type: 'object',
  properties: { property },
  ...more,
});
const $defs = {
  'a b': {},
  'a~b': {},
  'a/b': { type: 'string' },
  self: within({ $ref: '#/$defs/self' }),
  wrong: { type: 'any' },
};

const SCHEMAS: Readonly<Record<string, Schema>> = {
  plain: within({ type: 'string' }),
  'a type, and a list of types': within({ type: ['string', 'null'] }),
  'a property with the name of a word': within({ type: 'object', properties: { type: { const: 'any' }, pattern: {} } }),
  'a reference': within({ $ref: '#/$defs/a~1b' }, { $defs }),
  'a reference to a list’s element': within({ $ref: '#/anyOf/0' }, { anyOf: [{}] }),
  'a reference to a name with a tilde': within({ $ref: '#/$defs/a~0b' }, { $defs }),
  'a reference in the form of a URL': within({ $ref: '#/$defs/a%20b' }, { $defs }),
  'a reference to the schema of schemas': within({ $ref: 'http://json-schema.org/draft-07/schema#' }),
  'a reference to another document on the web': within({ $ref: 'http://example.test/schema#' }),
  'a reference that is no text': within({ $ref: { toString: null } }),
  'a type that is no text': within({ $ref: '#', type: { toString: null } }),
  'what a property depends on': within({ pattern: 'x' }, { dependencies: { property: ['other'], other: {} } }),
  'a wrong dependency': within({ pattern: 'x' }, { dependencies: { property: { type: 'any' } } }),
  'a reference to itself': within({ $ref: '#' }),
  'a definition that refers to itself': within({ $ref: '#/$defs/self' }, { $defs }),
  'a wrong definition that nothing refers to': within({ pattern: 'x' }, { $defs }),
  'a reference by name': within({ $ref: '#A' }, { $defs: { a: { $anchor: 'A' } } }),
  'a reference by name into a list of alternatives': within({ $ref: '#A' }, { anyOf: [{ $anchor: 'A' }] }),
  'references by name into other lists': within(
    { allOf: [{ $ref: '#A' }, { $ref: '#B' }, { $ref: '#C' }] },
    { allOf: [{ $anchor: 'A' }], oneOf: [{ $anchor: 'B' }], items: [{ $anchor: 'C' }] },
  ),
  'a reference by name to nowhere': within({ $ref: '#B' }, { $defs: { a: { $anchor: 'A' } } }),
  'a reference to nowhere, in a schema with an id': within({ $ref: '#/nowhere' }, { $id: 'http://example.test/a' }),
  'a reference within a schema with an id': within({ $ref: '#/$defs/a~1b' }, { $id: 'http://example.test/a', $defs }),
  'an id twice': within({}, { $defs: { a: { $id: 'x' }, b: { $id: 'x', type: 'string' } } }),
  'an id that is no address': within({ $ref: '#/$defs/self' }, { $id: '%', $defs }),
  'an anchor twice': within({}, { $defs: { a: { $anchor: 'x' }, b: { $anchor: 'x' } } }),
  'a wrong anchor where no schema is read': within({ anything: { $anchor: '1 ' } }),
  'ids that are data': within({ default: { $id: 'x' }, enum: [{ $id: 'x' }] }),
  'the id of the schema of schemas': within({ $id: 'http://json-schema.org/draft-07/schema' }),
  'what is checked later': within(
    { $ref: '#/$defs/a' },
    { $defs: { a: { $async: true, not: { $ref: '#/$defs/a' } } } },
  ),
  'a reference to a name in data': within({ $ref: '#A' }, { default: { $anchor: 'A' }, list: [{ $anchor: 'A' }] }),
  'a reference to a definition’s own name': within({ $ref: '#A' }, { $defs: { $anchor: 'A' } }),
  'a pattern': within({ pattern: '^\\p{L}+$' }, { patternProperties: { '^x-': {} } }),
  'words that are data': within({ default: { type: 'any', $ref: '#/x' }, enum: [{ pattern: '(' }] }),
  'words of OpenAPI': within({ type: 'string', nullable: true, discriminator: {}, xml: {}, example: 1 }),
  'a bound of draft 4': within({ type: 'number', minimum: 1, exclusiveMinimum: true }),
  'an id of draft 4': within({ id: 'http://example.test/address', type: 'object' }),
  'a property with the name of an id': within({ type: 'string' }, { required: ['id'] }),
  'something nullable of any type': within({ nullable: true }),
  'null that is not nullable': within({ type: ['null', 'string'], nullable: false }),
  'a choice of nothing': within({ enum: [] }),
  'a schema that is true': within(true, { additionalProperties: false, items: true, pattern: 'x' }),
  'a reference to nowhere': within({ $ref: '#/$defs/Gone' }, { $defs }),
  'a reference into another document': within({ $ref: '#/components/schemas/A' }),
  'a reference without a place': within({ $ref: 'Gone' }),
  'a wrong definition': within({ $ref: '#/$defs/wrong' }, { $defs }),
  'a pattern of another language': within({ pattern: '(?i)^abc\\Z' }),
  'a pattern with an escape that is none': within({ pattern: '^https\\:' }),
  'a property’s pattern of another language': within({}, { patternProperties: { '(?P<x>a)': { type: 'string' } } }),
  'an unknown type': within({ type: 'any' }),
  'an unknown type in a list': within({ type: ['string', '[truncated]'] }),
  'an unknown type of an item': within({ items: { type: 'any' } }),
  'an unknown type of one of several items': within({ items: [{}, { type: 'any' }] }),
  'an unknown type in a choice': within({ anyOf: [{ type: 'string' }, { type: 'any' }] }),
  'an unknown type of others': within({}, { additionalProperties: { type: 'any' } }),
  'a property without a schema, beside a pattern': within({ properties: { inner: null } }),
};

for (const [what, schema] of Object.entries(SCHEMAS)) {
  const compile = (): unknown => new AjvJsonSchemaValidator().getValidator(schema);
  const [isRead, isReadSpaced] = [undefined, 2].map((space) => {
    const text = Buffer.from(JSON.stringify(schema, null, space));
    return !mayNotCompile(text) || isCompilable(text, { unicodeClasses: new Map() });
  });
  t.equal(isRead, isReadSpaced, `${what}, whatever the white space`);
  if (isRead === true) t.doesNotThrow(compile, what);
  else t.throws(compile, what);
}

t.test('a schema as most servers write it is not even parsed', async (t) => {
  const properties = { a: { type: 'string', format: 'date' }, b: { type: 'integer', minimum: 1 } };
  t.notOk(mayNotCompile(Buffer.from(JSON.stringify({ type: 'object', properties, required: ['a'] }))));
});

t.test('classes of Unicode are compiled up to a number of them, since each takes long', async (t) => {
  const budget = { unicodeClasses: new Map<string, boolean>() };
  const isRead = (pattern: string): boolean => isCompilable(Buffer.from(JSON.stringify(within({ pattern }))), budget);
  t.notOk(isRead('\\p{L}('));
  t.notOk(isRead('\\p{Latin}'), 'a class that is none');
  t.ok(isRead('\\\\p{2}'), 'no class at all');
  t.notOk(isRead('[\\p{L}-z]'), 'a range cannot begin with a class');
  t.ok(isRead(`[${'\\p{L}\\P{L}'.repeat(400)}]`), 'the same one as often as it comes');
  const scripts =
    'Arab Armn Beng Bopo Cher Copt Cyrl Deva Ethi Geor Grek Gujr Guru Hang Hani Hebr Hira Kana Khmr Knda Laoo Latn';
  const classes = scripts.split(' ').flatMap((script) => [`\\p{sc=${script}}`, `\\P{sc=${script}}`]);
  const right = classes.filter((each) => isRead(each));
  t.equal(budget.unicodeClasses.size, UNICODE_CLASSES_MAX);
  t.same(
    right,
    [...budget.unicodeClasses].flatMap(([each, isRight]) => (isRight && each.includes('sc=') ? [each] : [])),
  );
  t.ok(classes.length > right.length, 'beyond that, a pattern is taken to be wrong');
});

t.test('a pattern is compiled up to a length, since a class of many characters takes long', async (t) => {
  const isRead = (pattern: string): boolean =>
    isCompilable(Buffer.from(JSON.stringify(within({ pattern }))), { unicodeClasses: new Map() });
  t.ok(isRead('a'.repeat(PATTERN_LENGTH_MAX)));
  t.notOk(isRead('a'.repeat(PATTERN_LENGTH_MAX + 1)));
  t.notOk(isRead('\\p{'.repeat(PATTERN_LENGTH_MAX / 3)), 'classes that do not end');
  t.notOk(isRead('\\p{a\\}'), 'a class with a backslash in its name');
});

t.test('escapes in a word hide nothing', async (t) => {
  for (const schema of [within({ pattern: '(' }), within({ $ref: '#/gone' }), within({ contains: 'x' })])
    for (const word of ['pattern', '$ref', 'contains'])
      for (const character of word) {
        const escaped = `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
        const json = JSON.stringify(schema).replace(word, word.replace(character, escaped));
        const text = Buffer.from(json);
        t.ok(mayNotCompile(text) && !isCompilable(text, { unicodeClasses: new Map() }), json);
      }
});

t.test(
  'an id within a schema is refused: it may be the one of another tool, whose schema would not compile then',
  async (t) => {
    const [one, other] = [
      within({}, { $id: 'http://example.test/a' }),
      within({ $id: 'http://example.test/a', type: 'null' }),
    ];
    const validator = new AjvJsonSchemaValidator();
    t.same(
      [one, other].map((schema) => isCompilable(Buffer.from(JSON.stringify(schema)), { unicodeClasses: new Map() })),
      [true, false],
    );
    t.same([doesCompile(validator, one), doesCompile(validator, other)], [true, false]);
  },
);

t.test('nothing that a backend writes as a schema throws', async (t) => {
  const odd: readonly unknown[] = [null, 0, '', 'x', [], [[]], {}, { toString: null }, { $ref: {} }, true];
  const words = 'type $ref pattern patternProperties properties dependencies items anyOf not'.split(' ');
  for (const word of words)
    for (const value of odd)
      for (const schema of [{ [word]: value }, { properties: { a: { [word]: value } } }])
        t.doesNotThrow(() => isCompilable(Buffer.from(JSON.stringify(schema)), { unicodeClasses: new Map() }), word);
});

t.test('what is taken to be readable compiles, whatever stands at a word', async (t) => {
  const words =
    '$ref $id $anchor $dynamicAnchor $schema $defs definitions $comment id type enum const nullable discriminator multipleOf ' +
    'maximum minimum exclusiveMaximum exclusiveMinimum maxLength minLength pattern format maxItems minItems uniqueItems ' +
    'maxProperties minProperties required items prefixItems additionalItems contains minContains properties ' +
    'patternProperties additionalProperties propertyNames dependencies dependentRequired dependentSchemas allOf anyOf ' +
    'oneOf not if then else title default examples readOnly contentEncoding formatMinimum formatMaximum xml';
  const values: readonly unknown[] = [
    ...[true, false, null, 0, -1.5, '', 'x', 'date', '1', [], [1], ['a', 'a'], [{}], [true], [null], {}],
    ...[{ a: {} }, { a: 1 }, { a: null }, { a: true }, { a: [] }, { a: ['x'] }, { a: 'x' }],
  ];
  let counts = { read: 0, refused: 0 };
  const others: readonly Schema[] = [{}, { type: 'string' }, { type: ['null', 'object'] }];
  const validator = new AjvJsonSchemaValidator();
  for (const word of words.split(' '))
    for (const value of values)
      for (const other of others) {
        const schema = within({ ...other, [word]: value });
        const text = Buffer.from(JSON.stringify(schema));
        const isRead = !mayNotCompile(text) || isCompilable(text, { unicodeClasses: new Map() });
        const compiles = doesCompile(word.startsWith('$') ? new AjvJsonSchemaValidator() : validator, schema);
        counts = { read: counts.read + Number(isRead), refused: counts.refused + Number(!compiles) };
        if (isRead && !compiles) t.fail(text.toString());
        // A list where a schema belongs is refused, though the validator does not look at it.
        if (!isRead && compiles && !/"a":(?:1|"x"|\[)|\[1\]|\["a"|format|\$id|"type":""/.test(text.toString()))
          t.fail(`refused: ${text.toString()}`);
      }
  t.ok(counts.read > 1_000 && counts.refused > 1_000, JSON.stringify(counts));
});

function doesCompile(validator: AjvJsonSchemaValidator, schema: Schema): boolean {
  try {
    return validator.getValidator(schema) !== undefined;
  } catch {
    return false;
  }
}
