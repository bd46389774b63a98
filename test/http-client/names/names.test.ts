import t from 'tap';
import { limits, perSubject } from '../../../src/shared/limits.js';
import { until } from '../../support/until.js';
import { roundsOf, start } from './names-scene.js';
import { FILE_CHECK_MS } from '../../../src/http-client/names/watched-file.js';
import {
  NAME_FILE_BYTES_MAX,
  NAME_KEPT_MS_MIN,
  NAME_KEPT_MS_MAX,
  NAME_FAULT_KEPT_MS,
  NAME_STALE_MS_MAX,
} from '../../../src/http-client/names/names.js';

t.test('finds both kinds of address, IPv6 first', async (t) => {
  const scene = await start(t, {
    'both.test': { addresses: ['127.0.0.1', '127.0.0.2', '::1', '2001:db8::1:2'] },
    'four.test': { addresses: ['127.0.0.1'] },
    'six.test': { addresses: ['::1'] },
    'cut.test': { addresses: ['127.0.0.9'], isTruncated: true },
  });
  const both = (await scene.lookUp('both.test')) as readonly string[];
  t.same([...both].sort(), ['127.0.0.1', '127.0.0.2', '2001:db8::1:2', '::1']);
  t.same(
    both.map((address) => address.includes(':')),
    [true, false, true, false],
    'in turn',
  );
  t.same(await scene.lookUp('four.test'), ['127.0.0.1']);
  t.same(await scene.lookUp('six.test'), ['::1']);
  t.same(await scene.lookUp('cut.test'), ['127.0.0.9'], 'over TCP when the answer is cut off');
});

t.test('says why there is no address', async (t) => {
  const scene = await start(t, {
    'broken.test': 'server-failure',
    'none.test': { addresses: [] },
    'odd.test': 'garbage',
  });
  t.equal(await scene.lookUp('unknown.test'), 'not-found');
  t.equal(await scene.lookUp('none.test'), 'not-found');
  t.equal(await scene.lookUp('broken.test'), 'not-answered');
  t.equal(await scene.lookUp('odd.test'), 'not-answered');
});

t.test('concurrent look-ups of one name share one query, and none is sent while the records last', async (t) => {
  const scene = await start(t, { 'a.test': { addresses: ['127.0.0.1'], ttl: 30 } });
  const all = await Promise.all(Array.from({ length: 100 }, (_, index) => scene.lookUp('a.test', `s${index}`)));
  t.ok(all.every((outcome) => Array.isArray(outcome)));
  t.equal(roundsOf(scene, 'a.test'), 1);
  scene.pass(29_000);
  t.same(scene.names.knownOutcome('a.test'), ['127.0.0.1']);
  scene.pass(2_000);
  t.equal(scene.names.knownOutcome('a.test'), undefined);
  scene.nameServer.records['a.test'] = { addresses: ['127.0.0.2'], ttl: 100_000 };
  t.same(await scene.lookUp('a.test'), ['127.0.0.2']);
  t.equal(roundsOf(scene, 'a.test'), 2);
  scene.pass(NAME_KEPT_MS_MAX);
  t.equal(scene.names.knownOutcome('a.test'), undefined, 'no longer than that, whatever the records say');
});

t.test('records with a TTL of zero are kept for a moment', async (t) => {
  const scene = await start(t, { 'a.test': { addresses: ['127.0.0.1'], ttl: 0 } });
  await scene.lookUp('a.test');
  scene.pass(NAME_KEPT_MS_MIN - 1);
  await scene.lookUp('a.test');
  t.equal(roundsOf(scene, 'a.test'), 1);
});

t.test('a name that is not found is asked for again soon', async (t) => {
  const scene = await start(t, {});
  t.equal(await scene.lookUp('a.test'), 'not-found');
  scene.nameServer.records['a.test'] = { addresses: ['127.0.0.1'] };
  t.equal(await scene.lookUp('a.test'), 'not-found');
  t.equal(roundsOf(scene, 'a.test'), 1);
  scene.pass(NAME_FAULT_KEPT_MS);
  t.same(await scene.lookUp('a.test'), ['127.0.0.1']);
});

t.test('while the name server is silent the last addresses are served; a deleted name is not found', async (t) => {
  const scene = await start(t, { 'a.test': { addresses: ['127.0.0.1'], ttl: 1 } });
  await scene.lookUp('a.test');
  scene.nameServer.isSilent = true;
  scene.pass(60_000);
  t.same(await scene.lookUp('a.test'), ['127.0.0.1'], 'after a moment');
  t.same(scene.names.knownOutcome('a.test'), ['127.0.0.1'], 'and then at once');
  scene.pass(NAME_STALE_MS_MAX);
  t.equal(scene.names.knownOutcome('a.test'), undefined, 'but not for ever');

  const gone = await start(t, { 'b.test': { addresses: ['127.0.0.1'], ttl: 1 } });
  await gone.lookUp('b.test');
  delete gone.nameServer.records['b.test'];
  gone.pass(60_000);
  t.equal(await gone.lookUp('b.test'), 'not-found');
  gone.nameServer.records['b.test'] = { addresses: ['127.0.0.3'], ttl: 1 };
  gone.pass(60_000);
  t.same(await gone.lookUp('b.test'), ['127.0.0.3']);
  gone.nameServer.records['b.test'] = 'server-failure';
  gone.pass(60_000);
  t.same(await gone.lookUp('b.test'), ['127.0.0.3'], 'a failing name server is like a silent one');
  gone.nameServer.records['b.test'] = { addresses: ['127.0.0.4'], ttl: 1 };
  gone.pass(60_000);
  gone.names.refresh('b.test', 'alice');
  await until(() => String(gone.names.knownOutcome('b.test')) === '127.0.0.4', 'the new address');
});

t.test('a name server that never answers for one address family causes only a short delay', async (t) => {
  const scene = await start(t, {
    'four.test': { addresses: ['127.0.0.1'], silentAbout: 'AAAA' },
    'six.test': { addresses: ['::1'], silentAbout: 'A' },
  });
  t.same(await scene.lookUp('four.test'), ['127.0.0.1']);
  t.same(await scene.lookUp('six.test'), ['::1']);
});

t.test('a subject with many silent names delays no other subject', async (t) => {
  const silent = Array.from({ length: 20 }, (_, index) => `s${index}.silent.test`);
  const scene = await start(
    t,
    { ...Object.fromEntries(silent.map((name) => [name, 'silent' as const])), 'a.test': { addresses: ['127.0.0.1'] } },
    { lookUpsMax: 4, lookUpsPerSubjectMax: 2 },
  );
  const waits = silent.map((name) => scene.names.lookUp(name, 'mallory', () => undefined));
  // Mallory's look-up of this name waits in his queue; Alice's look-up of the same name is sent at once.
  waits.push(scene.names.lookUp('a.test', 'mallory', () => undefined));
  t.same(await scene.lookUp('a.test'), ['127.0.0.1']);
  const asked = new Set(scene.nameServer.queries.map(({ name }) => name));
  t.same([...asked].sort(), ['a.test', 's0.silent.test', 's1.silent.test']);
  for (const wait of waits) wait.unlink();
});

t.test('waiting look-ups are answered by the queries of others, and no name is queried twice', async (t) => {
  const list = Array.from({ length: 12 }, (_, index) => `n${index}.test`);
  const scene = await start(t, Object.fromEntries(list.map((name) => [name, { addresses: ['127.0.0.1'] }])), {
    lookUpsMax: 2,
    lookUpsPerSubjectMax: 1,
  });
  const outcomes = await Promise.all(
    ['alice', 'bob', 'carol'].flatMap((who) => list.map((name) => scene.lookUp(name, who))),
  );
  t.ok(outcomes.every((outcome) => String(outcome) === '127.0.0.1'));
  for (const name of list) t.equal(roundsOf(scene, name), 1, name);
});

t.test('look-ups beyond the bound on waiting ones are refused, and the refusal names the full share', async (t) => {
  const scene = await start(t, {}, { lookUpsMax: 1, lookUpsPerSubjectMax: 1 });
  scene.nameServer.isSilent = true;
  const refusals: string[] = [];
  for (let index = 0; index <= perSubject(limits.waitingMax) + 1; index += 1) {
    scene.names.lookUp(`n${index}.test`, 'mallory', (outcome) => refusals.push(String(outcome)));
  }
  await until(() => refusals.length > 0, 'the refusal');
  t.same(refusals, ['share-used']);
});

t.test('an abandoned look-up is never called back', async (t) => {
  const scene = await start(t, { 'a.test': { addresses: ['127.0.0.1'] } });
  const heard: string[] = [];
  const wait = scene.names.lookUp('a.test', 'alice', () => heard.push('abandoned'));
  wait.unlink();
  wait.unlink();
  await scene.lookUp('a.test');
  const known = scene.names.lookUp('a.test', 'alice', () => heard.push('known'));
  known.unlink();
  await new Promise(setImmediate);
  t.same(heard, []);
});

t.test('the hosts file comes before the name servers, and is read again when it changes', async (t) => {
  const scene = await start(t, { 'a.test': { addresses: ['127.0.0.1'] } });
  scene.writeHosts('127.0.0.7 a.test alias # b.test\n::7\tA.TEST\nnonsense a.test\nfe80::1%eth0 a.test\n');
  scene.pass(FILE_CHECK_MS);
  t.same(await scene.lookUp('a.test'), ['::7', '127.0.0.7']);
  t.same(scene.names.knownOutcome('a.test.'), ['::7', '127.0.0.7']);
  t.same(scene.names.knownOutcome('alias'), ['127.0.0.7']);
  t.equal(scene.names.knownOutcome('b.test'), undefined);
  scene.writeHosts('127.0.0.8 a.test\n');
  t.same(scene.names.knownOutcome('a.test'), ['::7', '127.0.0.7'], 'not looked at for each name');
  scene.pass(FILE_CHECK_MS);
  t.same(scene.names.knownOutcome('a.test'), ['127.0.0.8']);
  scene.writeHosts(`127.0.0.9 a.test\n#${'#'.repeat(NAME_FILE_BYTES_MAX)}`);
  scene.pass(FILE_CHECK_MS);
  t.same(await scene.lookUp('a.test'), ['127.0.0.1'], 'one that is too large counts as empty');
  t.equal(scene.nameServer.countOf('a.test'), 2);
});

t.test('localhost is this machine, whatever the name servers say', async (t) => {
  const scene = await start(t, { localhost: { addresses: ['192.0.2.1'] } });
  t.same(await scene.lookUp('localhost'), ['::1', '127.0.0.1']);
  t.same(await scene.lookUp('app.localhost'), ['::1', '127.0.0.1']);
  scene.writeHosts('127.0.0.1 localhost\n');
  scene.pass(FILE_CHECK_MS);
  t.same(await scene.lookUp('localhost'), ['127.0.0.1'], 'but for the hosts file');
  t.equal(scene.nameServer.queries.length, 0);
});

t.test('short names are completed as resolv.conf says', async (t) => {
  const scene = await start(t, {
    'web.one.example': { addresses: ['127.0.0.1'] },
    'db.two.example': { addresses: ['127.0.0.2'] },
    'a.b': { addresses: ['127.0.0.3'] },
    'a.b.one.example': { addresses: ['127.0.0.4'] },
    'x.y.z': { addresses: ['127.0.0.5'] },
    'down.one.example': 'server-failure',
    down: { addresses: ['127.0.0.6'] },
  });
  scene.writeSettings('search one.example two.example.\noptions timeout:1 ndots:2\n');
  scene.pass(FILE_CHECK_MS);
  t.same(await scene.lookUp('web'), ['127.0.0.1']);
  t.same(await scene.lookUp('db'), ['127.0.0.2']);
  t.same(await scene.lookUp('a.b'), ['127.0.0.4'], 'fewer dots than ndots: completed first');
  t.same(await scene.lookUp('a.b.'), ['127.0.0.3'], 'a dot at the end: as it is');
  t.same(await scene.lookUp('x.y.z'), ['127.0.0.5']);
  t.equal(scene.nameServer.countOf('x.y.z.one.example'), 0);
  t.same(await scene.lookUp('down'), ['127.0.0.6'], 'a domain that fails hides nothing');
  t.equal(await scene.lookUp('nobody'), 'not-found');
  t.equal(scene.nameServer.countOf('nobody.two.example'), 2);
});

t.test('the name servers of resolv.conf are used, also after it changes', async (t) => {
  const scene = await start(t, {}, { nameServers: undefined });
  scene.writeSettings('nameserver 127.0.0.1\n');
  const other = await start(t, { 'a.test': { addresses: ['127.0.0.1'] } });
  t.same(await other.lookUp('a.test'), ['127.0.0.1']);
  // resolv.conf cannot give a port, and nothing listens on port 53: only the failed query shows which server was asked.
  scene.pass(FILE_CHECK_MS);
  t.equal(await scene.lookUp('a.test'), 'not-answered');
  t.equal(scene.nameServer.queries.length, 0);
});
