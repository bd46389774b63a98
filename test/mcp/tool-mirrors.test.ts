// What a listed tool says of its calls: for whom it is, and which of its arguments calls repeat in headers.
import t from 'tap';
import { hasMirrors, isVisibleTo, readMirrors } from '../../src/mcp/tool-mirrors.js';
import { limits } from '../../src/shared/limits.js';

const of = (inputSchema: unknown): ReturnType<typeof readMirrors> =>
  readMirrors(Buffer.from(JSON.stringify({ name: 'a', inputSchema })));
const said = (header: unknown, type = 'string'): object => ({ type, 'x-mcp-header': header });

t.test('a tool is for apps and for models, unless it says for whom', async (t) => {
  for (const [meta, whom] of [
    ['{}', ['app', 'model']],
    ['{"_meta":{"ui":{"visibility":["app"]}}}', ['app']],
    ['{"_meta":{"ui":{"visibility":["model"]}}}', ['model']],
    ['{"_meta":{"ui":{"visibility":["model","app"]}}}', ['app', 'model']],
    ['{"_meta":{"ui":{"visibility":[]}}}', []],
    ['{"_meta":{"ui":{"visibility":"app"}}}', ['app', 'model']],
    ['{"_meta":{"visibility":["app"]}}', ['app', 'model']],
    ['{"_meta":{"ui":7},"visibility":["app"]}', ['app', 'model']],
    ['{"_meta":null,"ui":{"visibility":["app"]}}', ['app', 'model']],
  ] as const)
    t.same(
      (['app', 'model'] as const).filter((each) => isVisibleTo(each, Buffer.from(meta))),
      whom,
      meta,
    );
  const large = `{"x":"${'x'.repeat(limits.mirroredToolBytesMax)}","_meta":{"ui":{"visibility":["app"]}}}`;
  t.ok(isVisibleTo('model', Buffer.from(large)), 'a tool too large to be read is for all');
});

t.test('the headers of properties are found at any depth, with their paths', async (t) => {
  const properties = {
    region: said('Region'),
    count: said('n', 'integer'),
    flag: said('f', 'boolean'),
    plain: { type: 'string' },
    deep: { type: 'object', properties: { enum: said('Deep') } },
  };
  t.same(of({ type: 'object', properties }), [
    { header: 'mcp-param-region', path: ['region'] },
    { header: 'mcp-param-n', path: ['count'] },
    { header: 'mcp-param-f', path: ['flag'] },
    { header: 'mcp-param-deep', path: ['deep', 'enum'] },
  ]);
  t.same(of({ properties: {} }), []);
  t.same(of(undefined), []);
});

t.test('data of the tool that looks like an annotation is none', async (t) => {
  for (const keyword of ['const', 'default', 'enum', 'examples', 'example'])
    t.same(of({ properties: { a: { type: 'object', [keyword]: [said('x')] } } }), [], keyword);
  t.same(of({ properties: 7 }), []);
});

t.test('an annotation that no call could honour is invalid', async (t) => {
  for (const [schema, fault] of [
    [said('x'), /not a property/],
    [{ properties: { a: { type: 'array', items: said('x') } } }, /not a property/],
    [{ anyOf: [{ properties: { a: said('x') } }] }, /not a property/],
    [{ items: { properties: { a: said('x') } } }, /not a property/],
    [{ properties: { a: said('') } }, /invalid name/],
    [{ properties: { a: said('a b') } }, /invalid name/],
    [{ properties: { a: said(7) } }, /invalid name/],
    [{ properties: { a: said('x', 'number') } }, /not a string, integer or boolean/],
    [{ properties: { a: said('x', 'object') } }, /not a string, integer or boolean/],
    [{ properties: { a: said('x'), b: said('X') } }, /one header for two/],
    [{ properties: { a: said('x'), b: { type: 'array', items: { not: said('y') } } } }, /not a property/],
  ] as const)
    t.match(of(schema), fault, JSON.stringify(schema));
  const many = (count: number): unknown =>
    of({ properties: Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, said(`h${n}`)])) });
  t.equal((many(limits.mirroredParamsMax) as unknown[]).length, limits.mirroredParamsMax);
  t.match(many(limits.mirroredParamsMax + 1), /too many/);
});

t.test('a tool that is too large is not read, and one without the word need not be', async (t) => {
  const tool = (bytes: number): Buffer => {
    const json = JSON.stringify({ inputSchema: { properties: { a: said('x') } }, padding: '' });
    return Buffer.from(json.replace('"padding":""', `"padding":"${'x'.repeat(bytes - json.length)}"`));
  };
  t.equal(readMirrors(tool(limits.mirroredToolBytesMax))?.length, 1);
  t.equal(readMirrors(tool(limits.mirroredToolBytesMax + 1)), undefined);
  t.equal(hasMirrors(tool(500)), true);
  t.equal(hasMirrors(Buffer.from('{"description":"the x-mcp-header"}')), false);
});
