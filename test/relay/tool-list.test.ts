// The merged list of tools: bytes in, bytes out.
import t from 'tap';
import { readBackendMessage } from '../../src/protocol/json-rpc.js';
import { readToolPage } from '../../src/protocol/tool-page.js';
import { mergeTools, type BackendTools, type MergedList } from '../../src/relay/tool-list.js';
import type { UnavailableBackend } from '../../src/relay/unavailable.js';
import type { ReceivedToolPage } from '../../src/relay/upstream/tool-pages.js';
import type { CompiledVirtualHost } from '../../src/store/compiled-config.js';
import { printable } from '../support/printable.js';
import { Random } from '../support/random.js';
import { backendOf, virtualHostOf } from './virtual-host.js';

/** A page as a backend sends it; each tool is JSON text. */
function page(...tools: readonly string[]): ReceivedToolPage {
  const bytes = Buffer.from(`{"jsonrpc":"2.0","id":"é","result":{ "tools" : [ ${tools.join(' , ')} ] }}`);
  const message = readBackendMessage(bytes);
  const read = message && readToolPage(bytes, message.bodyStart, message.bodyEnd);
  if (read === undefined) throw new Error('not a page of tools');
  return { bytes, tools: read.tools };
}

/** @param pages by backend name. */
function merge(
  virtualHost: CompiledVirtualHost,
  pages: Readonly<Record<string, readonly ReceivedToolPage[]>>,
  unavailable: readonly UnavailableBackend[] = [],
): MergedList {
  const parts: BackendTools[] = Object.entries(pages).map(([name, its]) => ({
    backend: backendOf(virtualHost, name),
    pages: its,
  }));
  return mergeTools(virtualHost, parts, unavailable);
}

function namesOf({ result }: MergedList): string[] {
  const { tools } = JSON.parse(result.toString()) as { tools: { name: string }[] };
  return tools.map((tool) => tool.name);
}

t.test('a tool keeps every byte but the prefix of its name', async (t) => {
  const virtualHost = virtualHostOf({ b: {} });
  const tool =
    '{ "n":1.0,"n":2 , "inputSchema" : {"name":"inner","big":12345678901234567890,"e":"\\u00e9\\/é"},\n"name" : "x\\u002dy" ,"_meta":{} }';
  const { result } = merge(virtualHost, { b: [page(tool)] });
  t.equal(result.toString(), `{"tools":[${tool.replace('"x\\u', '"b-x\\u')}]}`);
});

t.test('a prefix is written as JSON: quotes, backslashes, control characters, any alphabet', async (t) => {
  for (const name of ['"', '\\', '\n', 'é', '🚂', '\u2028', '\u0001']) {
    const list = merge(virtualHostOf({ [name]: {} }), { [name]: [page('{"name":"x","é":"🚂"}')] });
    t.same(JSON.parse(list.result.toString()), { tools: [{ name: `${name}-x`, é: '🚂' }] }, printable(name));
  }
});

t.test('sorted by name over all backends and pages, whatever order they come in', async (t) => {
  const virtualHost = virtualHostOf({ b: {}, a: {}, 'a-b': {} });
  const pages = {
    b: [page('{"name":"z"}', '{"name":"a"}'), page('{"name":"Z"}')],
    a: [page('{"name":"é"}', '{"name":"b"}', '{"name":"1"}')],
    'a-b': [page('{"name":"x"}')],
  };
  const expected = ['a-1', 'a-b', 'a-b-x', 'a-é', 'b-Z', 'b-a', 'b-z'];
  t.same(namesOf(merge(virtualHost, pages)), expected);
  const reversed = Object.fromEntries(Object.entries(pages).reverse());
  t.equal(merge(virtualHost, reversed).result.toString(), merge(virtualHost, pages).result.toString());
});

t.test('no tools: none configured, none listed, none allowed', async (t) => {
  t.equal(merge(virtualHostOf({}), {}).result.toString(), '{"tools":[]}');
  t.equal(merge(virtualHostOf({ b: {} }), { b: [page()] }).result.toString(), '{"tools":[]}');
  t.equal(merge(virtualHostOf({ b: {} }), { b: [] }).result.toString(), '{"tools":[]}');
  const allowed = virtualHostOf({ b: { allowed_tool_names: ['y'] } });
  t.equal(merge(allowed, { b: [page('{"name":"x"}')] }).result.toString(), '{"tools":[]}');
});

t.test('an allow-list is of bare names', async (t) => {
  const virtualHost = virtualHostOf({ b: { allowed_tool_names: ['x', 'b-y'] }, c: {} });
  const tools = page('{"name":"x"}', '{"name":"\\u0078y"}', '{"name":"b-y"}', '{"name":"y"}');
  t.same(namesOf(merge(virtualHost, { b: [tools], c: [tools] })), ['b-b-y', 'b-x', 'c-b-y', 'c-x', 'c-xy', 'c-y']);
});

t.test('of two tools with one name the first counts, over pages and in other escapes too', async (t) => {
  const virtualHost = virtualHostOf({ b: {} });
  const pages = [page('{"name":"x","n":1}', '{"name":"x","n":2}'), page('{"name":"\\u0078","n":3}', '{"name":"y"}')];
  t.equal(merge(virtualHost, { b: pages }).result.toString(), '{"tools":[{"name":"b-x","n":1},{"name":"b-y"}]}');
});

t.test('a tool that no call could reach is left out and named', async (t) => {
  const virtualHost = virtualHostOf({ a: {}, 'a-b': {} });
  const list = merge(virtualHost, {
    a: [page('{"name":"b-c"}', '{"name":"b"}', '{"name":"b-c"}', '{"name":"bc"}')],
    'a-b': [page('{"name":"c","of":"a-b"}')],
  });
  t.same(list.unreachable, ['a-b-c']);
  t.same(namesOf(list), ['a-b', 'a-b-c', 'a-bc']);
  t.ok(list.result.includes('{"name":"a-b-c","of":"a-b"}'), "the name is the other backend's");
  const notAllowed = virtualHostOf({ a: { allowed_tool_names: ['d'] }, 'a-b': {} });
  t.same(merge(notAllowed, { a: [page('{"name":"b-c"}')] }).unreachable, [], 'what is not allowed is not missed');
});

t.test('unavailable backends are named in _meta, sorted', async (t) => {
  const virtualHost = virtualHostOf({ a: {}, b: {}, c: {} });
  const unavailable = [
    { backend: 'c', reason: 'connection refused' },
    { backend: 'a', reason: 'no answer in time' },
  ];
  const list = merge(virtualHost, { b: [page('{"name":"x"}')] }, unavailable);
  t.same(JSON.parse(list.result.toString()), {
    tools: [{ name: 'b-x' }],
    _meta: { 'switchyard/unavailable': [...unavailable].reverse() },
  });
  t.same(unavailable[0]?.backend, 'c', 'the list that was given stays as it was');
});

t.test('agrees with merging by JSON.parse, on random lists', async (t) => {
  const random = new Random(31);
  const letters = ['a', 'b', '-', 'é', '🚂', '"', '\\'];
  const name = (lengthMax: number): string =>
    Array.from({ length: 1 + random.below(lengthMax) }, () => random.pick(letters)).join('');
  let toolCount = 0;
  for (let round = 0; round < 200; round += 1) {
    const backendNames = [...new Set(Array.from({ length: 1 + random.below(4) }, () => name(3)))];
    const virtualHost = virtualHostOf(Object.fromEntries(backendNames.map((each) => [each, {}])));
    const tools = new Map(backendNames.map((each) => [each, Array.from({ length: random.below(6) }, () => name(4))]));
    const pages = Object.fromEntries(
      [...tools].map(([backend, names]) => [
        backend,
        names.map((each, index) => page(JSON.stringify({ n: index, name: each, tail: [each] }))),
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
    const actual = merge(virtualHost, pages).result.toString();
    if (actual !== text) t.equal(actual, text, printable(JSON.stringify([...tools])));
  }
  t.ok(toolCount > 500, `${toolCount} tools`);
});
