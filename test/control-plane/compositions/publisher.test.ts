// How two publishers interfere, step by step: one is paused at a chosen point while the other proceeds.
import t, { type Test } from 'tap';
import type { Composition, CompositionInput } from '../../../src/control-plane/compositions/composition.js';
import type { RecordChange, RecordChanges, RecordKey, RecordStore } from '../../../src/store/record-store.js';
import { limits } from '../../../src/shared/limits.js';
import { backendFor } from '../../support/deployment.js';
import { setStage, stores, type Stage } from '../stage.js';

/** Passes every call on to a store, and pauses once at a chosen point. */
class HeldRecords implements RecordStore {
  readonly kind: RecordStore['kind'];
  readonly location: string;
  /** Called before the first swap that writes a user config. */
  beforePublication: (() => Promise<void>) | undefined;
  /** Called after the first read of a user config that follows a swap of a composition. */
  afterFirstLook: (() => Promise<void>) | undefined;
  publications = 0;
  readonly #records: RecordStore;
  #isChanged = false;

  constructor(records: RecordStore) {
    this.#records = records;
    this.kind = records.kind;
    this.location = records.location;
  }

  async read(key: RecordKey): Promise<Buffer | undefined> {
    const value = await this.#records.read(key);
    if (key.space === 'user-configs') await this.#looked();
    return value;
  }

  readMany(keys: readonly string[]): Promise<(Buffer | undefined)[]> {
    return this.#records.readMany(keys);
  }

  listKeys(prefix: string, after: string, countMax: number): Promise<string[]> {
    return this.#records.listKeys(prefix, after, countMax);
  }

  subjects(): AsyncIterable<readonly string[]> {
    return this.#records.subjects();
  }

  readChanges(position: string): Promise<RecordChanges> {
    return this.#records.readChanges(position);
  }

  async swap(changes: readonly RecordChange[]): Promise<boolean> {
    if (changes.some(({ space }) => space === 'user-configs')) {
      this.publications += 1;
      const hook = this.beforePublication;
      this.beforePublication = undefined;
      await hook?.();
    } else {
      this.#isChanged = true;
    }
    return this.#records.swap(changes);
  }

  ping(): Promise<boolean> {
    return this.#records.ping();
  }

  async close(): Promise<void> {}

  async #looked(): Promise<void> {
    if (!this.#isChanged) return;
    const hook = this.afterFirstLook;
    this.afterFirstLook = undefined;
    await hook?.();
  }
}

interface Duel {
  readonly held: HeldRecords;
  readonly one: Stage;
  readonly other: Stage;
  readonly published: (subject: string) => Promise<Record<string, unknown>>;
}

async function setDuel(t: Test, optionsOf: (t: Test) => ReturnType<(typeof stores)['redis']>): Promise<Duel> {
  const options = await optionsOf(t);
  const other = await setStage(t, options);
  const held = new HeldRecords(other.records);
  const one = await setStage(t, options, { records: held });
  const backend = await backendFor(t, { tools: ['a', 'b'] });
  await other.registry.register({ name: 's', url: backend.url });
  const published = async (subject: string): Promise<Record<string, unknown>> => {
    const text = (await other.records.read({ space: 'user-configs', key: subject }))?.toString();
    return text === undefined ? {} : (JSON.parse(text) as { virtual_hosts: Record<string, unknown> }).virtual_hosts;
  };
  return { held, one, other, published };
}

function input(name: string, ...tools: string[]): CompositionInput {
  return { name, servers: [{ name: 's', tools }], subjects: ['alice'] };
}

for (const [kind, optionsOf] of Object.entries(stores)) {
  t.test(kind, async (t) => {
    t.test('a composition removed during its publication is not published afterwards', async (t) => {
      const { held, one, other, published } = await setDuel(t, optionsOf);
      held.beforePublication = () => other.compositions.remove('x');
      await one.compositions.create(input('x', 'a'), 'alice');
      t.same(await published('alice'), {});
      t.equal(held.publications, 2, 'what was written was looked at again, and taken back');
    });

    t.test('a composition changed during its publication is published in its latest version', async (t) => {
      const { held, one, other, published } = await setDuel(t, optionsOf);
      held.beforePublication = async () => {
        await other.compositions.replace('x', input('x', 'b'), 'alice');
      };
      const { id } = await one.compositions.create(input('x', 'a'), 'alice');
      t.match(await published('alice'), { [id]: { backends: { s: { allowed_tool_names: ['b'] } } } });
    });

    t.test('a publication of the other publisher is not mistaken for an unwanted one', async (t) => {
      const { held, one, other, published } = await setDuel(t, optionsOf);
      const x = await one.compositions.create(input('x', 'a'), 'alice');
      let y: Composition | undefined;
      held.afterFirstLook = async () => {
        y = await other.compositions.create(input('y', 'a'), 'alice');
      };
      await one.compositions.replace('x', input('x', 'b'), 'alice');
      t.same(Object.keys(await published('alice')).sort(), [x.id, y?.id].sort());
    });

    t.test('a user config written meanwhile is kept', async (t) => {
      const { held, one, other, published } = await setDuel(t, optionsOf);
      const value = Buffer.from('{"virtual_hosts":{"own":{"backends":{}}}}');
      held.beforePublication = async () => {
        await other.records.swap([{ space: 'user-configs', key: 'alice', expected: undefined, value }]);
      };
      const { id } = await one.compositions.create(input('x', 'a'), 'alice');
      t.same(Object.keys(await published('alice')), ['own', id]);
    });

    t.test('nothing is written when there is nothing to do', async (t) => {
      const { held, one, other } = await setDuel(t, optionsOf);
      await one.compositions.create(input('x', 'a'), 'alice');
      t.equal(held.publications, 1);
      const config = await other.records.read({ space: 'user-configs', key: 'alice' });
      await one.compositions.replace('x', { ...input('x', 'a'), description: 'other words' }, 'alice');
      t.equal(held.publications, 1);
      t.same(await other.records.read({ space: 'user-configs', key: 'alice' }), config);
    });
  });
}

t.test('in a config that is full, compositions above the share of their maker make room for the others', async (t) => {
  const { held, one, other, published } = await setDuel(t, stores['embedded']!);
  const tools = Array.from({ length: 1_000 }, (_, n) => `${n}`.padStart(100, 'x'));
  const large = { name: 'large', servers: [{ name: 's', tools }], subjects: ['alice'], isForced: true };
  const { id: largeId } = await one.compositions.create(large, 'mallory');
  const { records } = other;
  // Another control plane has a smaller share for each maker.
  const makerConfigBytesMax = 50_000;
  const options = { kind: 'embedded', path: 'unused' } as const;
  const strict = await setStage(t, options, { records: held, quotas: { makerConfigBytesMax } });
  const { id } = await strict.compositions.create(input('x', 'a'), 'carol');
  t.same(Object.keys(await published('alice')).sort(), [largeId, id].sort(), 'as long as there is room, all are there');

  const key = { space: 'user-configs', key: 'alice' } as const;
  const text = '{"virtual_hosts":{"own":{"backends":{}}}';
  const value = Buffer.from(`${text.padEnd(limits.userConfigBytesMax - 2 * makerConfigBytesMax)}}`);
  t.ok(await records.swap([{ ...key, expected: await records.read(key), value }]));
  const { id: next } = await strict.compositions.create(input('y', 'b'), 'carol');
  t.same(Object.keys(await published('alice')).sort(), ['own', id, next].sort());
  const told = strict.lines.map((line) => JSON.parse(line) as { readonly level: number; readonly reason?: string });
  t.match(
    told.filter(({ level }) => level === 50),
    [{ reason: new RegExp(`; published without ${largeId}, which exceeds the share of its maker$`) }],
  );
  t.equal(told.filter(({ level }) => level === 50).length, 1);
});
