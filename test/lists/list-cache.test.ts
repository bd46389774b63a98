// What the list cache keeps: for how long, for whom, and how much.
import t, { type Test } from 'tap';
import type { ListKindName } from '../../src/mcp/list-kinds.js';
import type { ListPage } from '../../src/mcp/list-page.js';
import {
  CatalogueCache,
  type CatalogueIdentity,
  PARTIAL_CATALOGUE_AGE_MS,
  ListCache,
  type ListIdentity,
  CACHED_LIST_BYTES,
} from '../../src/lists/list-cache.js';
import { LentPage, type KeptPage } from '../../src/lists/list-memory.js';
import { listsChangedBy } from '../../src/lists/kept-lists.js';
import { limits, perSubject } from '../../src/shared/limits.js';
import { ScriptedContext } from '../upstream/scripted-context.js';
import { backendOf, virtualHostOf } from '../relay/virtual-host.js';

const AGE_MS = 10_000;
const url = 'https://b.example/mcp';
const BACKEND = backendOf(virtualHostOf({ b: { url } }), 'b');
const SAME_PLACE = backendOf(virtualHostOf({ b: { url, allowed_tool_names: ['x'] } }), 'b');
const ELSEWHERE = backendOf(virtualHostOf({ b: { url: 'https://c.example/mcp' } }), 'b');

function scene(t: Test): { readonly cache: ListCache; readonly context: ScriptedContext } {
  const context = new ScriptedContext(t);
  return { cache: new ListCache(AGE_MS, context.deadlines, () => context.nowMs()), context };
}

function identity(parts: Partial<ListIdentity> = {}): ListIdentity {
  return { subject: 'alice', backend: BACKEND, kind: 'tools', callerHash: 'x', ...parts };
}

function page(text: string): ListPage {
  return { bytes: Buffer.from(text), spans: Int32Array.of(1, 2) };
}

/** Small pages are never lent. */
const NEVER = (): never => {
  throw new Error('lent');
};

function textIn(cache: ListCache, of: ListIdentity): string | undefined {
  return cache
    .find(of)
    ?.map(({ bytes }) => bytes.toString())
    .join();
}

t.test('a list is found only for the same subject, config, kind, and what the backend was shown', async (t) => {
  const { cache } = scene(t);
  const original = page('list');
  cache.beginRead(identity()).keep([original], NEVER);
  original.bytes.fill('!');
  original.spans.fill(0);
  t.equal(textIn(cache, identity()), 'list');
  t.match(cache.find(identity())?.[0], { spans: Int32Array.of(1, 2), isShared: true });
  for (const other of [
    { subject: 'bob' },
    { backend: SAME_PLACE },
    { kind: 'prompts' as const },
    { callerHash: 'y' },
  ]) {
    t.equal(cache.find(identity(other)), undefined, JSON.stringify(Object.keys(other)));
  }
});

t.test('a list expires at its age, and is removed then, whether it is asked for or not', async (t) => {
  const { cache, context } = scene(t);
  cache.beginRead(identity()).keep([page('a')], NEVER);
  context.advance(AGE_MS / 2);
  cache.beginRead(identity({ kind: 'prompts' })).keep([page('b')], NEVER);
  context.advance(AGE_MS / 2 - 1);
  t.equal(textIn(cache, identity()), 'a');
  context.advance(1);
  t.equal(textIn(cache, identity()), undefined);
  t.equal(textIn(cache, identity({ kind: 'prompts' })), 'b');
  context.advance(3 * AGE_MS);
  t.equal(cache.bytes, 0, 'nobody has asked');
});

t.test('a change at a backend drops its lists for all subjects, and those that are being read', async (t) => {
  const kinds: readonly ListKindName[] = ['tools', 'prompts', 'resources', 'templates'];
  const rows: readonly (readonly [string, readonly ListKindName[]])[] = [
    ['notifications/tools/list_changed', ['prompts', 'resources', 'templates']],
    ['notifications/prompts/list_changed', ['tools', 'resources', 'templates']],
    ['notifications/resources/list_changed', ['tools', 'prompts']],
    ['notifications/roots/list_changed', kinds],
    ['', []],
  ];
  for (const [method, left] of rows) {
    const { cache } = scene(t);
    for (const kind of kinds) {
      cache.beginRead(identity({ kind })).keep([page(kind)], NEVER);
      cache.beginRead(identity({ kind, subject: 'bob', backend: SAME_PLACE })).keep([page(kind)], NEVER);
      cache.beginRead(identity({ kind, backend: ELSEWHERE })).keep([page(kind)], NEVER);
    }
    const reads = kinds.map((kind) => [kind, cache.beginRead(identity({ kind, callerHash: 'late' }))] as const);
    cache.onChanged(BACKEND, listsChangedBy(method));
    for (const [kind, read] of reads) read.keep([page(kind)], NEVER);
    const found = (parts: Partial<ListIdentity>): ListKindName[] =>
      kinds.filter((kind) => cache.find(identity({ kind, ...parts })) !== undefined);
    t.same(found({}), left, method);
    t.same(found({ subject: 'bob', backend: SAME_PLACE }), left, 'another subject’s');
    t.same(found({ callerHash: 'late' }), left, 'what was being read');
    t.same(found({ backend: ELSEWHERE }), kinds, 'elsewhere nothing has changed');
  }
  const { cache } = scene(t);
  cache.beginRead(identity()).giveUp();
  t.equal(cache.find(identity()), undefined);
  for (const backend of [BACKEND, ELSEWHERE]) cache.beginRead(identity({ backend })).keep([page('a')], NEVER);
  const late = cache.beginRead(identity({ callerHash: 'late' }));
  cache.clear();
  late.keep([page('b')], NEVER);
  t.equal(cache.bytes, 0, 'any list may be another');
});

t.test('in a subject’s share the oldest lists make room, and a list larger than the share is not kept', async (t) => {
  const { cache } = scene(t);
  const each = perSubject(limits.cacheBytesMax) / 4;
  const keep = (callerHash: string, bytes = each - CACHED_LIST_BYTES - 8, subject = 'alice'): void =>
    void cache.beginRead(identity({ callerHash, subject })).keep([page('x'.repeat(bytes))], NEVER);
  for (const shown of ['1', '2', '3', '4']) keep(shown);
  t.equal(cache.bytes, perSubject(limits.cacheBytesMax));
  keep('5');
  const found = (subject = 'alice'): string[] =>
    ['1', '2', '3', '4', '5', '6'].filter((callerHash) => cache.find(identity({ callerHash, subject })) !== undefined);
  t.same(found(), ['2', '3', '4', '5']);
  keep('6', perSubject(limits.cacheBytesMax));
  t.same(found(), ['2', '3', '4', '5']);
  keep('2');
  t.equal(cache.bytes, perSubject(limits.cacheBytesMax), 'the same list anew takes the place of the one before');

  const others = limits.cacheBytesMax / perSubject(limits.cacheBytesMax) - 1;
  for (let n = 0; n < others; n++) for (const shown of ['1', '2', '3', '4']) keep(shown, undefined, `subject ${n}`);
  t.equal(cache.bytes, limits.cacheBytesMax);
  keep('1', undefined, 'small');
  t.same(found('small'), ['1'], 'who has least keeps it');
  t.ok(cache.bytes <= limits.cacheBytesMax);
  keep('2', undefined, 'small');
  t.same(found('small'), ['1', '2']);
});

t.test('a large list is lent, and freed once it is dropped and nobody uses it any more', async (t) => {
  const events: string[] = [];
  const lend = (page: KeptPage): LentPage =>
    new LentPage(page, {
      onStillUsed: (bytes) => events.push(`used ${page.key} ${bytes}`),
      onFree: (key, bytes) => events.push(`free ${key} ${bytes}`),
    });
  const { cache } = scene(t);
  const bytes = perSubject(limits.cacheBytesMax) / 2;
  const [first, small] = cache.beginRead(identity()).keep([{ key: 1, bytes }, page('small')], lend);
  t.equal(small !== undefined && 'spans' in small && small.isShared !== true, true, 'who has read it has its own');
  t.ok(cache.bytes > bytes);
  (first as LentPage).giveBack();
  t.same(events, []);
  const [lent] = cache.find(identity()) ?? [];
  cache.onChanged(BACKEND);
  t.same([events, cache.bytes], [[`used 1 ${bytes}`], 0]);
  (lent as LentPage).giveBack();
  t.same(events.splice(0), [`used 1 ${bytes}`, `free 1 ${bytes}`]);
  for (const key of [2, 3]) {
    const [read] = cache.beginRead(identity({ callerHash: `${key}` })).keep([{ key, bytes }], lend);
    (read as LentPage).giveBack();
  }
  t.same(events.splice(0), ['free 2 0'], 'the oldest makes room');
  const late = cache.beginRead(identity());
  cache.clear();
  for (const read of [late, cache.beginRead(identity())]) {
    const pages = [{ key: 4, bytes: read === late ? 1 : 2 * bytes }];
    t.equal(read.keep(pages, NEVER), pages, 'what is stale or too large stays its reader’s');
  }
  t.same(events, ['free 3 0']);
});

t.test(
  'catalogues have shares per subject and in all, incomplete ones expire sooner, and each that is dropped is reported',
  (t) => {
    const context = new ScriptedContext(t);
    const dropped: string[] = [];
    const catalogues = new CatalogueCache(context.deadlines, (subject, key) => dropped.push(`${subject} ${key}`));
    const virtualHost = virtualHostOf({ b: { url }, c: { url: 'https://c.example/mcp' } });
    const identityOf = (subject: string, callerHash = 'x'): CatalogueIdentity => ({ subject, virtualHost, callerHash });
    const each = perSubject(limits.cacheBytesMax) - CACHED_LIST_BYTES;
    const keep = (subject: string, key: number, bytes = each, isComplete = true): boolean =>
      catalogues.put(identityOf(subject), catalogues.beginRead(subject, virtualHost), key, bytes, isComplete);
    t.equal(keep('alice', 1), true);
    t.equal(catalogues.find(identityOf('alice')), 1);
    t.equal(catalogues.find(identityOf('bob')), undefined, 'another subject’s');
    t.equal(catalogues.find(identityOf('alice', 'y')), undefined, 'another credential');
    t.equal(catalogues.find({ ...identityOf('alice'), virtualHost: virtualHostOf({}) }), undefined, 'another config');
    t.equal(keep('alice', 2, each + 1), false, 'larger than the share');
    const others = limits.cacheBytesMax / perSubject(limits.cacheBytesMax) - 1;
    for (let n = 0; n < others; n += 1) keep(`s${n}`, n);
    t.same(dropped, []);
    keep('small', 9, 1_000);
    t.same(dropped, ['alice 1'], 'who has most makes room');
    keep('small', 10, 1_000, false);
    t.same(dropped, ['alice 1', 'small 9'], 'the one before');
    context.advance(PARTIAL_CATALOGUE_AGE_MS);
    t.equal(catalogues.find(identityOf('small')), undefined, 'some tools were missing');
    t.equal(catalogues.find(identityOf('s0')), 0);
    const late = catalogues.beginRead('late', virtualHost);
    catalogues.onChanged(virtualHost.backends.get('c')!, ['tools']);
    t.equal(catalogues.find(identityOf('s0')), undefined, 'one of its backends has other tools');
    t.equal(catalogues.put(identityOf('late'), late, 11, 1, true), false, 'read before it was known');
    keep('s0', 12);
    context.advance(limits.catalogueAgeMs);
    t.equal(catalogues.find(identityOf('s0')), undefined, 'too old');
    t.end();
  },
);
