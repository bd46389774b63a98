// Which look-ups are sent, and when: how many one subject may have under way, and how many wait. A look-up begins inside the
// call that makes room for it, so these tests wait for no timers.
import t, { type Test } from 'tap';
import {
  type NameOutcome,
  type NamesOptions,
  NAME_FAULT_KEPT_MS,
  HOST_NAMES_KEPT_MAX,
} from '../../../src/http-client/names/names.js';
import { limits, perSubject } from '../../../src/shared/limits.js';
import { roundsOf, start, type Scene } from './names-scene.js';

interface Turns extends Scene {
  /** Looks up names whose responses are held back; returns those that are being queried. */
  readonly ask: (subject: string, ...names: readonly string[]) => readonly string[];
  /** Lets the name server answer for one name, and waits until that answer has arrived. */
  readonly answer: (name: string) => Promise<void>;
}

async function startTurns(t: Test, options: NamesOptions): Promise<Turns> {
  const scene = await start(t, {}, options);
  const { nameServer, names } = scene;
  nameServer.isHeld = () => true;
  const answered = new Map<string, () => void>();
  const ask = (subject: string, ...wanted: readonly string[]): readonly string[] => {
    for (const name of wanted) names.lookUp(name, subject, () => answered.get(name)?.());
    return wanted.filter((name) => names.isQuerying(name));
  };
  const answer = async (name: string): Promise<void> => {
    const done = new Promise<void>((resolve) => answered.set(name, resolve));
    while (nameServer.countOf(name) < 2) await new Promise(setImmediate);
    nameServer.release((query) => query.name === name);
    await done;
    // The freed room is passed on only after the waiting callers have been answered.
    await new Promise(setImmediate);
  };
  return { ...scene, ask, answer };
}

t.test('the number of look-ups under way is bounded, in all and for each subject', async (t) => {
  const inAll = await startTurns(t, { lookUpsMax: 2, lookUpsPerSubjectMax: 2 });
  t.same(inAll.ask('alice', 'a1.test'), ['a1.test']);
  t.same(inAll.ask('bob', 'b1.test', 'b2.test'), ['b1.test']);
  const ofEach = await startTurns(t, { lookUpsMax: 9, lookUpsPerSubjectMax: 2 });
  t.same(ofEach.ask('alice', 'a1.test', 'a2.test', 'a3.test'), ['a1.test', 'a2.test']);
});

t.test('a subject that has used its share gets no more when another subject gives room back', async (t) => {
  const { ask, answer, names } = await startTurns(t, { lookUpsMax: 3, lookUpsPerSubjectMax: 1 });
  t.same(ask('mallory', 'm1.test', 'm2.test'), ['m1.test']);
  t.same(ask('alice', 'a1.test'), ['a1.test']);
  await answer('a1.test');
  t.notOk(names.isQuerying('m2.test'));
});

t.test('when room comes back, a waiting subject may begin look-ups up to its share', async (t) => {
  const { ask, answer, names } = await startTurns(t, { lookUpsMax: 9, lookUpsPerSubjectMax: 1 });
  t.same(ask('alice', 'a1.test', 'a2.test', 'a3.test'), ['a1.test']);
  await answer('a1.test');
  t.ok(names.isQuerying('a2.test'));
  t.notOk(names.isQuerying('a3.test'));
});

t.test('a name takes one place in the queue of its subject, however often it is wanted', async (t) => {
  const { ask, answer, names, pass } = await startTurns(t, { lookUpsMax: 9, lookUpsPerSubjectMax: 1 });
  ask('alice', 'a1.test');
  const outcomes: NameOutcome[] = [];
  for (let count = 0; count <= perSubject(limits.waitingMax); count++) {
    names.lookUp('a2.test', 'alice', (outcome) => outcomes.push(outcome));
  }
  await new Promise(setImmediate);
  t.same(outcomes, [], 'none is refused');
  ask('alice', 'a2.test');
  await answer('a1.test');
  t.ok(names.isQuerying('a2.test'));
  await answer('a2.test');
  t.equal(outcomes.length, perSubject(limits.waitingMax) + 1);

  pass(NAME_FAULT_KEPT_MS);
  ask('alice', 'a3.test', 'a2.test');
  t.notOk(names.isQuerying('a2.test'));
  await answer('a3.test');
  t.ok(names.isQuerying('a2.test'));
});

t.test('when too many names are known, the least recently used one that nobody waits for is forgotten', async (t) => {
  const scene = await start(t, {
    'first.test': { addresses: ['127.0.0.1'], ttl: 1 },
    'second.test': { addresses: ['127.0.0.2'], ttl: 1 },
  });
  const { names, nameServer } = scene;
  await scene.lookUp('first.test');
  await scene.lookUp('second.test');
  scene.pass(2_000);
  await scene.lookUp('first.test');
  nameServer.isSilent = true;
  names.lookUp('asked.test', 'mallory', () => {});
  for (let count = 0; count < HOST_NAMES_KEPT_MAX - 2; count++) names.lookUp(`n${count}.test`, `s${count}`, () => {});
  t.same(names.knownOutcome('first.test'), ['127.0.0.1'], 'it was used since');
  t.equal(names.refresh('second.test', 'alice'), undefined);
  t.ok(names.isQuerying('asked.test'));
  names.lookUp('one-more.test', 'mallory', () => {});
  t.equal(names.knownOutcome('first.test'), undefined);
  names.lookUp('two-more.test', 'mallory', () => {});
  t.ok(names.isQuerying('asked.test'), 'somebody waits for it');
});

t.test('a name in use is queried again once when it expires', async (t) => {
  const scene = await start(t, { 'a.test': { addresses: ['127.0.0.1'], ttl: 10 } });
  t.equal(scene.names.refresh('a.test', 'alice'), undefined);
  await scene.lookUp('a.test');
  t.same(scene.names.refresh('a.test', 'alice'), ['127.0.0.1']);
  t.notOk(scene.names.isQuerying('a.test'));
  scene.pass(10_000);
  scene.nameServer.isHeld = () => true;
  for (const subject of ['alice', 'bob']) t.same(scene.names.refresh('a.test', subject), ['127.0.0.1']);
  t.ok(scene.names.isQuerying('a.test'));
  while (scene.nameServer.countOf('a.test') < 4) await new Promise(setImmediate);
  t.equal(roundsOf(scene, 'a.test'), 2);
});
