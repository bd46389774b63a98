// What a config may say about tools and prompts: what is read, refused and warned about; and which name belongs to what.
import t from 'tap';
import { limits } from '../../src/shared/limits.js';
import { compileUserConfig } from '../../src/user-config/compile-config.js';
import type { CompiledUserConfig } from '../../src/user-config/compiled-config.js';
import { ConfigReader, encodeConfig } from '../../src/user-config/config-rows.js';
import { routeName, routeTask, decodeRules, encodeRules } from '../../src/user-config/routing.js';
import { decodeUserConfig } from '../../src/user-config/user-config-schema.js';

type Backends = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const url = 'https://b.example/mcp';

function decode(backends: Backends): ReturnType<typeof decodeUserConfig> {
  const complete = Object.entries(backends).map(([name, members]) => [name, { url, ...members }]);
  const text = JSON.stringify({ virtual_hosts: { vh: { backends: Object.fromEntries(complete) as unknown } } });
  return decodeUserConfig(Buffer.from(text));
}

function compile(backends: Backends): CompiledUserConfig {
  const decoding = decode(backends);
  if (!decoding.ok) throw new Error(decoding.issues);
  return compileUserConfig(decoding.config, 'tls-only');
}

/** Routes names of tools, or of prompts, to `backend / bare name`. */
function routes(backends: Backends, kind: 'tools' | 'prompts' = 'tools'): (name: string) => string | undefined {
  const virtualHost = compile(backends).virtualHosts.get('vh')!;
  return (name) => {
    const route = routeName(virtualHost, kind, name);
    return route && `${route.backend.name} / ${route.bareName}`;
  };
}

t.test('a renamed tool has only its new name, and the others keep theirs', async (t) => {
  const route = routes({ b: { tools: { a: { name: 'z' }, x: { name: 'y' }, y: { name: 'x' }, h: { hidden: true } } } });
  t.equal(route('b-z'), 'b / a');
  t.equal(route('b-a'), undefined);
  t.equal(route('b-x'), 'b / y', 'two may change places');
  t.equal(route('b-y'), 'b / x');
  t.equal(route('b-h'), undefined, 'hidden');
  t.equal(route('b-other'), 'b / other');
  t.equal(routes({ b: { tools: { a: { name: 'z' } } } }, 'prompts')('b-a'), 'b / a', 'prompts are apart');
});

t.test('another tool may take the name of a hidden one', async (t) => {
  const route = routes({ b: { tools: { a: { hidden: true }, x: { name: 'a' } } } });
  t.equal(route('b-a'), 'b / x');
});

t.test('a tool that is hidden or has closed arguments is not reached in other capitals either', async (t) => {
  const tools = {
    delete_file: { hidden: true },
    read: { name: 'show', fixed_arguments: { root: '/h' } },
    list: { hidden_arguments: ['all'] },
    kiSs: { hidden: true },
    KISS: { title: 'Another, which the config knows of' },
    open: { name: 'start' },
    x: { name: 'DELETE_file' },
  };
  const route = routes({ b: { tools } });
  for (const name of ['DELETE_FILE', 'Delete_File', 'READ', 'read', 'LIST', 'kiss', 'ki\u017fs', '\u212aiss'])
    t.equal(route(`b-${name}`), undefined, name);
  t.equal(route('b-list'), 'b / list');
  t.equal(route('b-KISS'), 'b / KISS', 'an entry of its own');
  t.equal(route('b-DELETE_file'), 'b / x', 'a name that an entry gives');
  t.equal(route('b-SHOW'), 'b / SHOW', 'which the backend does not have');
  t.equal(route('b-OPEN'), 'b / OPEN', 'of which nothing is closed');
  const prompt = routes({ b: { prompts: { sum: { hidden_arguments: ['n'] } }, tools } }, 'prompts');
  t.equal(prompt('b-SUM'), undefined);
  t.equal(prompt('b-READ'), 'b / READ');
});

t.test('allow-lists contain the backend’s own names', async (t) => {
  const route = routes({
    b: { allowed_tool_names: ['a', 'h'], tools: { a: { name: 'z' }, c: { name: 'y' }, h: { hidden: true } } },
  });
  t.equal(route('b-z'), 'b / a');
  for (const name of ['b-a', 'b-y', 'b-c', 'b-h']) t.equal(route(name), undefined, name);
});

t.test('a prefix replaces the backend’s name before names, but not before ids of tasks', async (t) => {
  const backends = { long: { prefix: 'l' }, 'l-m': {}, all: { prefix: '' } };
  const route = routes(backends);
  t.equal(route('l-x'), 'long / x');
  t.equal(route('l-m-x'), 'l-m / x', 'the longest that fits wins');
  t.equal(route('long-x'), 'all / long-x', 'what no other prefix fits is that of the backend without one');
  t.equal(route('x'), 'all / x');
  t.equal(route(''), 'all / ');
  const virtualHost = compile(backends).virtualHosts.get('vh')!;
  t.equal(routeTask(virtualHost, 'long-7')?.backend.name, 'long');
  t.equal(routeTask(virtualHost, 'l-7'), undefined);
});

t.test('what is wrong is refused, and named', async (t) => {
  const refused: readonly (readonly [Backends, RegExp])[] = [
    [{ b: { tools: [] } }, /b\.tools: must be an object/],
    [{ b: { tools: { a: 1 } } }, /b\.tools\.a: must be an object/],
    [{ b: { tools: { a: { hiden: true } } } }, /b\.tools\.a\.hiden: is not known; did you mean hidden\?/],
    [{ b: { tools: { a: { hidden: 1 } } } }, /b\.tools\.a\.hidden: must be true or false/],
    [{ b: { tools: { a: { name: '' } } } }, /b\.tools\.a\.name: must not be empty/],
    [{ b: { tools: { a: { name: 'x'.repeat(5_000) } } } }, /b\.tools\.a\.name: is too long/],
    [
      { b: { tools: { a: { name: 'x' }, c: { name: 'x' } } } },
      /b\.tools\.c\.name: is already the name of another tool or prompt: choose a different one/,
    ],
    [
      { b: { tools: { a: { name: 'c' }, c: { title: 'C' } } } },
      /b\.tools\.c\.name: is already the name of another tool or prompt: choose a different one/,
    ],
    [{ b: { tools: { a: { fixed_arguments: [] } } } }, /b\.tools\.a\.fixed_arguments: must be an object/],
    [
      { b: { tools: { a: { fixed_arguments: { n: { m: [2 ** 60] } } } } } },
      /fixed_arguments\.n: has a number that is too large/,
    ],
    [{ b: { tools: { a: { description: 'x'.repeat(70_000) } } } }, /b\.tools\.a: is too large/],
    [{ b: { prompts: { a: { fixed_arguments: { n: 1 } } } } }, /b\.prompts\.a\.fixed_arguments\.n: must be a string/],
    [{ b: { prefix: 7 } }, /b\.prefix: must be a string/],
    [{ b: { prefix: 'x'.repeat(5_000) } }, /b\.prefix: is too long/],
    [{ b: { prefix: 'c' }, c: {} }, /b\.prefix: is already the prefix of another backend: choose a different one/],
    [{ c: {}, b: { prefix: 'c' } }, /b\.prefix: is already the prefix of another backend: choose a different one/],
    [
      { b: { prefix: '' }, c: { prefix: '' } },
      /c\.prefix: is already the prefix of another backend: choose a different one/,
    ],
  ];
  for (const [backends, issues] of refused) t.match(decode(backends), { ok: false, issues });
});

t.test('the number of curated tools and prompts is limited', async (t) => {
  const most = limits.curatedItemsMax;
  const members = (count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`t${n}`, { title: 'T' }]));
  t.match(decode({ b: { tools: members(most), prompts: members(most) } }), { ok: true });
  for (const kind of ['tools', 'prompts'])
    t.match(decode({ b: { [kind]: members(most + 1) } }), { ok: false, issues: `b.${kind}: must be at most ${most}` });
});

t.test('names that not every client accepts are warned about, where the config chooses them', async (t) => {
  const oddities = (backends: Backends): string => {
    const decoding = decode(backends);
    return decoding.ok ? (decoding.oddities ?? '') : decoding.issues;
  };
  t.match(oddities({ b: { prefix: 'my.files' } }), /b\.prefix: .*\[A-Za-z0-9_-\]\{1,64\}/);
  t.match(oddities({ b: { tools: { a: { name: 'a/b' } } } }), /b\.tools\.a: .*\[A-Za-z0-9_-\]\{1,64\}/);
  t.match(oddities({ b: { prompts: { a: { name: 'x'.repeat(63) } } } }), /b\.prompts\.a: /, 'as a whole');
  t.equal(oddities({ b: { tools: { a: { name: 'x'.repeat(62) } } } }), '');
  t.equal(oddities({ 'my files': { tools: { a: { description: 'A' } } } }), '', 'nor where it does not');
  t.equal(oddities({ b: { tools: { 'a.b': { hidden: true } } } }), '');
});

t.test('curation reaches other threads unchanged', async (t) => {
  const tools = {
    __proto__x: { name: '__proto__', fixed_arguments: { a: 1.5, b: { c: [null] } }, hidden_arguments: ['d'] },
    two: { hidden: true, title: 'T', description: 'D' },
  };
  const config = compile({ b: { tools, prompts: { p: { name: 'q' } }, prefix: 'bb' }, c: {}, a: { prefix: '' } });
  const reader = new ConfigReader(encodeConfig(config));
  while (reader.readRow());
  t.same(reader.config, config);
  const virtualHost = config.virtualHosts.get('vh')!;
  const { backendsByNameLength } = decodeRules(encodeRules(virtualHost));
  t.same(
    backendsByNameLength.map(({ name, prefix, curation }) => ({ name, prefix, curation })),
    virtualHost.backendsByNameLength.map(({ name, prefix, curation }) => ({ name, prefix, curation })),
  );
});
