// How long a silent name server is waited for, how long stale addresses are served meanwhile, and what late responses do, on clocks that
// the test moves.
import { mock } from 'node:test';
import t from 'tap';
import {
  type NameOutcome,
  NAME_LOOK_UP_MS_MAX,
  NAME_STALE_MS_MAX,
  NAME_STALE_AFTER_MS,
} from '../../../src/http-client/names/names.js';
import { limits, perSubject } from '../../../src/shared/limits.js';
import { startNameServer } from '../../support/name-server.js';
import { start } from './names-scene.js';
import { OTHER_FAMILY_WAIT_MS } from '../../../src/http-client/names/name-query.js';

t.before(() => mock.timers.enable({ apis: ['setTimeout'] }));
t.teardown(() => mock.timers.reset());

/** Waits by turns of the event loop, since the mocked timers do not advance by themselves. */
async function turnsUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}

t.test('a name that was answered in time does not count as silent afterwards', async (t) => {
  const { names, lookUp, pass } = await start(t, { 'a.test': { addresses: ['127.0.0.1'], ttl: 1 } });
  await lookUp('a.test');
  mock.timers.tick(NAME_STALE_AFTER_MS);
  pass(60_000);
  t.equal(names.knownOutcome('a.test'), undefined, 'it is asked for again');
});

t.test('stale addresses are served during the grace period, and not after it', async (t) => {
  const { names, nameServer, lookUp, pass } = await start(t, { 'a.test': { addresses: ['127.0.0.1'], ttl: 1 } });
  await lookUp('a.test');
  nameServer.isHeld = () => true;
  const outcomes: NameOutcome[] = [];
  pass(1_000 + NAME_STALE_MS_MAX - 1);
  names.lookUp('a.test', 'alice', (outcome) => outcomes.push(outcome));
  mock.timers.tick(NAME_STALE_AFTER_MS - 1);
  t.same(outcomes, []);
  mock.timers.tick(1);
  t.same(outcomes, [['127.0.0.1']]);

  const late = await start(t, { 'a.test': { addresses: ['127.0.0.1'], ttl: 1 } });
  await late.lookUp('a.test');
  late.nameServer.isHeld = () => true;
  late.pass(1_000 + NAME_STALE_MS_MAX);
  late.names.lookUp('a.test', 'alice', (outcome) => outcomes.push(outcome));
  mock.timers.tick(NAME_STALE_AFTER_MS);
  t.equal(outcomes.length, 1, 'the grace is over');
});

t.test('a silent name server delays no other name, not even one of the same subject', async (t) => {
  const scene = await start(t, { 'silent.test': 'silent', 'a.test': { addresses: ['127.0.0.1'] } });
  const outcomes: NameOutcome[] = [];
  scene.names.lookUp('silent.test', 'alice', (outcome) => outcomes.push(outcome));
  t.same(await scene.lookUp('a.test'), ['127.0.0.1']);
  mock.timers.tick(NAME_LOOK_UP_MS_MAX - 1);
  t.same(outcomes, [], 'it is still silent');
  mock.timers.tick(1);
  t.same(outcomes, ['not-answered']);
});

t.test('while a name server is silent, stale addresses stay, and nobody waits for it any more', async (t) => {
  const { names, nameServer, lookUp, pass } = await start(t, { 'a.test': { addresses: ['127.0.0.1'], ttl: 1 } });
  await lookUp('a.test');
  pass(60_000);
  nameServer.isHeld = () => true;
  const outcomes: NameOutcome[] = [];
  names.lookUp('a.test', 'alice', (outcome) => outcomes.push(outcome));
  mock.timers.tick(NAME_LOOK_UP_MS_MAX);
  t.same(outcomes, [['127.0.0.1']]);
  t.same(names.knownOutcome('a.test'), ['127.0.0.1']);
});

t.test('stale addresses are served while the look-up waits for its turn, and are replaced after it', async (t) => {
  const records = { 'a.test': { addresses: ['127.0.0.1'], ttl: 1 } };
  const { names, nameServer, lookUp, pass } = await start(t, records, { lookUpsMax: 1, lookUpsPerSubjectMax: 1 });
  await lookUp('a.test');
  pass(60_000);
  nameServer.records['a.test'] = { addresses: ['127.0.0.2'], ttl: 1 };
  nameServer.isHeld = ({ name }) => name === 'silent.test';
  names.lookUp('silent.test', 'mallory', () => undefined);
  await turnsUntil(() => nameServer.countOf('silent.test') === 2);
  const outcomes: NameOutcome[] = [];
  names.lookUp('a.test', 'alice', (outcome) => outcomes.push(outcome));
  mock.timers.tick(NAME_STALE_AFTER_MS - 1);
  t.same(outcomes, []);
  mock.timers.tick(1);
  t.same(outcomes, [['127.0.0.1']]);
  t.same(names.knownOutcome('a.test'), ['127.0.0.1'], 'nor does the next one wait');
  t.equal(nameServer.countOf('a.test'), 2, 'it has not had its turn');

  nameServer.release(() => true);
  await turnsUntil(() => String(names.knownOutcome('a.test')) === '127.0.0.2');
});

t.test('stale addresses are served to a subject whose queue of look-ups is full', async (t) => {
  const records = { 'a.test': { addresses: ['127.0.0.1'], ttl: 1 } };
  const { names, nameServer, lookUp, pass } = await start(t, records, { lookUpsMax: 1, lookUpsPerSubjectMax: 1 });
  await lookUp('a.test');
  pass(60_000);
  nameServer.isHeld = () => true;
  for (let index = 0; index <= perSubject(limits.waitingMax); index += 1) {
    names.lookUp(`n${index}.test`, 'mallory', () => undefined);
  }
  t.same(await lookUp('a.test', 'mallory'), ['127.0.0.1']);
  t.equal(await lookUp('b.test', 'mallory'), 'share-used');
});

t.test('when a name server fails after the grace period, stale addresses are not served', async (t) => {
  const { nameServer, lookUp, pass } = await start(t, { 'a.test': { addresses: ['127.0.0.1'], ttl: 1 } });
  await lookUp('a.test');
  nameServer.records['a.test'] = 'server-failure';
  pass(1_000 + NAME_STALE_MS_MAX);
  t.equal(await lookUp('a.test'), 'not-answered');
});

t.test('a late response to one look-up does not answer the next look-up of the same name', async (t) => {
  const { names, nameServer, lookUp, pass } = await start(t, {
    'a.test': { addresses: ['127.0.0.1', '::1'], ttl: 1 },
    'marker.test': { addresses: ['127.0.0.9'] },
  });
  nameServer.isHeld = ({ type, name }) => name === 'a.test' && type === 'AAAA';
  const outcomes: NameOutcome[] = [];
  names.lookUp('a.test', 'alice', (outcome) => outcomes.push(outcome));
  await turnsUntil(() => nameServer.countOf('a.test') === 2);
  // This response comes after the IPv4 response above, which was sent first.
  await lookUp('marker.test');
  mock.timers.tick(OTHER_FAMILY_WAIT_MS);
  t.same(outcomes, [['127.0.0.1']]);

  pass(60_000);
  nameServer.isHeld = ({ name }) => name === 'a.test';
  names.lookUp('a.test', 'alice', (outcome) => outcomes.push(outcome));
  await turnsUntil(() => nameServer.countOf('a.test') >= 4);
  nameServer.release((_query, index) => index === 0);
  await lookUp('marker2.test');
  t.equal(outcomes.length, 1, 'it is the address of before');
  t.ok(names.isQuerying('a.test'));
});

t.test('a change of the configured name servers takes effect', async (t) => {
  const other = await startNameServer({ 'a.test': { addresses: ['127.0.0.2'], ttl: 1 } });
  t.teardown(() => other.close());
  const first = await startNameServer({ 'a.test': { addresses: ['127.0.0.1'], ttl: 1 } });
  t.teardown(() => first.close());
  // resolv.conf cannot give a port, so the test changes the list of servers instead of the file.
  const nameServers = [first.address];
  const { lookUp, pass } = await start(t, {}, { nameServers });
  t.same(await lookUp('a.test'), ['127.0.0.1']);
  nameServers[0] = other.address;
  pass(60_000);
  t.same(await lookUp('a.test'), ['127.0.0.2']);
});

t.test('closing answers every waiting look-up at once, as not answered', async (t) => {
  const { names, nameServer } = await start(t, { 'a.test': { addresses: ['127.0.0.1'] } });
  nameServer.isHeld = () => true;
  const outcomes: NameOutcome[] = [];
  names.lookUp('a.test', 'alice', (outcome) => outcomes.push(outcome));
  await turnsUntil(() => nameServer.countOf('a.test') === 2);
  names.close();
  nameServer.release(() => true);
  await turnsUntil(() => outcomes.length > 0);
  t.same(outcomes, ['not-answered']);
});
