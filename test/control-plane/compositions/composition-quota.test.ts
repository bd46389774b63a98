import t from 'tap';
import { CompositionDirectory } from '../../../src/control-plane/compositions/composition-directory.js';
import { findQuotaObstacle, refuseAboveQuota } from '../../../src/control-plane/compositions/composition-quota.js';
import { COMPOSITIONS_PREFIX, type StoredComposition } from '../../../src/control-plane/compositions/composition.js';
import { limits } from '../../../src/shared/limits.js';
import { composerQuotas } from '../../support/composer-quotas.js';

const shares = composerQuotas();

let count = 0;

function composition(settings: Partial<StoredComposition> = {}): StoredComposition {
  const id = String(count++).padStart(32, '0');
  return {
    id,
    name: `c${id}`,
    description: '',
    servers: [{ id: 's1', name: 'Files', tools: ['read'] }],
    subjects: ['alice'],
    maker: 'mallory',
    hostBytes: 1_000,
    createdAt: 'created',
    updatedAt: 'updated',
    ...settings,
  };
}

function directoryOf(compositions: readonly StoredComposition[]): CompositionDirectory {
  const directory = new CompositionDirectory();
  for (const one of compositions) directory.put(COMPOSITIONS_PREFIX + one.id, Buffer.from(JSON.stringify(one)));
  return directory;
}

t.test('the number of compositions is bounded for each maker separately', async (t) => {
  const made = Array.from({ length: shares.makerCompositionsMax }, () => composition());
  const directory = directoryOf(made);
  t.throws(() => refuseAboveQuota(composition(), directory, shares), {
    code: 'compositions-full',
    message: /delete one first/,
  });
  t.doesNotThrow(() => refuseAboveQuota(composition({ maker: 'admin' }), directory, shares));
  t.doesNotThrow(() => refuseAboveQuota(made[0]!, directory, shares), 'one that is there may be changed');
});

t.test('the bytes that one maker stores, and writes into user configs, are bounded', async (t) => {
  const large = 'x'.repeat(limits.compositionBytesMax - 1_000);
  const stored = Array.from({ length: shares.makerComposedBytesMax / limits.compositionBytesMax }, () =>
    composition({ description: large }),
  );
  const message = new RegExp(`at most ${shares.makerComposedBytesMax} are allowed$`);
  t.throws(() => refuseAboveQuota(composition({ description: large }), directoryOf(stored), shares), { message });
  t.doesNotThrow(() => refuseAboveQuota(composition(), directoryOf(stored.slice(1)), shares));

  const subjects = Array.from({ length: limits.compositionSubjectsMax }, (_, n) => `subject ${n}`);
  const one = { subjects, hostBytes: shares.makerConfigBytesMax };
  const fitting = Math.floor(shares.makerPublishedBytesMax / (subjects.length * one.hostBytes));
  const published = Array.from({ length: fitting }, () => composition(one));
  t.throws(() => refuseAboveQuota(composition(one), directoryOf(published), shares), {
    message: /fewer subjects or tools/,
  });
  t.doesNotThrow(() => refuseAboveQuota(composition(one), directoryOf(published.slice(1)), shares));
});

t.test('one maker fills a part of a user config, and leaves the rest to others', async (t) => {
  const half = { hostBytes: shares.makerConfigBytesMax / 2 };
  const [first, second] = [composition(half), composition(half)];
  const directory = directoryOf([first, second]);
  t.match(findQuotaObstacle('alice', composition({ hostBytes: 1 }), directory, shares), /for one maker/);
  t.equal(findQuotaObstacle('alice', composition({ hostBytes: 1, maker: 'admin' }), directory, shares), undefined);
  t.equal(findQuotaObstacle('bob', composition(half), directory, shares), undefined, 'another subject has room');
  t.equal(
    findQuotaObstacle('alice', { ...first, hostBytes: 7 }, directory, shares),
    undefined,
    'one that becomes smaller',
  );
});

t.test('a composition is found by its current servers, and no longer by its former ones', async (t) => {
  const one = composition({ subjects: ['alice', 'bob'] });
  const directory = directoryOf([one]);
  const changed = {
    ...one,
    subjects: ['carol'],
    servers: [{ id: 's2', name: 'Mail', tools: ['send'] }],
    maker: 'admin',
  };
  t.same([...directory.ofServer('FILES')], [one]);
  t.same([...directory.ofServer('s1')], [one]);
  directory.put(COMPOSITIONS_PREFIX + one.id, Buffer.from(JSON.stringify(changed)));
  t.same([...directory.subjects], ['carol']);
  t.same(directory.forSubject('alice'), []);
  t.same(directory.forSubject('carol'), [changed]);
  t.same([...directory.ofServer('files')], []);
  t.same([...directory.ofServer('mail')], [changed]);
  t.equal(directory.usageOf('mallory').compositionCount, 0);
  t.match(directory.usageOf('admin'), { compositionCount: 1, publishedBytes: 1_000 });
  directory.put(COMPOSITIONS_PREFIX + one.id, undefined);
  t.same([...directory.subjects], []);
  t.equal(directory.size, 0);
  t.same(directory.sorted, []);
});
