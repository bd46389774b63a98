import t from 'tap';
import { listKindOf, listKinds } from '../../src/mcp/list-kinds.js';
import { readBackendMessage } from '../../src/mcp/json-rpc.js';
import {
  INVALID_MIRRORS_LOGGED_MAX,
  readListAnswer,
  span,
  SPAN_LENGTH,
  type ListAnswer,
  type ListPage,
} from '../../src/mcp/list-page.js';
import { REPAIRS_MAX } from '../../src/mcp/readable-items.js';
import { limits } from '../../src/shared/limits.js';
import { printable } from '../support/printable.js';
import { Random } from '../support/random.js';
import { escapedToken, randomJson, randomStringToken } from '../support/random-json.js';

const ID = Buffer.from('"list"');

function answerWith(result: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":"list","result":${result}}`);
}

function read(result: string): ListAnswer {
  return readListAnswer(answerWith(result), ID, listKinds.tools);
}

const OBJECT = '{"type":"object"}';
const SCHEMA = `"inputSchema":${OBJECT}`;

interface PageTexts {
  readonly tools: string[];
  readonly nameTokens: string[];
  readonly nextCursor: string | undefined;
}

/** The texts of a page's spans; `undefined` when the answer is not a page. */
function textsOf(answer: ListAnswer): PageTexts | undefined {
  if (answer.kind !== 'page') return undefined;
  const { page, nextCursor } = answer;
  return {
    tools: cover(page, span.start, span.end),
    nameTokens: cover(page, span.keyStart, span.keyEnd),
    nextCursor,
  };
}

function cover({ bytes, spans }: ListPage, from: number, to: number): string[] {
  return Array.from({ length: spans.length / SPAN_LENGTH }, (_, index) => {
    const row = index * SPAN_LENGTH;
    return bytes.toString('utf8', spans[row + from], spans[row + to]);
  });
}

void t.test('the id of a request is a number, and may come back as a string', async (t) => {
  const page = `{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"a",${SCHEMA}}]}}`;
  const kindOf = (id: string): string =>
    readListAnswer(Buffer.from(page.replace('7', id)), Buffer.from('7'), listKinds.tools).kind;
  t.same(['7', '7.0', '"7"'].map(kindOf), ['page', 'page', 'page']);
  t.same(['8', '"8"', '"07"', 'null'].map(kindOf), ['invalid', 'invalid', 'invalid', 'invalid']);
});

void t.test('bytes of a text that are not UTF-8 are replaced, as decoders do', async (t) => {
  const answer = Buffer.from(
    answerWith(`{"tools":[{"name":"a","description":"caf\u00e9",${SCHEMA}}]}`).toString(),
    'latin1',
  );
  const tool = `{"name":"a","description":"caf\ufffd",${SCHEMA}}`;
  t.match(textsOf(readListAnswer(answer, ID, listKinds.tools)), { tools: [tool], nameTokens: ['"a"'] });
  const name = Buffer.from([...answer.subarray(0, 1), 0xe9, ...answer.subarray(1)]);
  t.equal(readListAnswer(name, ID, listKinds.tools).kind, 'invalid', 'in the structure they mean nothing');
});

void t.test('reads tools and cursor', async (t) => {
  const answer = read(
    `{"tools":[{"name":"a",${SCHEMA}}, {"title":"x","n\\u0061me":"\\u0062",${SCHEMA}}],"nextCursor":"c\\n","_meta":{}}`,
  );
  t.same(textsOf(answer), {
    tools: [`{"name":"a",${SCHEMA}}`, `{"title":"x","n\\u0061me":"\\u0062",${SCHEMA}}`],
    nameTokens: ['"a"', '"\\u0062"'],
    nextCursor: 'c\n',
  });
});

void t.test('an empty page is read, and a missing or null cursor means the last page', async (t) => {
  const empty = { tools: [], nameTokens: [] };
  t.same(textsOf(read('{"tools":[]}')), { ...empty, nextCursor: undefined });
  t.same(textsOf(read('{"tools":[],"nextCursor":null}')), { ...empty, nextCursor: undefined });
  t.same(textsOf(read('{"tools":[],"nextCursor":""}')), { ...empty, nextCursor: '' });
});

void t.test('a tool with a name too long to call is left out; a cursor that is too long is invalid', async (t) => {
  const longest = `"${'n'.repeat(limits.toolNameBytesMax)}"`;
  const tools = `[{"name":"a"},{"name":"n${longest.slice(1)}},{"name":${longest}}]`;
  t.same(textsOf(read(`{"tools":${tools}}`))?.nameTokens, ['"a"', longest]);
  const cursor = 'c'.repeat(limits.cursorBytesMax);
  t.equal(textsOf(read(`{"tools":[],"nextCursor":"${cursor}"}`))?.nextCursor, cursor);
  t.equal(read(`{"tools":[],"nextCursor":"${cursor}c"}`).kind, 'invalid');
});

void t.test(
  'what is not said to be an object is listed as one, since clients refuse a whole list for it',
  async (t) => {
    const rows: readonly [what: string, members: string, listed: string][] = [
      [
        'arguments without a type',
        '"inputSchema":{"properties":{"v":{}}}',
        '"inputSchema":{"type":"object","properties":{"v":{}}}',
      ],
      ['no word of arguments', '"inputSchema":{ }', '"inputSchema":{"type":"object" }'],
      ['null', '"inputSchema":null', `"inputSchema":${OBJECT}`],
      ['a schema that allows anything', '"inputSchema":true', `"inputSchema":${OBJECT}`],
      ['another type', '"inputSchema":{"type":["string","null"]}', `"inputSchema":${OBJECT}`],
      [
        'one of several types',
        '"inputSchema":{"properties":{"v":{}},"type":["null","object"],"required":["v"]}',
        '"inputSchema":{"properties":{"v":{}},"type":"object","required":["v"]}',
      ],
      [
        'a type within',
        '"inputSchema":{"x":{"type":"object"}}',
        '"inputSchema":{"type":"object","x":{"type":"object"}}',
      ],
      [
        'a text that looks like a type',
        '"inputSchema":{"$comment":"\\"type\\":\\"object\\"}"}',
        '"inputSchema":{"type":"object","$comment":"\\"type\\":\\"object\\"}"}',
      ],
      [
        'no parameters, as a list',
        '"inputSchema":{"type":"object","properties":[]}',
        '"inputSchema":{"type":"object","properties":{}}',
      ],
      [
        'null for what is missing in a schema',
        '"inputSchema":{"properties":null,"type":"object","required":null}',
        '"inputSchema":{"properties":{},"type":"object","required":[]}',
      ],
      [
        'an empty list as a map',
        '"inputSchema":{"type":"object","properties":{"v":{}},"required":{}}',
        '"inputSchema":{"type":"object","properties":{"v":{}},"required":[]}',
      ],
      [
        'the same with white space, as Python writes it',
        '"x": null, "inputSchema": {"properties": null, "required" : null, "type": "object"}',
        '"x": null, "inputSchema": {"properties": {}, "required" : [], "type": "object"}',
      ],
      [
        'the same of results',
        '"outputSchema":{"type":"object","properties":[],"required":null}',
        '"outputSchema":{"type":"object","properties":{},"required":[]}',
      ],
      [
        'results without a type, too',
        '"inputSchema":{"required":null,"type":"object"},"outputSchema":{"properties":[]}',
        '"inputSchema":{"required":[],"type":"object"},"outputSchema":{"type":"object","properties":{}}',
      ],
      [
        'what is not of its type',
        '"annotations":[],"execution":"x","_meta":[ ],"icons":{},"title":7,"x":[],"description":null',
        '"x":[]',
      ],
      [
        'hints that are not',
        '"annotations":{"title":null,"readOnlyHint":"yes","destructiveHint":null,"openWorldHint":true}',
        '"annotations":{"openWorldHint":true}',
      ],
      [
        'icons in another form, and a word that is none',
        '"icons":[{"src":"a:1","sizes":"48x48"},"a:2",{"sizes":[]},{"src":"a:3","theme":"blue"}],"execution":{"taskSupport":1}',
        '"icons":[{"src":"a:1"},{"src":"a:3"}],"execution":{}',
      ],
      [
        'an argument without a schema, and a name that is none',
        '"inputSchema":{"type":"object","properties":{"v":"string","w":[]},"required":["v",1,true]}',
        '"inputSchema":{"type":"object","properties":{"v":{},"w":{}},"required":["v"]}',
      ],
      [
        'a dialect that is none',
        '"inputSchema":{"$schema":7}',
        '"inputSchema":{"type":"object","$schema":"https://json-schema.org/draft/2020-12/schema"}',
      ],
      [
        'two types of which clients read the last',
        '"inputSchema":{"type":"object","properties":{"v":{}},"type":"string"}',
        `"inputSchema":${OBJECT}`,
      ],
      [
        'a list of parameters, without a type',
        '"inputSchema":{"properties":[],"required":null}',
        '"inputSchema":{"type":"object","properties":{},"required":[]}',
      ],
      ['another type, and no parameters', '"inputSchema":{"type":"string","properties":[]}', `"inputSchema":${OBJECT}`],
      ['results without a type', '"outputSchema":{"x":1.0}', '"outputSchema":{"type":"object","x":1.0}'],
      ['results with an id alone', '"outputSchema":{"$id":"x"}', '"outputSchema":{"type":"object"}'],
      [
        'an id of results, which may be that of another backend’s',
        '"outputSchema":{"$id":"x","type":"object","properties":{"v":{"$ref":"#/properties/w"},"w":{"type":"string"}}}',
        '"outputSchema":{"type":"object","properties":{"v":{"$ref":"#/properties/w"},"w":{"type":"string"}}}',
      ],
      [
        'an argument of any kind',
        '"inputSchema":{"type":"object","properties":{"v":true,"w": null,"x":{"default":true}},"x":true}',
        '"inputSchema":{"type":"object","properties":{"v":{},"w": {},"x":{"default":true}},"x":true}',
      ],
      [
        'an argument and a result of any kind, without a type',
        '"inputSchema":{"properties":{"v":true}},"outputSchema":{"properties":{ "v": true }}',
        '"inputSchema":{"type":"object","properties":{"v":{}}},"outputSchema":{"type":"object","properties":{ "v": {} }}',
      ],
    ];
    for (const [what, members, listed] of rows) {
      const tool = (text: string): string => `{"name":"a",${text.includes('inputSchema') ? '' : `${SCHEMA},`}${text}}`;
      t.same(textsOf(read(`{"tools":[${tool(members)}]}`))?.tools, [tool(listed)], what);
      if (!members.includes('inputSchema')) continue;
      t.same(textsOf(read(`{"tools":[{${members},"name":"a"}]}`))?.tools, [`{${listed},"name":"a"}`], what);
    }
    t.same(
      textsOf(read('{"tools":[{"name":"a"},{"name":"b" ,"title":null}]}'))?.tools,
      [`{"name":"a",${SCHEMA}}`, `{"name":"b",${SCHEMA}}`],
      'no arguments at all',
    );
    const lost = '{"type":"object","properties":{"v":{"$ref":"#/$defs/v"}}}';
    for (const schema of ['null', '{"type":"array"}', '[]', '{"type":"array","properties":[]}', lost]) {
      const tools = `[{${SCHEMA},"name":"a","outputSchema":${schema},"n":1.0},{"outputSchema":${schema},"name":"b",${SCHEMA}}]`;
      const listed = [`{${SCHEMA},"name":"a","n":1.0}`, `{"name":"b",${SCHEMA}}`];
      t.same(textsOf(read(`{"tools":${tools}}`))?.tools, listed, `results by ${schema} are not checked`);
    }
    const answered = answerWith(`{"tools":[{"name":"a",${SCHEMA},"outputSchema":{"type":"array"}}]}`);
    t.same(textsOf(readListAnswer(answered, ID, listKinds.tools, 'bridged'))?.tools, [`{"name":"a",${SCHEMA}}`]);
    const modern = readListAnswer(answered, ID, listKinds.tools, 'modern');
    t.same(
      textsOf(modern)?.tools,
      [`{"name":"a",${SCHEMA},"outputSchema":{"type":"array"}}`],
      'without sessions, results may be of any type',
    );
  },
);

void t.test(
  'what is null in prompts and resources is left out, and a resource without a name has its URI as one',
  async (t) => {
    const listed = (kind: 'prompts' | 'resources' | 'templates', items: string): ListAnswer =>
      readListAnswer(answerWith(`{"${listKinds[kind].member}":[${items}]}`), ID, listKinds[kind]);
    const prompt =
      '{"name":"a","title":null,"arguments":[{"name":"x","description":null,"required":null},{"title":null,"name":"y"}],"x":null}';
    t.same(textsOf(listed('prompts', `${prompt},{"name":"b","description":null, "arguments":null}`))?.tools, [
      '{"name":"a","arguments":[{"name":"x"},{"name":"y"}],"x":null}',
      '{"name":"b"}',
    ]);
    const resource = '{"uri":"a:1","mimeType":null,"size":0.5,"annotations":{"audience":null,"priority":1}}';
    t.same(textsOf(listed('resources', `${resource},{"name":null,"uri":"a:2"}`))?.tools, [
      '{"uri":"a:1","annotations":{"priority":1},"name":"a:1"}',
      '{"uri":"a:2","name":"a:2"}',
    ]);
    const times = ['2026-11-30T03:00Z', '2026-11-30T03:00:00Z', '2026-11-30T03:00:00.5+01:00'];
    const dated = times.map((time, n) => `{"uri":"a:${n}","name":"n","annotations":{"lastModified":"${time}"}}`);
    t.same(textsOf(listed('resources', dated.join()))?.tools, dated, 'times with and without seconds stay');
    const templates = listed('templates', '{"uriTemplate":"a:{x}","description":null}');
    t.same(textsOf(templates)?.tools, ['{"uriTemplate":"a:{x}","name":"a:{x}"}']);
    t.match(templates, { mirrors: { isRepaired: true } }, 'and it is told');
    const right = '{"name":"a","_meta":{"title":null},"arguments":[{"name":"null"}]}';
    const answer = listed('prompts', right);
    t.same([textsOf(answer)?.tools, answer.kind === 'page' && answer.mirrors], [[right], undefined], 'nothing to mend');
  },
);

void t.test('what is right keeps its bytes, however late it comes in a page', async (t) => {
  const first = `{"name":"first","description":"${'x'.repeat(10_000)}",${SCHEMA}}`;
  const icon = '{"src":"a:1","mimeType":"image/png","sizes":["48x48","any"],"theme":"dark"}';
  const tool =
    `{"name":"a",${SCHEMA},"icons":[${icon}],"execution":{"taskSupport":"optional"},` +
    '"annotations":{"title":"A","readOnlyHint":true}}';
  t.same(textsOf(read(`{"tools":[${first},${tool}]}`))?.tools, [first, tool]);
});

void t.test('whatever says that it is an object keeps its bytes', async (t) => {
  const schemas = [
    OBJECT,
    '{ "type" : "object" , "x":1.0}',
    '{"$schema":"http://json-schema.org/draft-07/schema#","title":"T","type":"object"}',
    '{"properties":{"type":{"type":"string"}},"type":"object"}',
    '{"properties":{},"type":"object","required":[]}',
    '{"type":"object","properties":{"required":{"default":null,"required":true},"properties":{"enum":[null]}}}',
    '{"type":"object","properties":{"v":{"type":"object","properties":[],"required":null}}}',
    '{"t\\u0079pe":"obj\\u0065ct"}',
  ];
  for (const schema of schemas) {
    // Of results, clients compile what is within, too.
    const results = /required":(?:true|null)/.test(schema) ? OBJECT : schema;
    const tool = `{"name":"a","inputSchema":${schema},"outputSchema":${results}}`;
    const answer = read(`{"tools":[${tool}]}`);
    t.same(textsOf(answer)?.tools, [tool]);
    t.equal(answer.kind === 'page' && answer.mirrors, undefined);
  }
  t.match(
    read('{"tools":[{"name":"a","inputSchema":{}}]}'),
    { mirrors: { isRepaired: true } },
    'told where one does not',
  );
});

void t.test(
  'each item of a page with very many values is read by itself, and one with too many is left out',
  async (t) => {
    const of = (count: number): string =>
      `"inputSchema":{"type":"object","properties":{${Array.from({ length: count }, (_, n) => `"p${n}":{}`).join()}}}`;
    const many = limits.jsonNodesMax / 2;
    const tools = [
      `{"name":"first","title":null,${of(many)}}`,
      `{"name":"huge",${of(2 * many)}}`,
      `{"name":"right",${of(many)}}`,
      `{"name":"last",${of(0)},"outputSchema":{"type":"object","properties":{"v":{"type":"any"}}}}`,
    ];
    const listed = [`{"name":"first",${of(many)}}`, tools[2], `{"name":"last",${of(0)}}`];
    t.ok(textsOf(read(`{"tools":[${tools.join()}]}`))?.tools.every((tool, n) => tool === listed[n]));
    t.equal(textsOf(read(`{"tools":[${tools.join()}]}`))?.tools.length, listed.length);
    const right = read(`{"tools":[${tools[2]},${tools[2]}]}`);
    t.equal(right.kind === 'page' && right.mirrors, undefined, 'nothing to repair');
  },
);

void t.test('a page that needs very many repairs keeps the items that need none', async (t) => {
  const tool = (name: string, wrong: number): string =>
    `{"name":"${name}","inputSchema":{"type":"object","properties":{${Array.from({ length: wrong }, (_, n) => `"p${n}":1`).join()}}}}`;
  const tools = [
    tool('some', REPAIRS_MAX - 1),
    tool('right', 0),
    tool('more', 2),
    tool('late', 1),
    tool('also-right', 0),
  ];
  t.same(textsOf(read(`{"tools":[${tools.join()}]}`))?.nameTokens, ['"some"', '"right"', '"also-right"']);
  const all = [tool('some', REPAIRS_MAX - 1), tool('last', 1)];
  t.same(textsOf(read(`{"tools":[${all.join()}]}`))?.nameTokens, ['"some"', '"last"']);
  const bare = Array.from({ length: REPAIRS_MAX + 1 }, () => '{"name":"a"}').join();
  t.equal(textsOf(read(`{"tools":[${bare}]}`))?.tools.length, REPAIRS_MAX, 'what is missing is put in as often');
});

void t.test('an error is reported by its code', async (t) => {
  const read = (error: string): ListAnswer =>
    readListAnswer(Buffer.from(`{"jsonrpc":"2.0","id":"list","error":${error}}`), ID, listKinds.tools);
  t.same(read('{"code":-32601,"message":"no"}'), { kind: 'error', code: -32601 });
  t.same(read('{"message":"no"}'), { kind: 'error', code: undefined });
  t.same(read('"no"'), { kind: 'invalid' });
});

void t.test('a message that does not answer the request is invalid', async (t) => {
  const answer = answerWith('{"tools":[]}').toString();
  t.equal(
    readListAnswer(Buffer.from(answer.replace('"list"', '"l\\u0069st"')), ID, listKinds.tools).kind,
    'page',
    'the id in escapes',
  );
  t.equal(
    readListAnswer(Buffer.from('{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}'), Buffer.from('0'), listKinds.tools)
      .kind,
    'invalid',
  );
  const others = [
    ...['"other"', '1', 'null', '[]'].map((id) => answer.replace('"list"', id)),
    answer.replace('"id":"list",', ''),
    answer.replace('"2.0"', '"1.0"'),
    answer.replace('"id"', '"id":"list","id"'),
    answer.replace('"id"', '"method":"tools/list","id"'),
    answer.replace('"id"', '"error":{"code":1,"message":""},"id"'),
    '{"jsonrpc":"2.0","id":"list","method":"tools/list"}',
    '{"jsonrpc":"2.0","error":{"code":1,"message":""}}',
    `[${answer}]`,
    answer.slice(0, -1),
    `${answer}}`,
    '',
  ];
  for (const text of others) t.same(readListAnswer(Buffer.from(text), ID, listKinds.tools), { kind: 'invalid' }, text);
});

void t.test('an invalid page is refused', async (t) => {
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
  for (const result of nonsense) t.same(read(result), { kind: 'invalid' }, result);
  t.same(read('{"tools":[}'), { kind: 'invalid' }, 'not JSON');
});

void t.test('fuzz: agrees with the parsed page', async (t) => {
  const random = new Random(6);
  for (let round = 0; round < 300; round++) {
    const tools = Array.from({ length: random.below(5) }, () => {
      const members = [
        `${escapedToken(random, 'name')}:${randomStringToken(random)}`,
        `"inputSchema":{"x":${randomJson(random, 4)},"type":"object"}`,
        `"description" : ${randomStringToken(random, 60)}`,
      ];
      return `{${(random.chance(0.5) ? members : members.toReversed()).join(' , ')}}`;
    });
    const cursor = random.chance(0.5) ? `,"nextCursor":${randomStringToken(random)}` : '';
    const result = `{"tools": [${tools.join(random.pick([',', ' ,\n']))} ]${cursor}}`;
    const parsed = JSON.parse(result) as { tools: { name: string }[]; nextCursor?: string };
    const texts = textsOf(read(result));
    t.equal(texts?.nextCursor, parsed.nextCursor);
    t.same(texts?.tools, tools);
    t.same(
      texts?.nameTokens.map((token) => JSON.parse(token) as unknown),
      parsed.tools.map(({ name }) => name),
    );
    if (!t.passing()) throw new Error(printable(result));
  }
});

void t.test('fuzz: a damaged answer is a page only when it is a result', async (t) => {
  const random = new Random(12);
  const text = answerWith('{"tools":[{"name":"a","x":[1,{}]},{"y":"z","name":"b"}],"nextCursor":"c"}');
  const kinds = new Map<string, number>();
  for (let round = 0; round < 2_000; round++) {
    const bytes = Buffer.from(text);
    bytes[random.below(bytes.length)] = random.below(256);
    const { kind } = readListAnswer(bytes, ID, listKinds.tools);
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    const message = readBackendMessage(Buffer.from(bytes.toString()));
    if (kind === 'page' && (message?.kind !== 'response' || message.isError))
      t.fail(printable(bytes.toString('latin1')));
  }
  t.ok((kinds.get('page') ?? 0) > 100 && (kinds.get('invalid') ?? 0) > 100, JSON.stringify([...kinds]));
});

t.test('the ttlMs of a page is read as whole milliseconds, up to an hour', async (t) => {
  for (const [text, ttlMs] of [
    ['5000', 5_000],
    ['1.5e3', 1_500],
    ['0.9', 0],
    ['1e400', 3_600_000],
    ['-5', 0],
    ['"5000"', 0],
    ['null', 0],
    ['[1]', 0],
    [`1${'0'.repeat(40)}`, 0],
  ] as const)
    t.match(read(`{"tools":[],"ttlMs":${text}}`), { kind: 'page', ttlMs }, text);
  t.match(read('{"tools":[],"ttlMs":1,"ttlMs":2}'), { kind: 'page', ttlMs: 0 }, 'said twice');
  t.match(read('{"tools":[]}'), { kind: 'page', ttlMs: 0 });
});

t.test('each kind of list is found by its method, under its member, and its items by their keys', async (t) => {
  for (const [method, member, key] of [
    ['tools/list', 'tools', 'name'],
    ['prompts/list', 'prompts', 'name'],
    ['resources/list', 'resources', 'uri'],
    ['resources/templates/list', 'resourceTemplates', 'uriTemplate'],
    ['tasks/list', 'tasks', 'taskId'],
  ] as const) {
    const kind = listKindOf(method)!;
    const items = `[{"name":"n1","${key === 'name' ? 'x' : key}":"k1"},{"${key}":"k2"}]`;
    const answer = readListAnswer(answerWith(`{"x":[],"${member}":${items}}`), ID, kind);
    t.same(textsOf(answer)?.nameTokens, key === 'name' ? ['"n1"', '"k2"'] : ['"k1"', '"k2"'], method);
    const names = answer.kind === 'page' ? cover(answer.page, span.nameStart, span.nameEnd) : [];
    t.equal(names[0], '"n1"', method);
    t.equal(readListAnswer(answerWith('{"x":[]}'), ID, kind).kind, 'invalid', method);
  }
  t.equal(listKindOf('tools/call'), undefined);
});

t.test('of a tool with a page for apps, its links and what apps call it by are told', async (t) => {
  const linked = '{"name":"shown","_meta":{"ui":{"resourceUri":"ui://a"},"ui/resourceUri":"ui://b","x":{"y":1}}}';
  const others = ['{"name":"both"}', '{"name":"models","_meta":{"ui":{"visibility":["model"]}}}'];
  const odd = '{"name":"odd","_meta":{"ui":{"resourceUri":7},"ui/resourceUri":{}}}';
  const apps = (...tools: string[]): unknown => {
    const answer = read(`{"tools":[${tools.join()}]}`);
    return answer.kind === 'page' && answer.mirrors?.appNames;
  };
  t.same(apps(linked, ...others), ['ui://a', 'ui://b', 'shown', 'both']);
  t.same(apps('{"name":"o","_meta":{"openai/outputTemplate":"ui://c"}}', odd), ['ui://c', 'o', 'odd']);
  t.same(apps(...others, odd), [], 'nothing where none has a page');
  t.same(apps('{"name":"a","_meta":"ui://a"}', '{"name":"b","_meta":7}'), []);
  t.same(apps('{"name":"a","_meta":[{"ui":{"resourceUri":"ui://a"}}]}'), []);
  const prompts = readListAnswer(answerWith(`{"prompts":[${linked}]}`), ID, listKinds.prompts);
  t.equal(prompts.kind === 'page' && prompts.mirrors, undefined, 'nor for what is no tool');
});

t.test('tools with headers are told by name; without sessions, those with invalid ones are left out', async (t) => {
  const schema = (header: unknown): string =>
    `"inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":${JSON.stringify(header)}}}}`;
  const valid = `{"name":"valid",${schema('R')}}`;
  const bad = (count: number): string[] => Array.from({ length: count }, (_, n) => `{"name":"bad${n}",${schema('')}}`);
  const told = (era: 'modern' | 'legacy', ...tools: string[]): ListAnswer =>
    readListAnswer(answerWith(`{"tools":[${tools.join()}]}`), ID, listKinds.tools, era);
  const params = [{ header: 'mcp-param-r', path: ['r'] }];
  const modern = told('modern', '{"name":"plain"}', valid, ...bad(1));
  t.same(textsOf(modern)?.nameTokens, ['"plain"', '"valid"']);
  t.match(modern, { mirrors: { tools: [['valid', params]], invalid: [/^bad0: .*invalid name/] } });
  const legacy = told('legacy', '{"name":"plain"}', valid, ...bad(1));
  t.same(textsOf(legacy)?.nameTokens, ['"plain"', '"valid"', '"bad0"']);
  t.match(legacy, { mirrors: { tools: [['valid', params]], invalid: { length: 0 } } });
  const many = told('modern', ...bad(INVALID_MIRRORS_LOGGED_MAX + 5));
  t.equal(many.kind === 'page' && many.mirrors?.invalid.length, INVALID_MIRRORS_LOGGED_MAX);
  t.same(textsOf(many)?.nameTokens, []);
});

t.test('a page is complete unless it says that it is something else', async (t) => {
  for (const [type, isComplete] of [
    ['"complete"', true],
    ['"input_required"', false],
    ['7', false],
  ] as const)
    t.match(read(`{"tools":[],"resultType":${type}}`), { isComplete }, type);
  t.match(read('{"tools":[]}'), { isComplete: true });
});
