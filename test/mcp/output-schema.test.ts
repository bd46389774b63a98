// A schema of results is listed where the validator of the official client compiles it.
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import t from 'tap';
import { isCompilable, isDoubtful, UNICODE_CLASSES_MAX } from '../../src/mcp/output-schema.js';

type Schema = Readonly<Record<string, unknown>>;

const within = (property: unknown, more: Schema = {}): Schema => ({
  type: 'object',
  properties: { property },
  ...more,
});
const $defs = { 'a b': {}, 'a/b': { type: 'string' }, self: within({ $ref: '#/$defs/self' }), wrong: { type: 'any' } };

const SCHEMAS: Readonly<Record<string, Schema>> = {
  plain: within({ type: 'string' }),
  'a type, and a list of types': within({ type: ['string', 'null'] }),
  'a property with the name of a word': within({ type: 'object', properties: { type: { const: 'any' }, pattern: {} } }),
  'a reference': within({ $ref: '#/$defs/a~1b' }, { $defs }),
  'a reference to a list’s element': within({ $ref: '#/anyOf/0' }, { anyOf: [{}] }),
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
  'a pattern': within({ pattern: '^\\p{L}+$' }, { patternProperties: { '^x-': {} } }),
  'words that are data': within({ default: { type: 'any', $ref: '#/x' }, enum: [{ pattern: '(' }] }),
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
  'a property without a schema, beside a pattern': within(null, { pattern: 'x' }),
};

for (const [what, schema] of Object.entries(SCHEMAS)) {
  const compile = (): unknown => new AjvJsonSchemaValidator().getValidator(schema);
  const [isRead, isReadSpaced] = [undefined, 2].map((space) => {
    const text = Buffer.from(JSON.stringify(schema, null, space));
    return !isDoubtful(text) || isCompilable(text, { unicodeClasses: UNICODE_CLASSES_MAX });
  });
  t.equal(isRead, isReadSpaced, `${what}, whatever the white space`);
  if (isRead === true) t.doesNotThrow(compile, what);
  else t.throws(compile, what);
}

t.test('classes of Unicode are compiled up to a number of them, since each takes long', async (t) => {
  const budget = { unicodeClasses: UNICODE_CLASSES_MAX };
  const wrong = (pattern: string): Buffer => Buffer.from(JSON.stringify(within({ pattern })));
  t.notOk(isCompilable(wrong('\\p{L}('), budget));
  t.ok(isCompilable(wrong(`[${'\\p{L}\\P{L}'.repeat(5_000)}`), budget), 'beyond that, a pattern is taken to be right');
});

t.test('nothing that a backend writes as a schema throws', async (t) => {
  const odd: readonly unknown[] = [null, 0, '', 'x', [], [[]], {}, { toString: null }, { $ref: {} }, true];
  const words = 'type $ref pattern patternProperties properties dependencies items anyOf not'.split(' ');
  for (const word of words)
    for (const value of odd)
      for (const schema of [{ [word]: value }, { properties: { a: { [word]: value } } }])
        t.doesNotThrow(() => isCompilable(Buffer.from(JSON.stringify(schema)), { unicodeClasses: 1 }), word);
});
