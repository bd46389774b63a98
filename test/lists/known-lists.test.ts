// What was made of an answer or a list is used again where its bytes are the same, and nowhere else: whatever is known by then, the
// outcome is what reading and merging would have given.
import t from 'tap';
import { KnownLists } from '../../src/lists/list-keeper.js';
import { mergeLists, type MergeJob } from '../../src/lists/merge.js';
import { listKinds } from '../../src/mcp/list-kinds.js';
import { readListAnswer, type ListAnswer, type ListPage } from '../../src/mcp/list-page.js';
import { decodeRules } from '../../src/user-config/routing.js';
import { fuzzInputs } from '../support/fuzz-inputs.js';
import { Random } from '../support/random.js';

const INPUTS = fuzzInputs(2_000);
const { tools, prompts } = listKinds;

function bytesOf(id: string, result: string, isIdLast = false): Buffer {
  return Buffer.from(
    isIdLast ? `{"result":${result},"jsonrpc":"2.0","id":${id}}` : `{"jsonrpc":"2.0","id":${id},"result":${result}}`,
  );
}

function listOf(...names: readonly string[]): string {
  return JSON.stringify({ tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })) });
}

/** Reads in two pieces, since answers come in pieces. */
function read(known: KnownLists, bytes: Buffer, id: string, kind = tools, cut = 30): ListAnswer {
  return known.read([bytes.subarray(0, cut), bytes.subarray(cut)], Buffer.from(id), kind, 'legacy');
}

function pageOf(answer: ListAnswer): ListPage {
  if (answer.kind !== 'page') throw new Error('not a page');
  return answer.page;
}

t.test('the same answer to another request is not read again', async (t) => {
  for (const isIdLast of [false, true]) {
    const known = new KnownLists();
    const first = pageOf(read(known, bytesOf('"g-1"', listOf('x', 'y'), isIdLast), '"g-1"'));
    for (const cut of [0, 5, 24, 40])
      t.equal(pageOf(read(known, bytesOf('"g-2"', listOf('x', 'y'), isIdLast), '"g-2"', tools, cut)), first);
    t.not(pageOf(read(known, bytesOf('"g-3"', listOf('x', 'z'), isIdLast), '"g-3"')), first, 'another name');
    t.not(
      pageOf(read(known, bytesOf('"g-10"', listOf('x', 'y'), isIdLast), '"g-10"')),
      first,
      'an id of another length',
    );
  }
});

t.test('an answer whose schemas were mended is read each time', async (t) => {
  const known = new KnownLists();
  const answered = (id: string, member: string): ListAnswer =>
    read(known, bytesOf(id, `{"tools":[{"name":"a",${member}}]}`), id);
  for (const member of ['"outputSchema":null', '"inputSchema":{}', '"inputSchema":{"type":"object"},"annotations":[]'])
    for (const id of ['"g-1"', '"g-2"', '"g-3"']) t.match(answered(id, member), { mirrors: { isRepaired: true } });
  t.match(
    answered('"g-1"', '"inputSchema":{"type":"object"},"annotations":{}'),
    { mirrors: undefined },
    'nor taken for one that was right',
  );
});

t.test('an answer is that to its own request, whatever is known', async (t) => {
  const known = new KnownLists();
  read(known, bytesOf('"g-1"', listOf('g-2')), '"g-1"');
  t.same(read(known, bytesOf('"g-1"', listOf('g-2')), '"g-2"'), { kind: 'invalid' }, 'that to an earlier request');
  t.same(read(known, bytesOf('"g-3"', listOf('g-2')), '"g-2"'), { kind: 'invalid' }, 'the id elsewhere');
  t.same(read(known, bytesOf('"g-1"', listOf('g-2')), '"g-1"', prompts), { kind: 'invalid' }, 'of another kind');
  // A known id may be longer than the one that is asked for, and then its end is not the rest of any other answer.
  read(known, bytesOf('"\\u0067-1"', listOf('x')), '"g-1"');
  t.same(read(known, bytesOf('"123456"1"', listOf('x')), '"123456"'), { kind: 'invalid' });
});

const rulesText = JSON.stringify(
  ['bb', 'a'].map((name) => ({ name, prefix: `${name}-`, uriName: name, curatedTools: [], curatedPrompts: [] })),
);
const rules = decodeRules(rulesText);
const [bb, a] = rules.backendsByNameLength;

t.test('the same lists are not merged again, whatever the request is called', async (t) => {
  const known = new KnownLists();
  const [one, other] = [listOf('x'), listOf('y')].map((list) => pageOf(read(known, bytesOf('1', list), '1')));
  const job: MergeJob = {
    kind: tools,
    rules,
    parts: [
      { backend: bb!, pages: [one!, other!] },
      { backend: a!, pages: [other!] },
    ],
    unavailable: [],
    frame: { head: '{"id":1,"result":', framing: 'message' },
  };
  const first = known.merge(job, rulesText);
  t.equal(first.bytes.toString(), listOf('a-y', 'bb-x', 'bb-y') + '}');
  const again = known.merge({ ...job, frame: { head: '{"id":2,"result":', framing: 'message' } }, rulesText);
  t.equal(again.bytes, first.bytes);
  t.ok(again.isKnown);
  const missing = { name: 'c', message: 'down' } as unknown as MergeJob['unavailable'][number];
  const others: Readonly<Record<string, MergeJob>> = {
    'pages of other backends': {
      ...job,
      parts: [
        { backend: bb!, pages: [one!] },
        { backend: a!, pages: [other!, other!] },
      ],
    },
    'other pages': { ...job, parts: [{ backend: bb!, pages: [other!] }] },
    'a missing backend': { ...job, unavailable: [missing] },
    'other members': { ...job, frame: { ...job.frame, extras: { members: '"ttlMs":5,', meta: {} } } },
    'tools that search': { ...job, searchTools: '{"name":"find_tools"}' },
  };
  for (const [what, other] of Object.entries(others)) {
    const plain = mergeLists({ ...other, frame: { ...other.frame, head: '' } });
    t.equal(known.merge(other, rulesText).bytes.toString(), plain.bytes.toString(), what);
    t.equal(known.merge(other, rulesText).bytes.toString(), plain.bytes.toString(), `${what}, again`);
  }
  t.not(known.merge(job, `${rulesText} `).bytes, first.bytes, 'other rules');
});

t.test('a merged list counts with the pages that it was made of, however little is left of them', async (t) => {
  const known = new KnownLists();
  const padding = 'x'.repeat(1_048_576);
  const jobs = Array.from({ length: 40 }, (_, at): MergeJob => {
    const pages = [pageOf(read(known, bytesOf('1', `{"tools":[],"padding":"${at}${padding}"}`), '1'))];
    return {
      kind: tools,
      rules,
      parts: [{ backend: a!, pages }],
      unavailable: [],
      frame: { head: '', framing: 'message' },
    };
  });
  const textOf = (at: number): string => `${rulesText}${' '.repeat(at)}`;
  const small = { ...jobs[0]!, parts: [] };
  for (let at = 0; at < 40; at += 1) known.merge(small, `${textOf(at)}${' '.repeat(1_048_576)}`);
  t.not(known.merge(small, `${textOf(0)}${' '.repeat(1_048_576)}`).isKnown, true, 'nor are rules kept for nothing');
  jobs.forEach((job, at) => known.merge(job, textOf(at)));
  t.equal(known.merge(jobs[39]!, textOf(39)).isKnown, true, 'the last one is known');
  t.not(known.merge(jobs[0]!, textOf(0)).isKnown, true, 'the first one, 40 MiB ago, is not');
});

t.test('an answer that with the positions of its items takes more than 16 MiB is not kept', async (t) => {
  const known = new KnownLists();
  const item = `{"name":"${'x'.repeat(90)}"}`;
  const list = `{"prompts":[${`${item},`.repeat(120_000)}${item}]}`;
  const [first, again] = ['1', '2'].map((id) => pageOf(read(known, bytesOf(id, list), id, listKinds.prompts)));
  t.ok(first!.bytes.length < 16 * 1_048_576 && first!.bytes.length + first!.spans.byteLength > 16 * 1_048_576);
  t.ok(again !== first);
});

t.test('fuzz: answers are read as if nothing were known', async (t) => {
  const known = new KnownLists();
  const random = new Random(37);
  for (let input = 0; input < INPUTS; input += 1) {
    const id = `"g-${random.below(3)}"`;
    const list = listOf(...['x', 'y'].filter(() => random.chance(0.6)), random.pick(['a', 'b']));
    const bytes = bytesOf(random.chance(0.9) ? id : '"g-9"', list, random.chance(0.5));
    if (random.chance(0.2))
      bytes[random.below(bytes.length)] = random.pick(['"', '}', 'x', '\\'].map((c) => c.charCodeAt(0)));
    const plain = readListAnswer(Buffer.from(bytes), Buffer.from(id), tools);
    const answer = read(known, bytes, id, tools, random.below(bytes.length));
    t.same(answer, plain, bytes.toString());
  }
});
