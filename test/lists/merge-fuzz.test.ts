// Random lists of resources, of templates, and of tools with links to their user interface, merged in both ways and compared,
// byte for byte, with the texts that they were made of, and with a walk over the parsed lists; each URI leads back to its
// backend and to the original URI.
import t from 'tap';
import { isDeepStrictEqual } from 'node:util';
import type { ListKindName } from '../../src/mcp/list-kinds.js';
import { routeUri } from '../../src/messages/uris.js';
import type { CompiledVirtualHost } from '../../src/user-config/compiled-config.js';
import { fuzzInputs } from '../support/fuzz-inputs.js';
import {
  backendsText,
  callersText,
  callersUriOf,
  markCount,
  markedToken,
  randomUri,
  URI_NAMES,
} from '../support/marked-uris.js';
import { printable } from '../support/printable.js';
import { Random } from '../support/random.js';
import { randomJson } from '../support/random-json.js';
import { backendOf, virtualHostOf } from '../relay/virtual-host.js';
import { inThread, LIST_ID, onLoop, startPool, type Answers } from './merge-ways.js';

const INPUTS = fuzzInputs(400);
const HEAD = '{"jsonrpc":"2.0","id":7,"result":';
const KINDS = {
  resources: { member: 'resources', key: 'uri' },
  templates: { member: 'resourceTemplates', key: 'uriTemplate' },
  tools: { member: 'tools', key: 'name' },
} as const satisfies Partial<Record<ListKindName, object>>;
const ITEM_NAMES = ['One', 'Two', 'a:1'];

type Kind = keyof typeof KINDS;
type Value = Record<string, unknown>;

/** One item, whose text has marks at its URIs. */
interface Item {
  readonly text: string;
  readonly key: string;
  readonly name: string;
}

/** What each backend lists, in pages, and what of it is allowed; `allowed` is absent when all is. */
interface Lists {
  readonly kind: Kind;
  readonly backends: ReadonlyMap<string, { readonly pages: readonly (readonly Item[])[]; readonly allowed?: string[] }>;
}

function members(random: Random, ...own: string[]): string {
  const others = Array.from({ length: random.below(3) }, () => `"n${random.below(9)}":${randomJson(random, 2)}`);
  const all = [...own, ...others].sort(() => (random.chance(0.5) ? 1 : -1));
  return `{${all.join(random.pick([',', ' ,\n']))}}`;
}

function randomItem(random: Random, kind: Kind): Item {
  if (kind === 'tools') {
    // Names get no mark, since marks stand for prefixes of URIs; `expectedItems` inserts the prefixes of names.
    const name = random.pick(['x', 'y', 'z-é', '🚂']);
    const link = (member: string): string => `"${member}":${markedToken(random, randomUri(random))}`;
    const ui = random.chance(0.6) ? [`"ui":${members(random, link('resourceUri'), '"uri":"a:1"')}`] : [];
    const flat = random.chance(0.6) ? [link('ui/resourceUri')] : [];
    const meta = random.chance(0.8)
      ? [`"_meta":${members(random, ...ui, ...flat, '"x":{"resourceUri":"ui://x"}')}`]
      : [];
    const own = [`"name":"${name}"`, '"inputSchema":{"type":"object"}', '"resourceUri":"ui://x"'];
    return { text: members(random, ...own, ...meta), key: name, name };
  }
  const key = randomUri(random);
  const name = random.pick(ITEM_NAMES);
  const own = [
    `"${KINDS[kind].key}":${markedToken(random, key)}`,
    '"icons":[{"src":"a:1","uri":"a:1"}]',
    `"name":"${name}"`,
  ];
  return { text: members(random, ...own), key, name };
}

function randomLists(random: Random): Lists {
  const kind = random.pick(Object.keys(KINDS) as Kind[]);
  const names = Object.keys(URI_NAMES).filter(() => random.chance(0.6));
  const backends = names.map((name) => {
    const pages = Array.from({ length: random.below(3) }, () =>
      Array.from({ length: random.below(6) }, () => randomItem(random, kind)),
    );
    const allowed = [random.pick(ITEM_NAMES), randomUri(random), 'x'].filter((entry) => entry !== '');
    return [name, random.chance(0.3) ? { pages, allowed } : { pages }] as const;
  });
  return { kind, backends: new Map(backends) };
}

function answersOf({ kind, backends }: Lists): { readonly host: CompiledVirtualHost; readonly answers: Answers } {
  const allowedAs = kind === 'tools' ? 'allowed_tool_names' : 'allowed_resource_names';
  const config = [...backends].map(([name, { allowed }]) => [
    name,
    allowed === undefined ? {} : { [allowedAs]: allowed },
  ]);
  const host = virtualHostOf(Object.fromEntries(config) as Parameters<typeof virtualHostOf>[0]);
  const parts = [...backends].map(([name, { pages }]) => ({
    backend: backendOf(host, name),
    answers: pages.map((items) => {
      const list = backendsText(
        items.map(({ text }, at) => (at === 0 ? text : `${at % 2 === 0 ? ' , ' : ','}${text}`)).join(''),
      );
      return Buffer.from(`{"jsonrpc":"2.0","id":${LIST_ID},"result":{"${KINDS[kind].member}":[${list}]}}`);
    }),
  }));
  return { host, answers: { kind, rules: host, parts, unavailable: [], frame: { head: HEAD, framing: 'message' } } };
}

/** The first item of each key that a backend allows, with the key that callers know it by. */
function* listed({
  kind,
  backends,
}: Lists): Generator<Item & { readonly backend: string; readonly callersKey: string }> {
  for (const [backend, { pages, allowed }] of backends) {
    const seen = new Set<string>();
    for (const item of pages.flat()) {
      const isAllowed = allowed === undefined || allowed.some((entry) => entry === item.key || entry === item.name);
      if (seen.has(item.key) || !isAllowed) continue;
      seen.add(item.key);
      const callersKey = kind === 'tools' ? `${backend}-${item.key}` : callersUriOf(URI_NAMES[backend]!, item.key);
      yield { ...item, backend, callersKey };
    }
  }
}

function expectedItems(lists: Lists): { readonly texts: string[]; readonly values: unknown[] } {
  const items = [...listed(lists)].sort((one, other) => (one.callersKey < other.callersKey ? -1 : 1));
  const texts = items.map(({ text, backend, key }) => {
    const down = callersText(text, URI_NAMES[backend]!);
    return lists.kind === 'tools' ? down.replace(`"name":"${key}"`, () => `"name":"${backend}-${key}"`) : down;
  });
  const values = items.map(({ text, backend, callersKey }) => {
    const value = JSON.parse(backendsText(text)) as Value;
    value[KINDS[lists.kind].key] = callersKey;
    if (lists.kind === 'tools') editLinks(value, (uri) => callersUriOf(URI_NAMES[backend]!, uri));
    return value;
  });
  return { texts, values };
}

/** Edits the links of a tool to its user interface. */
function editLinks({ _meta: meta }: Value, edit: (uri: string) => string): void {
  const visit = (owner: unknown, member: string): void => {
    const uri = (owner as Value | undefined)?.[member];
    if (typeof uri === 'string') (owner as Value)[member] = edit(uri);
  };
  visit((meta as Value | undefined)?.['ui'], 'resourceUri');
  visit(meta, 'ui/resourceUri');
}

/** Checks that the URIs of a merged item lead back to what its backend has written. */
function checkUp(host: CompiledVirtualHost, kind: Kind, value: Value, backend: string, text: string): void {
  const original = JSON.parse(backendsText(text)) as Value;
  const up = (uri: string): string => {
    const route = routeUri(host, uri);
    if (route?.backend.name !== backend) throw new Error(`${uri} leads to ${route?.backend.name}, not to ${backend}`);
    return route.bareUri;
  };
  const { key } = KINDS[kind];
  if (kind === 'tools') editLinks(value, up);
  value[key] = kind === 'tools' ? String(value[key]).slice(backend.length + 1) : up(String(value[key]));
  if (!isDeepStrictEqual(value, original)) throw new Error(`up again: ${JSON.stringify(value)}, not ${text}`);
}

t.test('merged lists equal their texts and the walk, in both ways, and URIs lead back to the originals', async (t) => {
  const random = new Random(71);
  const ways = [onLoop, inThread(startPool(t))];
  let uriCount = 0;
  for (let round = 0; round < INPUTS; round += 1) {
    const lists = randomLists(random);
    const { host, answers } = answersOf(lists);
    const { texts, values } = expectedItems(lists);
    const expected = `${HEAD}{"${KINDS[lists.kind].member}":[${texts.join()}]}}`;
    for (const way of ways) {
      const merged = (await way(answers)).bytes.toString();
      if (merged !== expected) t.equal(merged, expected, printable(JSON.stringify([...lists.backends])));
      const { result } = JSON.parse(merged) as { result: Record<string, Value[]> };
      const items = result[KINDS[lists.kind].member] ?? [];
      if (!isDeepStrictEqual(items, values)) t.same(items, values, `the walk, round ${round}`);
      const origins = [...listed(lists)].sort((one, other) => (one.callersKey < other.callersKey ? -1 : 1));
      for (const [index, { backend, text }] of origins.entries()) {
        checkUp(host, lists.kind, items[index]!, backend, text);
        uriCount += markCount(text);
      }
    }
  }
  t.ok(uriCount > INPUTS, `${uriCount} URIs`);
});
