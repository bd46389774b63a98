// The explanation of a call that operators get agrees with routing, whatever the config says about prefixes and names.
import t from 'tap';
import { routeName } from '../../src/user-config/routing.js';
import { upstreamFault } from '../../src/http-client/upstream-fault.js';
import { sessionHash, subjectHash } from '../../src/shared/logger.js';
import { explain, VIEW_BACKENDS_MAX } from '../../src/worker/explanation.js';
import { virtualHostOf } from '../relay/virtual-host.js';

const backends = {
  files: {
    prefix: 'docs',
    allowed_tool_names: ['read_file_v2', 'delete_file', 'old'],
    tools: {
      read_file_v2: { name: 'read', fixed_arguments: { root: '/a-secret' } },
      delete_file: { hidden: true },
      elsewhere: { name: 'there' },
    },
    prompts: { sum: { name: 'summarize' } },
  },
  'docs-a': { prefix: 'docs-a' },
  docs: { prefix: 'mine' },
  bare: { prefix: '', tools: { 'docs-a-x': { hidden: true } } },
};
const virtualHost = virtualHostOf(backends as unknown as Parameters<typeof virtualHostOf>[0]);
const relay = { origins: [], sessions: [], lastFaultOf: () => undefined };

function explained(tool: string, host = virtualHost, seen = relay): Record<string, unknown> {
  const question = { view: 'explain', subject: 'alice', virtualHost: 'vh', tool } as const;
  const config = { virtualHosts: new Map([['vh', host]]) };
  return explain(question, { kind: 'found', config }, seen);
}

t.test('the verdict is the outcome of the call', async (t) => {
  const rows: readonly (readonly [tool: string, goesTo: string | undefined, words: RegExp])[] = [
    ['docs-read', 'files/read_file_v2', /allowed: a call goes to files as "read_file_v2", as its entry/],
    ['docs-old', 'files/old', /allowed: a call goes to files as "old"\. /],
    ['docs-read_file_v2', undefined, /renamed: "read_file_v2" of files has the name "docs-read" here\. .*-32602/],
    ['docs-delete_file', undefined, /hidden: the config's tools of files hide "delete_file".*-32602/],
    ['docs-there', undefined, /not allowed: .* does not have the tool "elsewhere" of files.*-32602/],
    ['docs-x', undefined, /not allowed: .* does not have the tool "x" of files.*-32602/],
    ['mine-x', 'docs/x', /allowed: a call goes to docs as "x"/],
    ['docs-a-x', 'docs-a/x', /^allowed: a call goes to docs-a as "x"/],
    [
      'docs-a-y',
      'docs-a/y',
      /^the tool "docs-a-y" of bare would have this name too, .*allowed: a call goes to docs-a as "y"/,
    ],
    ['Docs-a-x', undefined, /hidden: the config's tools of bare hide "Docs-a-x", or protect one .* in case/],
    ['files-read', 'bare/files-read', /^allowed: a call goes to bare as "files-read"/],
  ];
  for (const [tool, goesTo, words] of rows) {
    const route = routeName(virtualHost, 'tools', tool);
    t.equal(route && `${route.backend.name}/${route.bareName}`, goesTo, tool);
    t.match(explained(tool)['verdict'], words, tool);
  }
  t.notOk('verdict' in explained(''), 'where no tool is asked about there is none');
  const { files, docs } = backends;
  const some = virtualHostOf({ files, docs } as unknown as Parameters<typeof virtualHostOf>[0]);
  t.match(explained('files-read', some)['verdict'], /^unknown backend: .*available: files, docs\./);
});

t.test(
  'an allowed call of a server that has failed says so, and a hash in place of a subject is recognised',
  async (t) => {
    const last = { backend: 'docs', kind: 'connection-refused', reason: 'connection refused', during: 'opening' };
    const failed = {
      ...relay,
      lastFaultOf: () => ({ ...last, at: '2026-11-29T12:00:00.000Z' }) as unknown as undefined,
    };
    t.match(
      explained('mine-x', virtualHost, failed)['verdict'],
      /allowed: a call goes to docs .* Its server last failed at 2026-11-29T12:00:00\.000Z: connection refused$/,
    );
    const missing = (subject: string): unknown =>
      explain({ view: 'explain', subject, virtualHost: 'vh', tool: 'mine-x' }, { kind: 'missing' }, relay);
    t.match(missing(`${subjectHash('alice')}0`), { verdict: /every request gets 400$/ }, 'longer than a hash');
    t.match(missing(subjectHash('alice')), {
      verdict: /every request gets 400\. This looks like the hash in the log: /,
    });
    t.match(missing('alice'), { verdict: /every request gets 400$/ });
  },
);

t.test('an unreachable backend shows why, in the verdict and beside it', async (t) => {
  const told = virtualHostOf({
    down: { url: 'https://down.example/mcp' },
    plain: { url: 'http://plain.example/mcp' },
    program: { transport: 'STDIO' },
  } as unknown as Parameters<typeof virtualHostOf>[0]);
  const origin = 'https://down.example';
  const fault = upstreamFault('connection-refused', true);
  const seen = { ...relay, origins: [{ origin, state: 'open', fault }] as unknown as typeof relay.origins };
  t.match(
    explained('down-x', told, seen)['verdict'],
    /^down cannot be reached now: connection refused\. .*-32603 immediately/,
  );
  t.match(explained('plain-x', told, seen)['verdict'], /^plain is never reached: .*plain-text HTTP.*-32603$/);
  t.match(explained('program-x', told, seen)['verdict'], /^program is never reached: .*-32603$/);
  t.match(explained('', told, seen)['backends'], [
    { name: 'down', circuit: 'open', reason: 'connection refused' },
    { name: 'plain', obstacle: /./, circuit: 'unused' },
    { name: 'program', obstacle: /./ },
  ]);
  const found = {
    kind: 'found',
    config: { virtualHosts: new Map([['vh', told]]) },
    oddities: 'a word too many',
  } as const;
  t.match(explain({ view: 'explain', subject: 'alice', virtualHost: 'vh', tool: '' }, found, relay), {
    oddities: found.oddities,
  });
});

t.test('of the sessions of a virtual host those of the subject are shown, by their hashes', async (t) => {
  const session = (id: string, subject: string, virtualHostId: string): object => ({
    identity: { id, subject, virtualHostId },
    upstreams: {
      findUsed: (backend: string) => (backend === 'docs' ? { state: 'open', record: { era: 'legacy' } } : undefined),
    },
  });
  const sessions = [session('s-1', 'alice', 'vh'), session('s-2', 'bob', 'vh'), session('s-3', 'alice', 'else')];
  const many = [...sessions, ...Array.from({ length: 50 }, (_, index) => session(`m-${index}`, 'alice', 'vh'))];
  const shown = (seen: readonly object[]): Record<string, readonly object[]> => {
    const { backends: told } = explained('', virtualHost, { ...relay, sessions: seen as typeof relay.sessions });
    return Object.fromEntries((told as { name: string; sessions: object[] }[]).map((one) => [one.name, one.sessions]));
  };
  t.same(shown(sessions)['docs'], [{ session: sessionHash('s-1'), state: 'open', era: 'legacy' }]);
  t.same(shown(sessions)['files'], [{ session: sessionHash('s-1'), state: 'unused' }]);
  t.equal(shown(many)['docs']?.length, 20, 'not very many of them');
});

t.test('not very many backends are shown', async (t) => {
  const many = Array.from({ length: VIEW_BACKENDS_MAX + 1 }, (_, index) => [`b${index}`, {}] as const);
  const { backends: told } = explained('', virtualHostOf(Object.fromEntries(many)));
  t.equal((told as object[]).length, VIEW_BACKENDS_MAX);
});

t.test('a backend’s prefix is shown, and how much of it is curated', async (t) => {
  const { backends: told } = explained('');
  t.match(told, [
    { name: 'files', prefix: 'docs-', curatedTools: 3, curatedPrompts: 1 },
    { name: 'docs-a', prefix: 'docs-a-', curatedTools: 0, curatedPrompts: 0 },
    { name: 'docs', prefix: 'mine-' },
    { name: 'bare', prefix: '', curatedTools: 1 },
  ]);
  t.notMatch(JSON.stringify([told, explained('docs-read')]), /a-secret/);
});

t.test('what a backend may be asked for is listed by name, as far as it fits, and otherwise it is all', async (t) => {
  const tools = Array.from({ length: 201 }, (_, index) => `t${index}`);
  const some = virtualHostOf({
    open: {},
    closed: {
      allowed_tool_names: tools,
      allowed_prompt_names: ['sum'],
      allowed_resource_names: ['file:///a'],
      passthrough_headers: ['x-team'],
    },
  });
  const { backends: told } = explained('', some);
  const all = { allowedTools: 'all', allowedPrompts: 'all', allowedResources: 'all', passthroughHeaders: [] };
  const allowed = { allowedPrompts: ['sum'], allowedResources: ['file:///a'], passthroughHeaders: ['x-team'] };
  t.match(told, [
    { name: 'open', ...all },
    { name: 'closed', allowedTools: tools.slice(0, 200), ...allowed },
  ]);
  t.equal((told as { allowedTools: unknown[] }[])[1]?.allowedTools.length, 200);
});

t.test('instead of an unknown virtual host those of the config are named, not very many of them', async (t) => {
  const ids = Array.from({ length: VIEW_BACKENDS_MAX + 1 }, (_, index) => `vh${index}`);
  const config = { virtualHosts: new Map(ids.map((id) => [id, virtualHost])) };
  const question = { view: 'explain', subject: 'alice', virtualHost: 'vh', tool: '' } as const;
  t.same(explain(question, { kind: 'found', config, oddities: 'a word too many' }, relay), {
    ...{ config: 'read', oddities: 'a word too many' },
    verdict: 'the user config has no such virtual host: every request gets 404',
    virtualHosts: ids.slice(0, VIEW_BACKENDS_MAX),
  });
});
