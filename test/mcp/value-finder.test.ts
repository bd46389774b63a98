// Where resource URIs and task ids are in what a backend says: at the places that MCP defines, and nowhere else.
import t from 'tap';
import {
  NUMBERS_PER_SPAN,
  uriLocation,
  uriFinder,
  type ValueFinder,
  taskIdFinder,
  taskLocation,
} from '../../src/mcp/value-finder.js';

/** The tokens that are found, and their locations, in the order of the document. */
function found(finder: ValueFinder, message: unknown): [token: string, location: number][] {
  const json = typeof message === 'string' ? message : JSON.stringify(message);
  const bytes = Buffer.from(json);
  const spans = finder.find(bytes) ?? [];
  return Array.from({ length: spans.length / NUMBERS_PER_SPAN }, (_, index) => {
    const [start = 0, end = 0, place = 0] = spans.slice(index * NUMBERS_PER_SPAN);
    return [bytes.toString('utf8', start, end), place];
  });
}

const link = { type: 'resource_link', uri: 'file:///a' };
const embedded = { type: 'resource', resource: { uri: 'file:///b', text: 'x' } };

t.test('the URIs of a result are found in content, contents, messages, and the pages of its app', async (t) => {
  const { content, contents, messages, ofTask } = uriLocation;
  for (const [result, expected] of [
    [
      { content: [link, { type: 'text', uri: 'file:///x' }, embedded] },
      [
        ['"file:///a"', content],
        ['"file:///b"', content],
      ],
    ],
    [
      { contents: [{ uri: 'a:b' }, { uri: 'c:d' }] },
      [
        ['"a:b"', contents],
        ['"c:d"', contents],
      ],
    ],
    [
      { messages: [{ role: 'user', content: embedded }, { content: [link] }] },
      [
        ['"file:///b"', messages],
        ['"file:///a"', messages],
      ],
    ],
    [{ _meta: { ui: { resourceUri: 'ui://a' } } }, [['"ui://a"', content]]],
    [{ _meta: { 'ui/resourceUri': 'ui://b', x: 1 } }, [['"ui://b"', content]]],
    [{ result: { content: [embedded] } }, [['"file:///b"', ofTask]]],
  ] as const)
    t.same(found(uriFinder, { jsonrpc: '2.0', id: 1, result }), expected, JSON.stringify(result));
});

t.test('links to the web are left alone, embedded resources from there are not', async (t) => {
  for (const uri of ['http://x', 'https://x', 'HTTPS://x']) {
    t.same(found(uriFinder, { result: { content: [{ ...link, uri }] } }), [], uri);
    t.equal(found(uriFinder, { result: { content: [{ type: 'resource', resource: { uri } }] } }).length, 1, uri);
  }
  t.equal(found(uriFinder, { result: { content: [{ ...link, uri: 'httpx://x' }] } }).length, 1);
});

t.test('the URI of an error is found if it is one', async (t) => {
  const error = (uri: unknown): unknown => found(uriFinder, { error: { code: -32002, data: { uri } } });
  t.same(error('file:///a'), [['"file:///a"', uriLocation.error]]);
  for (const uri of ['the file', 'a: b', 'no-scheme', '7:x', ':x', 7, { uri: 'a:b' }, `a:${'b'.repeat(1_000_000)}`])
    t.same(error(uri), [], JSON.stringify(uri).slice(0, 40));
});

t.test('nothing is found elsewhere, though it has the same name', async (t) => {
  for (const message of [
    { uri: 'a:b', result: { uri: 'a:b', structuredContent: { uri: 'a:b' } } },
    { result: { content: { uri: 'a:b', type: 'resource_link' } } },
    {
      result: {
        content: [
          { type: 'resource', uri: 'a:b' },
          { type: 'resource_link', resource: { uri: 'a:b' } },
        ],
      },
    },
    { result: { contents: [[{ uri: 'a:b' }], { uri: 7 }] } },
    { params: { uri: 'a:b' } },
    { result: { content: [{ uri: 'a:b' }] } },
  ])
    t.same(found(uriFinder, message), [], JSON.stringify(message));
});

t.test('names may be written with escapes, and one that occurs twice is found twice', async (t) => {
  const escaped = '{"result":{"content":[{"type":"resource_link","\\u0075ri":"a:b"}]}}';
  t.equal(found(uriFinder, escaped).length, 1);
  t.equal(found(uriFinder, escaped.replace('\\u0075ri', 'u\\u0072\\u0069')).length, 1);
  t.equal(found(uriFinder, escaped.replace('\\u0075ri', 'ur\\u0069')).length, 1);
  for (const name of ['resource\\u0055ri', 'resourceU\\u0072i', 'resourceUr\\u0069', '\\u0072esourceUri'])
    t.equal(found(uriFinder, `{"result":{"_meta":{"ui":{"${name}":"ui://a"}}}}`).length, 1, name);
  t.same(
    found(uriFinder, '{"result":{"contents":[{"uri":"a:b","uri":"c:d"}]}}').map(([token]) => token),
    ['"a:b"', '"c:d"'],
  );
});

t.test(
  'the ids of tasks are found where a message names the task that it creates, is about, or belongs to',
  async (t) => {
    const { created, own, related } = taskLocation;
    const meta = { _meta: { 'io.modelcontextprotocol/related-task': { taskId: 'r' } } };
    for (const [message, expected] of [
      [{ result: { task: { taskId: 'c' } } }, [['"c"', created]]],
      [{ result: { taskId: 'o', status: 'working' } }, [['"o"', own]]],
      [
        { params: { taskId: 'o', ...meta } },
        [
          ['"o"', own],
          ['"r"', related],
        ],
      ],
      [{ result: meta }, [['"r"', related]]],
      [{ params: { task: { taskId: 'x' } } }, []],
      [{ taskId: 'x', result: { content: [{ taskId: 'x' }], _meta: { taskId: 'x' } } }, []],
      [{ result: { taskId: 7 } }, []],
    ] as const)
      t.same(found(taskIdFinder, message), expected, JSON.stringify(message));
    for (const name of ['task\\u0049d', 't\\u0061skId', '\\u0074askId'])
      t.equal(found(taskIdFinder, `{"params":{"${name}":"o"}}`).length, 1, name);
  },
);
