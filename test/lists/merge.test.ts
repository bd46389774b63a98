// The merged list of tools: bytes in, bytes out, and the same bytes from the event loop and from the list thread.
import t, { type Test } from 'tap';
import type { MergeResult } from '../../src/lists/merge.js';
import type { AnswerFrame } from '../../src/exchange/answers.js';
import type { UnavailableBackend } from '../../src/http-client/upstream-fault.js';
import type { BackendConfig } from '../../src/user-config/user-config-schema.js';
import { largeMemory } from '../../src/fair/large-memory.js';
import { printable } from '../support/printable.js';
import { Random } from '../support/random.js';
import { escapedToken, randomJson } from '../support/random-json.js';
import { backendOf, virtualHostOf } from '../relay/virtual-host.js';
import { inBothWays, inThread, LIST_ID, onLoop, startPool, type MergeWay } from './merge-ways.js';

const FRAME: AnswerFrame = { head: '{"jsonrpc":"2.0","id":7,"result":', framing: 'message' };

type Backends = Readonly<Record<string, Partial<BackendConfig>>>;
/** Tools as JSON text, by backend and page. */
type Lists = Readonly<Record<string, readonly (readonly string[])[]>>;

interface Merging {
  readonly backends: Backends;
  readonly lists: Lists;
  readonly unavailable?: readonly UnavailableBackend[];
  readonly frame?: AnswerFrame;
}

function merge(way: MergeWay, { backends, lists, unavailable = [], frame = FRAME }: Merging): Promise<MergeResult> {
  const rules = virtualHostOf(backends);
  const parts = Object.entries(lists).map(([name, pages]) => ({
    backend: backendOf(rules, name),
    answers: pages.map((tools) =>
      Buffer.from(`{"jsonrpc":"2.0","id":${LIST_ID},"result":{ "tools" : [ ${separated(tools.map(withSchema))} ] }}`),
    ),
  }));
  return way({ rules, parts, unavailable, frame });
}

const SCHEMA = ',"inputSchema":{"type":"object"}}';

/** All tools have a schema, which the tests need not write. */
function withSchema(tool: string): string {
  return tool.includes('"inputSchema"') ? tool : `${tool.slice(0, -1)}${SCHEMA}`;
}

/** As backends write lists, with various separators between the tools; a merged list has single commas. */
function separated(tools: readonly string[]): string {
  const separators = [',', ' , ', ',\n', ' ,', ','];
  return tools.map((tool, at) => (at === 0 ? tool : `${separators[at % separators.length]}${tool}`)).join('');
}

/** The result of the answer, as JSON text, without the schemas that the tests have not written. */
function resultOf({ bytes }: MergeResult): string {
  return bytes.toString().slice(FRAME.head.length, -1).replaceAll(SCHEMA, '}');
}

function namesOf(list: MergeResult): string[] {
  const { tools } = JSON.parse(resultOf(list)) as { tools: { name: string }[] };
  return tools.map((tool) => tool.name);
}

t.test('the memory of a list of tens of KiB is reused once its answer was given back', async (t) => {
  const tools = Array.from({ length: 100 }, (_, n) => `{"name":"x${n}","description":"${'d'.repeat(1_000)}"}`);
  const merging: Merging = { backends: { b: {} }, lists: { b: [tools] } };
  const first = await merge(onLoop, merging);
  const other = await merge(onLoop, merging);
  t.not(other.bytes.buffer, first.bytes.buffer, 'not before');
  const text = first.bytes.toString();
  t.equal(other.bytes.toString(), text);
  largeMemory.giveBack(first.bytes);
  const next = await merge(onLoop, merging);
  t.equal(next.bytes.buffer, first.bytes.buffer);
  t.equal(next.bytes.toString(), text);
});

t.test('the number of backends does not slow down a list of many tools', async (t) => {
  const names = Array.from({ length: 200 }, (_, number) => `backend-${number}`);
  const { backendsByNameLength } = virtualHostOf(Object.fromEntries(names.map((name) => [name, {}])));
  let readCount = 0;
  const counted = backendsByNameLength.map(({ name, prefix, uriName, allowedNames, curation }) => ({
    uriName,
    allowedNames,
    curation,
    get prefix() {
      readCount += 1;
      return prefix;
    },
    get name() {
      readCount += 1;
      return name;
    },
  }));
  const tools = Array.from({ length: 1_000 }, (_, number) => `{"name":"${number}"}`);
  const answers = [Buffer.from(`{"jsonrpc":"2.0","id":${LIST_ID},"result":{"tools":[${tools.join()}]}}`)];
  const [backend] = counted;
  const parts = [{ backend: backend!, answers }];
  const list = await onLoop({ rules: { backendsByNameLength: counted }, parts, unavailable: [], frame: FRAME });
  t.equal(namesOf(list).length, tools.length);
  t.ok(readCount < 10 * (tools.length + names.length), `${readCount} names were looked at`);
});

async function rules(t: Test, way: MergeWay): Promise<void> {
  await t.test('a tool keeps every byte but the prefix of its name', async (t) => {
    const tool =
      '{ "n":1.0,"n":2 , "inputSchema" : {"type":"object","name":"inner","big":12345678901234567890,"e":"\\u00e9\\/é"},\n"name" : "x\\u002dy" ,"_meta":{} }';
    const { bytes } = await merge(way, { backends: { b: {} }, lists: { b: [[tool]] } });
    t.equal(bytes.toString(), `${FRAME.head}{"tools":[${tool.replace('"x\\u', '"b-x\\u')}]}}`);
  });

  await t.test('a prefix is written as JSON: quotes, backslashes, control characters, any alphabet', async (t) => {
    for (const name of ['"', '\\', '\n', 'é', '🚂', '\u2028', '\u0001']) {
      const list = await merge(way, { backends: { [name]: {} }, lists: { [name]: [['{"name":"x","é":"🚂"}']] } });
      t.same(JSON.parse(resultOf(list)), { tools: [{ name: `${name}-x`, é: '🚂' }] }, printable(name));
    }
  });

  await t.test('a prefix of any length is put before names at any place', async (t) => {
    for (let length = 1; length < 150; length += 1) {
      const name = 'b'.repeat(length);
      const list = await merge(way, {
        backends: { [name]: {} },
        lists: { [name]: [['{"name":"x"}', '{"name":"y"}']] },
      });
      t.equal(resultOf(list), `{"tools":[{"name":"${name}-x"},{"name":"${name}-y"}]}`, String(length));
    }
  });

  await t.test('tools are sorted by name over all backends and pages, whatever order they come in', async (t) => {
    const backends = { b: {}, a: {}, 'a-b': {} };
    const lists = {
      b: [['{"name":"z"}', '{"name":"a"}'], ['{"name":"Z"}']],
      a: [['{"name":"é"}', '{"name":"b"}', '{"name":"1"}']],
      'a-b': [['{"name":"x"}']],
    };
    const list = await merge(way, { backends, lists });
    t.same(namesOf(list), ['a-1', 'a-b', 'a-b-x', 'a-é', 'b-Z', 'b-a', 'b-z']);
    const reversed = Object.fromEntries(Object.entries(lists).reverse());
    t.equal(resultOf(await merge(way, { backends, lists: reversed })), resultOf(list));
  });

  await t.test('without tools configured, listed or allowed the list is empty', async (t) => {
    const allowed = { b: { allowed_tool_names: ['y'] } };
    const mergings: Merging[] = [
      { backends: {}, lists: {} },
      { backends: { b: {} }, lists: { b: [[]] } },
      { backends: { b: {} }, lists: { b: [] } },
      { backends: allowed, lists: { b: [['{"name":"x"}']] } },
    ];
    for (const merging of mergings) t.equal(resultOf(await merge(way, merging)), '{"tools":[]}');
  });

  await t.test('an allow-list holds bare names', async (t) => {
    const backends = { b: { allowed_tool_names: ['x', 'b-y'] }, c: {} };
    const tools = ['{"name":"x"}', '{"name":"\\u0078y"}', '{"name":"b-y"}', '{"name":"y"}'];
    const list = await merge(way, { backends, lists: { b: [tools], c: [tools] } });
    t.same(namesOf(list), ['b-b-y', 'b-x', 'c-b-y', 'c-x', 'c-xy', 'c-y']);
  });

  await t.test('of two tools with one name the first counts, also on other pages and in other escapes', async (t) => {
    const pages = [
      ['{"name":"x","n":1}', '{"name":"x","n":2}'],
      ['{"name":"\\u0078","n":3}', '{"name":"y"}'],
    ];
    const list = await merge(way, { backends: { b: {} }, lists: { b: pages } });
    t.equal(resultOf(list), '{"tools":[{"name":"b-x","n":1},{"name":"b-y"}]}');
  });

  await t.test('a tool that no call could reach is left out and named', async (t) => {
    const lists = {
      a: [['{"name":"b-c"}', '{"name":"b"}', '{"name":"b-c"}', '{"name":"bc"}']],
      'a-b': [['{"name":"c","of":"a-b"}']],
    };
    const list = await merge(way, { backends: { a: {}, 'a-b': {} }, lists });
    t.same(list.unreachableNames, ['a-b-c']);
    t.same(namesOf(list), ['a-b', 'a-b-c', 'a-bc']);
    t.ok(resultOf(list).includes('{"name":"a-b-c","of":"a-b"}'), "the name is the other backend's");
    const notAllowed = { a: { allowed_tool_names: ['d'] }, 'a-b': {} };
    const without = await merge(way, { backends: notAllowed, lists: { a: [['{"name":"b-c"}']] } });
    t.same(without.unreachableNames, [], 'what is not allowed is not missed');
  });

  await t.test('where tools are not searched for, the names of the tools that search are any tool’s', async (t) => {
    const lists = { b: [['{"name":"find_tools"}', '{"name":"call_tool"}']] };
    const list = await merge(way, { backends: { b: { prefix: '' } }, lists });
    t.same([namesOf(list), list.unreachableNames], [['call_tool', 'find_tools'], []]);
  });

  await t.test('unavailable backends are named in _meta, sorted', async (t) => {
    const unavailable = [
      { backend: 'c', reason: 'connection refused' },
      { backend: 'a', reason: 'no response in time' },
    ];
    const backends = { a: {}, b: {}, c: {} };
    const list = await merge(way, { backends, lists: { b: [['{"name":"x"}']] }, unavailable });
    t.same(JSON.parse(resultOf(list)), {
      tools: [{ name: 'b-x' }],
      _meta: { 'switchyard/unavailable': [...unavailable].reverse() },
    });
    t.same(unavailable[0]?.backend, 'c', 'the list that was given stays as it was');
  });

  await t.test('a caller that takes only event streams gets the list as an event', async (t) => {
    const lists = { b: [['{"name":"x",\n"n":"é"}']] };
    const frame = { head: FRAME.head, framing: 'event' } as const;
    const { bytes } = await merge(way, { backends: { b: {} }, lists, frame });
    const lines = [`${FRAME.head}{"tools":[{"name":"b-x",`, `"n":"é"${SCHEMA}]}}`];
    t.equal(bytes.toString(), `event: message\n${lines.map((line) => `data: ${line}\n`).join('')}\n`);
  });

  await t.test('random lists are merged as by JSON.parse', async (t) => {
    const random = new Random(31);
    const letters = ['a', 'b', '-', 'é', '🚂', '"', '\\'];
    const name = (lengthMax: number): string =>
      Array.from({ length: 1 + random.below(lengthMax) }, () => random.pick(letters)).join('');
    let toolCount = 0;
    for (let round = 0; round < 200; round += 1) {
      const backendNames = [...new Set(Array.from({ length: 1 + random.below(4) }, () => name(3)))];
      const backends = Object.fromEntries(backendNames.map((each) => [each, {}]));
      const tools = new Map(backendNames.map((each) => [each, Array.from({ length: random.below(6) }, () => name(4))]));
      const lists = Object.fromEntries(
        [...tools].map(([backend, names]) => [
          backend,
          names.map((each, index) => [JSON.stringify({ n: index, name: each, tail: [each] })]),
        ]),
      );
      const expected = new Map<string, string>();
      for (const [backend, names] of tools) {
        const rivals = backendNames.filter((each) => each.length > backend.length);
        for (const [index, each] of names.entries()) {
          const full = `${backend}-${each}`;
          const isTaken = rivals.some((rival) => full.startsWith(`${rival}-`));
          if (isTaken || names.indexOf(each) !== index) continue;
          expected.set(full, JSON.stringify({ n: index, name: full, tail: [each] }));
        }
      }
      const sorted = [...expected.keys()].sort((one, other) => (one < other ? -1 : 1));
      toolCount += sorted.length;
      const text = `{"tools":[${sorted.map((each) => expected.get(each)).join(',')}]}`;
      const actual = resultOf(await merge(way, { backends, lists }));
      if (actual !== text) t.equal(actual, text, printable(JSON.stringify([...tools])));
    }
    t.ok(toolCount > 500, `${toolCount} tools`);
  });
}

inBothWays(t, 'rules', rules);

/** A random virtual host with random lists; some names collide, and some belong to a backend with a longer name. */
function randomMerging(random: Random): Merging {
  const names = random.chance(0.5) ? ['a', 'a-b', 'a-b-é'] : ['x"', '🚂', 'x"-\\'];
  const toolNames = ['b', 'b-c', 'b-é-c', '\\-d', 'd', 'é', '🚂', 'x'];
  const backends: Record<string, Partial<BackendConfig>> = {};
  const lists: Record<string, string[][]> = {};
  const unavailable: UnavailableBackend[] = [];
  for (const name of names.slice(0, 1 + random.below(names.length))) {
    backends[name] = random.chance(0.3) ? { allowed_tool_names: [random.pick(toolNames), random.pick(toolNames)] } : {};
    if (random.chance(0.2)) unavailable.push({ backend: name, reason: 'connection refused' });
    else lists[name] = Array.from({ length: random.below(3) }, () => randomPage(random, toolNames));
  }
  const form = random.chance(0.3) ? 'event' : 'message';
  return { backends, lists, unavailable, frame: { head: FRAME.head, framing: form } };
}

function randomPage(random: Random, toolNames: readonly string[]): string[] {
  return Array.from({ length: random.below(6) }, () => {
    const token = JSON.stringify(random.pick(toolNames));
    const name = /^"[ -~]*"$/.test(token) && !token.includes('\\') ? escapedToken(random, token.slice(1, -1)) : token;
    const members = [`"name" : ${name}`, `"inputSchema":{"type" : "object","x":${randomJson(random, 3)}}`];
    return `{${(random.chance(0.5) ? members : members.toReversed()).join(' ,')}}`;
  });
}

t.test('both ways give the same bytes for random lists', async (t) => {
  const random = new Random(57);
  const thread = inThread(startPool(t));
  let byteCount = 0;
  for (let round = 0; round < 300; round += 1) {
    const merging = randomMerging(random);
    const expected = await merge(onLoop, merging);
    const list = await merge(thread, merging);
    byteCount += expected.bytes.length;
    if (list.bytes.equals(expected.bytes) && list.unreachableNames.join() === expected.unreachableNames.join())
      continue;
    t.equal(list.bytes.toString(), expected.bytes.toString(), `round ${round}`);
    t.same(list.unreachableNames, expected.unreachableNames, `round ${round}`);
  }
  t.ok(byteCount > 50_000, `${byteCount} bytes`);
});
