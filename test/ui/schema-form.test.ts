// Forms from JSON Schemas, and the values that result from them: for friendly schemas and for hostile ones.
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import { blankEntries, entriesOf, valueOf } from '../../ui/model/form-values.js';
import { formOf, isWhollyForm, type FormField } from '../../ui/model/schema-form.js';

const schema = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Full name', maxLength: 40 },
    story: { type: 'string', description: 'At length' },
    age: { type: 'integer', minimum: 0 },
    weight: { anyOf: [{ type: 'number' }, { type: 'null' }] },
    keen: { type: 'boolean' },
    colour: { enum: ['red', 'green', 3] },
    size: { oneOf: [{ const: 's', title: 'small' }, { const: 'l' }] },
    place: { $ref: '#/$defs/place' },
    tags: { type: 'array', items: { type: 'string', maxLength: 9 } },
    free: { type: 'object', additionalProperties: true },
  },
  required: ['name', 'age', 'place'],
  $defs: {
    place: { type: 'object', properties: { city: { type: 'string' }, zip: { type: 'string' } }, required: ['city'] },
  },
};

const kindsOf = (fields: readonly FormField[]): Record<string, string> =>
  Object.fromEntries(fields.map(({ name, kind }) => [name, kind]));

t.test('each property becomes a field of its kind', async (t) => {
  const fields = formOf(schema);
  t.same(kindsOf(fields), {
    ...{ name: 'text', story: 'long-text', age: 'integer', weight: 'number', keen: 'boolean' },
    ...{ colour: 'choice', size: 'choice', place: 'group', tags: 'list', free: 'json' },
  });
  const [name, , age] = fields;
  t.match(name, { label: 'Full name', isRequired: true, hint: 'characters at most: 40' });
  t.match(age, { label: 'age', isRequired: true, hint: 'at least 0' });
  t.same(fields.find((field) => field.name === 'colour')?.choices, ['"red"', '"green"', '3']);
  t.same(kindsOf(fields.find((field) => field.name === 'place')?.fields ?? []), {
    city: 'long-text',
    zip: 'long-text',
  });
  t.notOk(isWhollyForm(fields), 'one of them is JSON');
  t.ok(isWhollyForm(fields.filter(({ name }) => name !== 'free')));
});

t.test('typed text becomes a value that the schema accepts', async (t) => {
  const fields = formOf(schema);
  const entries = {
    ...{ name: 'Ada', age: '36', weight: '60.5', keen: true, colour: '3', size: '"l"', story: '' },
    ...{ place: { city: 'London' }, tags: ['a', 'b'], free: '{"x":1}' },
  };
  const { value, faults } = valueOf(fields, entries);
  t.same([...faults], []);
  const expected = { name: 'Ada', age: 36, weight: 60.5, keen: true, colour: 3, size: 'l' };
  t.strictSame(value, { ...expected, place: { city: 'London' }, tags: ['a', 'b'], free: { x: 1 } });
  t.ok(new Ajv2020({ strict: false }).validate(schema, value));
  t.strictSame(valueOf(fields, entriesOf(fields, value)), { value, faults: new Map() }, 'and back');
});

t.test('an invalid entry is reported by its path', async (t) => {
  const fields = formOf(schema);
  const typed = { age: '1.5', weight: 'heavy', free: '{', tags: ['a', undefined], place: {} };
  t.same(Object.fromEntries(valueOf(fields, typed).faults), {
    name: 'is needed',
    age: 'must be a whole number',
    weight: 'must be a number',
    free: 'is not JSON',
    'tags.1': 'is empty: fill it in or remove it',
    'place.city': 'is needed',
  });
});

t.test('an optional group has no required fields until something is typed into it', async (t) => {
  const group = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } }, required: ['a'] };
  const fields = formOf({ type: 'object', properties: { group } });
  t.strictSame(valueOf(fields, {}), { value: {}, faults: new Map() });
  t.same([...valueOf(fields, { group: { b: 'x' } }).faults.keys()], ['group.a']);
});

t.test('a form begins with the schema’s defaults', async (t) => {
  const properties = {
    a: { type: 'integer', default: 5 },
    b: { const: 'x', default: 'x' },
    c: { type: 'boolean', default: false },
  };
  const fields = formOf({ type: 'object', properties });
  t.strictSame(valueOf(fields, blankEntries(fields)).value, { a: 5, b: 'x', c: false });
});

t.test('hostile schemas yield small forms', async (t) => {
  const circle = { $ref: '#' };
  t.same(formOf({ type: 'object', properties: { self: circle } }).length, 1, 'a schema of itself ends');
  t.same(formOf({ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } }), []);
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`p${index}`, { type: 'string' }]));
  t.ok(formOf({ type: 'object', properties: many }).length <= 200);
  for (const odd of [
    null,
    7,
    'x',
    [],
    { type: 'object', properties: [] },
    { properties: { __proto__: null } },
    { type: 5 },
  ]) {
    t.doesNotThrow(() => formOf(odd), JSON.stringify(odd));
  }
  const evil = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}',
  ) as object;
  const fields = formOf(evil);
  const { value } = valueOf(fields, Object.fromEntries([['constructor', 'a']]));
  t.strictSame(value, Object.fromEntries([['constructor', 'a']]));
  t.equal(Object.getPrototypeOf(value), Object.prototype);
  t.same(formOf({ $ref: 'https://elsewhere.example/schema.json' }), [], 'nothing is fetched');
});
