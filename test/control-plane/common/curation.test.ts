// Clashes between separately curated servers: how each is settled, and what it costs to settle many of them.
import t from 'tap';
import { curationFault, curationOfNamed, withoutClashes } from '../../../src/control-plane/common/curation.js';
import { limits } from '../../../src/shared/limits.js';
import { duplicateIssuesOf } from '../../../src/user-config/curation-schema.js';
import { mapsAsObjects } from '../../../src/user-config/known-members.js';
import type { BackendConfig } from '../../../src/user-config/user-config-schema.js';

type Backends = ReadonlyMap<string, BackendConfig>;
type Members = NonNullable<BackendConfig['tools']>;
type Member = Members extends ReadonlyMap<string, infer Each> ? Each : never;

/** Counts how often names and prefixes are read, which measures the work. */
class Reads {
  count = 0;

  tool(name: string): Member {
    return Object.defineProperty<Member>({}, 'name', { enumerable: true, get: () => this.#read(name) });
  }

  backend(prefix: string): BackendConfig {
    const config = backend({});
    return Object.defineProperty(config, 'prefix', { enumerable: true, get: () => this.#read(prefix) });
  }

  #read(text: string): string {
    this.count += 1;
    return text;
  }
}

function backend(curated: Pick<BackendConfig, 'prefix' | 'tools' | 'prompts'>): BackendConfig {
  const lists = {
    passthrough_headers: [],
    allowed_tool_names: [],
    allowed_resource_names: [],
    allowed_prompt_names: [],
  };
  return { url: 'https://b.example/mcp', transport: 'STREAMABLEHTTP', ...lists, ...curated };
}

function times<Value>(count: number, make: (n: number) => Value): Value[] {
  return Array.from({ length: count }, (_, n) => make(n));
}

t.test(
  'the maximum of tools, half of them with the names of others, is settled with a few looks at each of them',
  async (t) => {
    const count = limits.curatedItemsMax / 2;
    const reads = new Reads();
    const tools = new Map<string, Member>([
      ...times(count, (n) => [`a${n}`, reads.tool(`x${n}`)] as const),
      ...times(count, (n) => [`b${n}`, { name: `x${n}` }] as const),
    ]);
    const settled = withoutClashes(new Map([['files', backend({ tools })]]));
    const members = [...(settled.get('files')?.tools ?? [])];
    t.equal(members.length, 2 * count);
    const isRight = ([bareName, { hidden = false }]: (typeof members)[number]): boolean =>
      hidden === bareName.startsWith('b');
    t.ok(members.every(isRight), 'the later ones are hidden');
    t.ok(reads.count <= 5 * count, `${reads.count} reads of ${count} names`);
  },
);

t.test('as many servers, half of them with one prefix, are each looked at a few times', async (t) => {
  const count = 500;
  const reads = new Reads();
  const settled = withoutClashes(
    new Map([
      ...times(count, (n) => [`a${n}`, reads.backend(`p${n}`)] as const),
      ...times(count, (n) => [`b${n}`, backend({ prefix: 'same' })] as const),
    ]),
  );
  t.same(
    [...settled].filter(([name, { prefix }]) => name.startsWith('b') && prefix === 'same').map(([name]) => name),
    ['b0'],
    'the first one keeps it',
  );
  t.ok(reads.count <= 6 * count, `${reads.count} reads of ${count} prefixes`);
});

/** The expected result: the first clash is settled, then the next, until there is none. */
function settledOneByOne(backends: Backends): Backends {
  const settled = new Map(backends);
  for (let [clash] = duplicateIssuesOf(settled); clash !== undefined; [clash] = duplicateIssuesOf(settled)) {
    const [name = '', member, bareName = ''] = clash.path.map(String);
    const config = settled.get(name)!;
    const { prefix: _, ...bare } = config;
    if (member === 'prefix') {
      settled.set(name, bare);
    } else {
      const kind = member === 'tools' ? 'tools' : 'prompts';
      const members = new Map<string, object>(config[kind]);
      members.set(bareName, { ...members.get(bareName), hidden: true });
      settled.set(name, { ...config, [kind]: members });
    }
  }
  return settled;
}

t.test('the result is that of settling one clash after the other', async (t) => {
  // The same pseudorandom values on each run (the generator of Numerical Recipes).
  let state = 1;
  const draw = <Value>(values: readonly Value[]): Value => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return values[(state >>> 16) % values.length]!;
  };
  const members = (): NonNullable<BackendConfig['prompts']> =>
    new Map(
      ['k', 'l', 'm', 'n'].map((bareName) => {
        const name = draw([undefined, 'k', 'l', 'x']);
        return [bareName, { ...(name !== undefined && { name }), ...(draw([1, 2, 3]) === 1 && { hidden: true }) }];
      }),
    );
  let clashes = 0;
  for (let round = 0; round < 2_000; round++) {
    const backends = new Map(
      ['a', 'b', 'c', 'd', 'e'].map((name) => {
        const prefix = draw([undefined, '', 'a', 'b', 'c', 'd', 'p']);
        const kinds = draw([{}, { tools: members() }, { tools: members(), prompts: members() }]);
        return [name, backend({ ...(prefix !== undefined && { prefix }), ...kinds })];
      }),
    );
    clashes += duplicateIssuesOf(backends).length;
    const json = (settled: Backends): string => JSON.stringify([...settled], mapsAsObjects);
    const settled = withoutClashes(backends);
    if (json(settled) === json(settledOneByOne(backends))) continue;
    t.fail(json(backends));
    return;
  }
  t.ok(clashes > 2_000, `${clashes} clashes`);
});

t.test('a misspelt member of a curation is named', async (t) => {
  t.equal(curationFault({ tools: { a: { hiden: true } } }), 'tools.a.hiden: is not known; did you mean hidden?');
  t.equal(curationFault({ tools: { a: 'b' } }), 'tools.a: must be an object');
});

t.test('of a curation, what is for the named tools and prompts is used', async (t) => {
  const [a, b] = [{ name: 'A' }, { name: 'B' }];
  const curation = {
    prefix: 'p',
    tools: new Map([
      ['a', a],
      ['b', b],
    ]),
    prompts: new Map([
      ['c', a],
      ['d', b],
    ]),
  };
  const of = (tools: string[], prompts: string[]): unknown => curationOfNamed(curation, { tools, prompts });
  t.strictSame(of(['*'], ['*']), curation);
  t.strictSame(of(['b', 'x'], ['c']), { prefix: 'p', tools: new Map([['b', b]]), prompts: new Map([['c', a]]) });
  t.strictSame(of([], ['x']), { prefix: 'p' });
  t.strictSame(curationOfNamed({ prefix: 'p' }, { tools: ['*'], prompts: ['*'] }), { prefix: 'p' });
});
