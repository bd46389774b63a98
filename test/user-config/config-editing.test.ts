import t from 'tap';
import { editConfig, EMPTY_CONFIG, keepPublished, readEditableConfig } from '../../src/user-config/config-editing.js';
import { Random } from '../support/random.js';
import { escapedToken, randomJson } from '../support/random-json.js';

const FUZZ_ROUNDS = 2_000;
const HOST = '{"backends":{"a":{"url":"https://a.example/mcp"}}}';

function edit(text: string, removed: readonly string[], added: Readonly<Record<string, string>>): string {
  const config = readEditableConfig(Buffer.from(text));
  if (typeof config === 'string') throw new Error(config);
  return editConfig(config, new Set(removed), new Map(Object.entries(added))).toString();
}

t.test('virtual hosts are added and removed', async (t) => {
  t.equal(edit(EMPTY_CONFIG.toString(), [], { x: HOST }), `{"virtual_hosts":{"x":${HOST}}}`);
  t.equal(edit(`{"virtual_hosts":{"x":${HOST}}}`, ['x'], {}), EMPTY_CONFIG.toString());
  t.equal(
    edit(`{"virtual_hosts":{"x":${HOST},"y":${HOST}}}`, ['x'], { x: '{"backends":{}}', z: HOST }),
    `{"virtual_hosts":{"y":${HOST},"x":{"backends":{}},"z":${HOST}}}`,
  );
});

t.test('everything else keeps its bytes', async (t) => {
  const foreign = `"\\u0066" : { "note":1.0, "big":12345678901234567890, "big":2,\n"backends" : {} , "e":"\\/\\u00e9" }`;
  const head = `\n{ "first" : 1e400, "virtual\\u005fhosts" :`;
  const tail = `, "last":"\\ud83d\\ude00" }\n`;
  t.equal(
    edit(`${head} {${foreign} , "x" : ${HOST}}${tail}`, ['x'], { y: HOST }),
    `${head} {${foreign},"y":${HOST}}${tail}`,
  );
});

t.test('ids are distinguished as in the dataplane', async (t) => {
  const text = `{"virtual_hosts":{"\\u0078":${HOST},"X":${HOST},"__proto__":${HOST},"x":${HOST}}}`;
  t.equal(edit(text, ['x'], {}), `{"virtual_hosts":{"X":${HOST},"__proto__":${HOST}}}`);
  const config = readEditableConfig(Buffer.from(text));
  t.same(typeof config !== 'string' && config.virtualHosts.map(({ id }) => id), ['x', 'X', '__proto__', 'x']);
});

t.test('a config that the dataplane cannot read, or reads in its own way, is not edited', async (t) => {
  const rows: readonly (readonly [text: string, words: RegExp])[] = [
    ['', /not JSON/],
    ['nonsense', /not JSON/],
    ['\ufeff{"virtual_hosts":{}}', /not JSON/],
    ['{}', /virtual_hosts: is missing/],
    ['{"virtual_hosts":[]}', /virtual_hosts: must be an object/],
    ['{"virtual_hosts":{"x":{"backends":{"a":{"url":"secret://"}}}}}', /^virtual_hosts\.x\.backends\.a\.url: must be/],
    ['{"virtual_hosts":{},"virtual_hosts":{}}', /must be present once/],
    ['{"virtual_hosts":{},"virtual\\u005fhosts":{}}', /must be present once/],
    [`{"x":${'['.repeat(600)}${']'.repeat(600)},"virtual_hosts":{}}`, /nested too deeply/],
  ];
  for (const [text, words] of rows) t.match(readEditableConfig(Buffer.from(text)), words, text.slice(0, 60));
  t.match(readEditableConfig(Buffer.from([0x7b, 0xff, 0x7d])), /not UTF-8/);
});

t.test(
  'a config that replaces another keeps what the control plane has published in it, and nothing else',
  async (t) => {
    const configOf = (...ids: readonly string[]): Buffer =>
      Buffer.from(JSON.stringify({ virtual_hosts: Object.fromEntries(ids.map((id) => [id, JSON.parse(HOST)])) }));
    const kept = (stored: Buffer, config: Buffer, ...published: string[]): unknown => {
      const outcome = keepPublished(stored, config, published);
      return { kept: outcome.kept, config: outcome.config.toString() };
    };
    const [next, stored] = [configOf('mine'), configOf('theirs', 'old')];
    t.same(kept(stored, next, 'theirs'), { kept: ['theirs'], config: configOf('mine', 'theirs').toString() });
    t.same(kept(stored, next), { kept: [], config: next.toString() }, 'what nobody published goes');
    t.same(
      kept(stored, configOf('theirs'), 'theirs'),
      { kept: [], config: configOf('theirs').toString() },
      'it has it',
    );
    for (const unread of [Buffer.from('nonsense'), EMPTY_CONFIG])
      t.same(kept(unread, next, 'theirs'), { kept: [], config: next.toString() });
    t.same(kept(stored, Buffer.from('nonsense'), 'theirs'), { kept: [], config: 'nonsense' });
  },
);

t.test('an edited config means the same as an object edited likewise', async (t) => {
  const random = new Random(20_251_125);
  const ids = ['x', 'y', 'Z', '__proto__', '1', ''];
  for (let round = 0; round < FUZZ_ROUNDS; round++) {
    const present = ids.filter(() => random.chance(0.5));
    const members = present.map((id) => `${escapedToken(random, id)}:{"backends":{},"note":${randomJson(random, 2)}}`);
    const text = `{"more":${randomJson(random, 2)},"virtual_hosts":{${members.join(',')}},"most":${randomJson(random, 1)}}`;
    const removed = ids.filter(() => random.chance(0.4));
    const added = ids.filter((id) => (!present.includes(id) || removed.includes(id)) && random.chance(0.5));
    const edited = edit(text, removed, Object.fromEntries(added.map((id) => [id, `{"backends":{},"new":1}`])));

    const expected = JSON.parse(text) as { virtual_hosts: object };
    const hosts = new Map(Object.entries(expected.virtual_hosts));
    for (const id of removed) hosts.delete(id);
    for (const id of added) hosts.set(id, { backends: {}, new: 1 });
    expected.virtual_hosts = Object.fromEntries(hosts);
    if (JSON.stringify(sorted(JSON.parse(edited))) !== JSON.stringify(sorted(expected))) {
      t.fail(`round ${round}: ${text} became ${edited}`);
      return;
    }
  }
  t.pass(`${FUZZ_ROUNDS} rounds`);
});

/** Sorts the virtual hosts' members by name, because their order has no meaning. */
function sorted(config: unknown): unknown {
  const { virtual_hosts, ...rest } = config as { virtual_hosts: object };
  return [rest, Object.entries(virtual_hosts).sort(([a], [b]) => (a < b ? -1 : 1))];
}
