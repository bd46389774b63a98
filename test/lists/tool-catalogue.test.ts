// What `find_tools` searches in a tool, however its bytes are written; the search for words in joined texts; and what a catalogue keeps.
import t from 'tap';
import {
  ToolCatalogue,
  type ToolSearch,
  TOOL_QUERY_WORDS_MAX,
  TOOL_CANDIDATES_MAX,
  searchedTextOf,
  TOOL_TEXT_CHARS_MAX,
  JoinedTexts,
} from '../../src/lists/tool-catalogue.js';
import type { MergedItem } from '../../src/lists/item-writer.js';
import { ListMerger } from '../../src/lists/list-merger.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { readEvents } from '../support/event-stream.js';
import { logInto } from '../support/log-lines.js';
import { createAccounts } from '../support/shares.js';

const LONG = 'x'.repeat(600);

/** A search that has ended. */
function searched(catalogue: ToolCatalogue, query: string): ToolSearch {
  const search = catalogue.beginSearch(query);
  t.equal(search.tryEnd(Infinity), true);
  return search;
}

t.test('title and description are found wherever they are, and nothing else is', async (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['{"name":"n","description":"Opens A"}', ' opens a'],
    ['{"name":"n","title":"T","description":"d","inputSchema":{"title":"S","description":"s"}}', 't d'],
    ['{"name":"n","description":"d","title":"T","inputSchema":{}}', 't d'],
    ['{ "description" : "d" , "title" : "T" }', 't d'],
    ['{"inputSchema":{"description":"s","title":"S"},"description":"d"}', ' d'],
    ['{"icons":[{"title":"S"}],"title":"T","description":"d"}', 't d'],
    ['{"name":"n","inputSchema":{"properties":{"a":{"description":"s"}}}}', ' '],
    ['{"name":"n","description":7,"title":"T"}', 't '],
    ['{"name":"{","description":"d"}', ' d'],
    ['{"title":"{T","description":"[d {x}","inputSchema":{"title":"S"}}', '{t [d {x}'],
    ['{"description":"use {x} or [y]","title":"T"}', 't use {x} or [y]'],
    ['{"x\\"description":"s","description":"d"}', ' d'],
    ['{"description":"d","x\\"title":"s","title":"T"}', 't d'],
    ['{"name":"\\"description\\":\\"s","description":"d"}', ' d'],
    ['{"title":"a\\u0062","description":"d"}', 'ab d'],
    ['{"description":"say \\"HI\\"","title":"T"}', 't say "hi"'],
    ['{"title":"Ü","description":"ÀÉ 工具 🔑"}', 'ü àé 工具 🔑'],
    ['{"description":"","title":""}', ' '],
    ['{}', ' '],
    [`{"description":"${LONG}","title":"T"}`, `t ${LONG}`],
    [`{"name":"${LONG}","title":"T","description":"d"}`, 't d'],
    [`{"description":"é${LONG}"}`, ` é${LONG}`],
    [`{"description":"a${'z'.repeat(20 * TOOL_TEXT_CHARS_MAX)}"}`, ` a${'z'.repeat(TOOL_TEXT_CHARS_MAX - 1)}`],
    [`{"description":"${'y'.repeat(TOOL_TEXT_CHARS_MAX + 5)}"}`, ` ${'y'.repeat(TOOL_TEXT_CHARS_MAX)}`],
  ];
  for (const [tool, text] of rows) {
    for (const [before, behind] of [
      ['', ''],
      ['{"description":"other"},', ',{"title":"more"}'],
    ] as const) {
      const bytes = Buffer.from(before + tool + behind);
      const start = Buffer.byteLength(before);
      t.equal(searchedTextOf(bytes, start, start + Buffer.byteLength(tool)), text, tool.slice(0, 80));
    }
  }
});

t.test('a word is found once in each text that has it, and never across two texts', async (t) => {
  const texts = new JoinedTexts(['', 'one one', 'tw', 'o', 'none', '', 'two\none', '']);
  const found = (word: string): number[] => {
    const indexes: number[] = [];
    texts.forEachContaining(word, (index) => indexes.push(index));
    return indexes;
  };
  t.same(found('one'), [1, 4, 6]);
  t.same(found('two'), [6]);
  t.same(found('x'), []);
  t.same(
    Array.from({ length: 8 }, (_, index) => texts.at(index)),
    ['', 'one one', 'tw', 'o', 'none', '', 'two\none', ''],
  );
  t.same(new JoinedTexts([]).memoryBytes, 0);
});

function itemsOn(page: Buffer, tools: readonly string[]): MergedItem[] {
  return tools.map((tool) => {
    const start = page.indexOf(tool);
    const { name } = JSON.parse(tool) as { readonly name: string };
    const insertions = [{ at: start + tool.indexOf(name), putIn: Buffer.from('b-') }];
    return { key: `b-${name}`, bytes: page, start, end: start + tool.length, insertions };
  });
}

t.test('a found tool is written as in a list, and of a page with few wanted tools only these are kept', async (t) => {
  const tools = ['read', 'write', 'list'].map((name) => `{ "name":"${name}","description":"Does ${name}" ,"x":1.0}`);
  const padding = `{"name":"padding","description":"${LONG}"}`;
  for (const [page, isKept] of [
    [Buffer.from(tools.join()), true],
    [Buffer.from([...tools, padding].join()), false],
  ] as const) {
    const catalogue = new ToolCatalogue(itemsOn(page, tools), []);
    t.equal(catalogue.pageBytes, isKept ? page.length : 0);
    const kept = isKept ? page.length : tools.join('').length + 2 * tools.length;
    t.ok(catalogue.memoryBytes > kept && catalogue.memoryBytes < kept + 2_000, `${catalogue.memoryBytes}`);
    const answer = catalogue.answerQuery(searched(catalogue, 'write'), 5, { head: '', framing: 'message' }).toString();
    t.ok(answer.includes('"structuredContent":{"tools":[{ "name":"b-write","description":"Does write" ,"x":1.0}]}'));
  }
});

t.test('an answer says what is missing, in the frame that its caller takes', (t) => {
  const tools = ['{"name":"read","description":"Reads"}'];
  const page = Buffer.from(tools.join());
  const whole = new ToolCatalogue(itemsOn(page, tools), []);
  const partial = new ToolCatalogue(itemsOn(page, tools), [{ backend: 'z', reason: 'timeout' }]);
  const answer = (catalogue: ToolCatalogue, query: string, frame: object = {}): string =>
    catalogue
      .answerQuery(searched(catalogue, query), 5, { head: '{"result":', framing: 'message', ...frame })
      .toString();
  const notesIn = (text: string): unknown[] =>
    (JSON.parse(text) as { result: { content: { text: string }[] } }).result.content.slice(1).map(({ text }) => text);
  t.same(notesIn(answer(whole, 'read')), []);
  t.notMatch(answer(whole, 'read'), '_meta');
  t.same(notesIn(answer(whole, 'nowhere')), ['No tool matches: try other words, or fewer.']);
  t.same(notesIn(answer(partial, 'read')), ['The tools of these servers are missing now: z (timeout)']);
  t.match(JSON.parse(answer(partial, 'read')), {
    result: { _meta: { 'switchyard/unavailable': [{ backend: 'z', reason: 'timeout' }] } },
  });
  const extras = { members: '"resultType":"complete",', meta: { server: 's' } };
  t.match(JSON.parse(answer(whole, 'read', { extras })), {
    result: { resultType: 'complete', _meta: { server: 's' }, structuredContent: { tools: [{ name: 'b-read' }] } },
  });
  t.same(readEvents(Buffer.from(answer(whole, 'read', { framing: 'event' }))), [answer(whole, 'read')]);
  t.end();
});

t.test('when more tools match than are ranked, those with most of the words are ranked', async (t) => {
  const count = 3 * TOOL_CANDIDATES_MAX;
  const tools = Array.from({ length: count }, (_, number) => {
    const description = number === count - 1 ? 'opens a red door' : number % 2 === 0 ? 'opens' : 'door';
    return `{"name":"t${number}","description":"${description}"}`;
  });
  const catalogue = new ToolCatalogue(itemsOn(Buffer.from(tools.join()), tools), []);
  t.equal(catalogue.rank(searched(catalogue, 'open the red door'))[0], count - 1);
  t.equal(catalogue.rank(searched(catalogue, 'door')).length, TOOL_CANDIDATES_MAX);
  const all = Array.from({ length: TOOL_QUERY_WORDS_MAX }, (_, at) => `word${String.fromCharCode(97 + at)}x`);
  const many = `{"name":"${all.join(' ')}","description":"${all.join(' ')}"}`;
  const one = new ToolCatalogue(itemsOn(Buffer.from(many), [many]), []);
  t.same(one.rank(searched(one, all.join(' '))), [0], 'as many words as are looked for');
});

t.test('a search in steps of a word finds the same as one at once', async (t) => {
  const tools = Array.from({ length: 300 }, (_, number) => {
    const words = Array.from(
      { length: 30 },
      (__, at) => `${'abc'[(number + at) % 3]}${'abc'[at % 3]}${(number * at) % 7}`,
    );
    return `{"name":"t${number}","description":"${words.join(' ')}"}`;
  });
  const catalogue = new ToolCatalogue(itemsOn(Buffer.from(tools.join()), tools), []);
  const query = Array.from(
    { length: TOOL_QUERY_WORDS_MAX },
    (_, at) => `${'abc'[at % 3]}${'bca'[at % 3]}${at % 8}`,
  ).join(' ');
  const inSteps = catalogue.beginSearch(query);
  let steps = 1;
  while (!inSteps.tryEnd(0)) steps += 1;
  t.equal(steps, new Set(query.split(' ')).size);
  t.same(catalogue.rank(inSteps), catalogue.rank(searched(catalogue, query)));
});

t.test('preparing the thread for catalogues causes no fault, and leaves nothing behind', async (t) => {
  const lines: string[] = [];
  const deadlines = new DeadlineWheel();
  const merger = new ListMerger(deadlines, createAccounts(), logInto(lines));
  t.teardown(async () => {
    await merger.close();
    deadlines.stop();
  });
  merger.warmUpCatalogues('alice');
  // Comes after the preparation, since tasks of one subject stay in order. The key was never given out.
  const frame = { head: '', framing: 'message' } as const;
  const found = await new Promise((resolve) =>
    merger.searchCatalogue('alice', { key: 1, query: 'create', toolsMax: 1, frame }, resolve),
  );
  t.equal(found, 'failed');
  t.match(lines, [/"task":"find"/]);
  t.equal(lines.length, 1, 'what was told is of the question alone');
});
