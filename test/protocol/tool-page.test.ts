import t from 'tap';
import { readToolPage } from '../../src/protocol/tool-page.js';
import { printable } from '../support/printable.js';
import { Random } from '../support/random.js';
import { escapedToken, randomJson, randomStringToken } from '../support/random-json.js';

const HEAD = '{"jsonrpc":"2.0","id":1,"result":';

/** The page of a result that stands within a message. */
function read(result: string): { bytes: Buffer; page: ReturnType<typeof readToolPage> } {
  const bytes = Buffer.from(`${HEAD}${result}}`);
  return { bytes, page: readToolPage(bytes, HEAD.length, bytes.length - 1) };
}

void t.test('reads tools and cursor', async (t) => {
  const { bytes, page } = read(
    '{"tools":[{"name":"a"}, {"title":"x","n\\u0061me":"\\u0062"}],"nextCursor":"c\\n","_meta":{}}',
  );
  t.same(page, {
    tools: [
      { start: 43, end: 55, nameStart: 51, nameEnd: 54, name: 'a' },
      { start: 57, end: 91, nameStart: 82, nameEnd: 90, name: 'b' },
    ],
    nextCursor: 'c\n',
  });
  t.equal(bytes.toString('utf8', 43, 55), '{"name":"a"}');
  t.equal(bytes.toString('utf8', 82, 90), '"\\u0062"');
});

void t.test('an empty page, and the last one', async (t) => {
  t.same(read('{"tools":[]}').page, { tools: [], nextCursor: undefined });
  t.same(read('{"tools":[],"nextCursor":null}').page, { tools: [], nextCursor: undefined });
  t.same(read('{"tools":[],"nextCursor":""}').page, { tools: [], nextCursor: '' });
});

void t.test('nonsense', async (t) => {
  const nonsense = [
    ...[
      'null',
      '[]',
      '1',
      '{}',
      '{"tools":null}',
      '{"tools":{}}',
      '{"tools":[],"tools":[]}',
      '{"tools":[],"Tools":[]}',
    ],
    ...[
      '{"tools":[],"nextCursor":1}',
      '{"tools":[],"nextCursor":{}}',
      '{"tools":[],"nextCursor":"a","nextCursor":"b"}',
    ],
    ...[
      '1',
      'null',
      '[]',
      '{}',
      '{"name":1}',
      '{"name":null}',
      '{"name":"a","name":"b"}',
      '{"name":"a","NAME":"b"}',
    ].map((tool) => `{"tools":[{"name":"ok"},${tool}]}`),
  ];
  for (const result of nonsense) t.equal(read(result).page, undefined, result);
  t.equal(read('{"tools":[}').page, undefined, 'not JSON');
});

void t.test('fuzz: agrees with the parsed page', async (t) => {
  const random = new Random(6);
  for (let round = 0; round < 300; round++) {
    const tools = Array.from({ length: random.below(5) }, () => {
      const members = [
        `${escapedToken(random, 'name')}:${randomStringToken(random)}`,
        `"inputSchema":${randomJson(random, 4)}`,
        `"description" : ${randomStringToken(random, 60)}`,
      ];
      return `{${(random.chance(0.5) ? members : members.toReversed()).join(' , ')}}`;
    });
    const cursor = random.chance(0.5) ? `,"nextCursor":${randomStringToken(random)}` : '';
    const result = `{"tools": [${tools.join(random.pick([',', ' ,\n']))} ]${cursor}}`;
    const { bytes, page } = read(result);
    const parsed = JSON.parse(result) as { tools: { name: string }[]; nextCursor?: string };
    const text = (start: number, end: number): string => bytes.toString('utf8', start, end);
    t.equal(page?.nextCursor, parsed.nextCursor);
    t.same(
      page?.tools.map(({ name }) => name),
      parsed.tools.map(({ name }) => name),
    );
    t.same(
      page?.tools.map(({ start, end }) => text(start, end)),
      tools,
    );
    t.same(
      page?.tools.map(({ nameStart, nameEnd }) => JSON.parse(text(nameStart, nameEnd)) as unknown),
      parsed.tools.map(({ name }) => name),
    );
    if (!t.passing()) throw new Error(printable(result));
  }
});
