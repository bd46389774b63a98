// How many compositions there may be, and what is said of publications that fail. The servers were never reached: their tools are
// nobody's business here.
import t, { type Test } from 'tap';
import type { CompositionInput } from '../../../src/control-plane/compositions/composition.js';
import { setStage, stores, type Stage } from '../stage.js';

const open = async (t: Test, settings = {}): Promise<Stage> => setStage(t, await stores['embedded']!(t), settings);
const named = (name: string, more: Partial<CompositionInput> = {}): CompositionInput => ({
  name,
  servers: [],
  ...more,
});
const parsed = (lines: readonly string[]): object[] => lines.map((line) => JSON.parse(line) as object);

t.test('there are no more compositions than fit', async (t) => {
  const { compositions } = await open(t, { quotas: { compositionsMax: 1 } });
  await compositions.create(named('one'), 'ann');
  const message = 'There can be no more than 1 compositions';
  await t.rejects(compositions.create(named('two'), 'ann'), { code: 'compositions-full', message });
  await compositions.replace('one', named('two'), 'ann');
  await compositions.remove('two');
  t.match(await compositions.create(named('three'), 'ann'), { name: 'three', subjects: ['ann'], description: '' });
});

t.test('how a composition is shown is kept, and what is shown of it is what people set', async (t) => {
  const { compositions } = await open(t);
  t.notOk('exposure' in (await compositions.create(named('all', { exposure: 'all' }), 'ann')));
  t.match(await compositions.create(named('search', { exposure: 'search' }), 'ann'), { exposure: 'search' });
  const changed = await compositions.replace('search', named('search', { description: 'd' }), 'bob');
  t.match(changed, { exposure: 'search', description: 'd', subjects: ['ann'], missingTools: [] });
  t.notOk('maker' in changed || 'hostBytes' in changed);
  t.notOk('exposure' in (await compositions.replace('search', named('search', { exposure: 'all' }), 'bob')));
  t.match(await compositions.find('search'), { description: 'd' }, 'what is left out stays');
});

t.test('a user config that cannot be written to is reported once', async (t) => {
  const { compositions, records, lines } = await open(t);
  const key = { space: 'user-configs', key: 'ann' } as const;
  const write = async (text: string): Promise<boolean> =>
    records.swap([{ ...key, expected: await records.read(key), value: Buffer.from(text) }]);
  await compositions.create(named('one'), 'ann');
  const obstacles = (): object[] =>
    parsed(lines).filter((line) => JSON.stringify(line).includes('compositions cannot be published'));
  t.same(obstacles(), []);
  await write('{');
  await compositions.replace('one', named('one', { description: 'a' }), 'ann');
  await compositions.replace('one', named('one', { description: 'b', exposure: 'search' }), 'ann');
  t.equal(obstacles().length, 1);
  t.match(obstacles(), [{ level: 50, subject: /^[0-9a-f]{12}$/, reason: String }]);
  await t.rejects(compositions.create(named('two'), 'ann'), {
    code: 'invalid',
    message: /^subjects\.0 cannot be published to: /,
  });
});
