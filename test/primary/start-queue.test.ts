import t from 'tap';
import { StartQueue } from '../../src/primary/start-queue.js';

/** A queue whose starts only record that they began. */
function createTurns(startsAtOnceMax: number, failuresMax: number) {
  const begun: string[] = [];
  const givenUp: string[] = [];
  const turns = new StartQueue({ startsAtOnceMax, failuresMax }, (reason) => givenUp.push(reason));
  const ask = (name: string, isWanted = true): void =>
    turns.enqueue(() => {
      if (isWanted) begun.push(name);
      return isWanted;
    });
  return { turns, begun, givenUp, ask };
}

t.test('a limited number start at once, the others in the order in which they asked', (t) => {
  const { turns, begun, ask } = createTurns(2, 100);
  for (const name of ['a', 'b', 'c', 'd']) ask(name);
  t.same(begun, ['a', 'b']);
  turns.onStartEnded({ kind: 'listening' });
  t.same(begun, ['a', 'b', 'c']);
  turns.onStartEnded({ kind: 'failed', reason: 'wax' });
  t.same(begun, ['a', 'b', 'c', 'd']);
  turns.onStartEnded({ kind: 'stopped' });
  turns.onStartEnded({ kind: 'stopped' });
  for (const name of ['e', 'f', 'g']) ask(name);
  t.same(begun.slice(4), ['e', 'f'], 'every turn that ended is free again, and no more than these');
  t.end();
});

t.test('a slot that no longer wants its turn passes it on', (t) => {
  const { begun, ask, turns } = createTurns(1, 100);
  ask('a');
  ask('b', false);
  ask('c');
  turns.onStartEnded({ kind: 'listening' });
  t.same(begun, ['a', 'c']);
  t.end();
});

t.test('starting is given up once, when the tries are used up, with the last reason', (t) => {
  const { turns, begun, givenUp, ask } = createTurns(1, 2);
  for (const name of ['a', 'b', 'c']) ask(name);
  turns.onStartEnded({ kind: 'failed', reason: 'wax' });
  t.same(givenUp, []);
  turns.onStartEnded({ kind: 'failed', reason: 'rust' });
  t.same(givenUp, ['rust']);
  t.same(begun, ['a', 'b'], 'the third does not begin');
  t.end();
});

t.test('a start in progress is awaited before starting is given up', (t) => {
  const { turns, begun, givenUp, ask } = createTurns(2, 2);
  ask('slow');
  for (const name of ['b', 'c', 'd']) ask(name);
  turns.onStartEnded({ kind: 'failed', reason: 'wax' });
  turns.onStartEnded({ kind: 'failed', reason: 'wax' });
  t.same(begun, ['slow', 'b', 'c'], 'the tries are used up');
  t.same(givenUp, []);
  turns.onStartEnded({ kind: 'listening' });
  t.same(givenUp, []);
  t.same(begun, ['slow', 'b', 'c', 'd'], 'one that listens lets the others be tried on');
  t.end();
});

t.test('a start stopped when the tries are used up gives up nothing: the program is ending anyway', (t) => {
  const { turns, givenUp, ask } = createTurns(2, 1);
  ask('a');
  ask('b');
  turns.onStartEnded({ kind: 'failed', reason: 'wax' });
  turns.onStartEnded({ kind: 'stopped' });
  t.same(givenUp, []);
  t.end();
});

t.test('nothing is given up once a worker has listened, however many fail after it', (t) => {
  const { turns, begun, givenUp, ask } = createTurns(1, 2);
  ask('first');
  turns.onStartEnded({ kind: 'listening' });
  for (let n = 0; n < 10; n++) {
    ask(`again ${n}`);
    turns.onStartEnded({ kind: 'failed', reason: 'wax' });
  }
  t.equal(begun.length, 11);
  t.same(givenUp, []);
  t.end();
});

t.test('a stopped start is no failure: no try is used up', (t) => {
  const { turns, begun, givenUp, ask } = createTurns(1, 2);
  for (const name of ['a', 'b', 'c', 'd']) ask(name);
  turns.onStartEnded({ kind: 'stopped' });
  turns.onStartEnded({ kind: 'stopped' });
  t.same(begun, ['a', 'b', 'c']);
  turns.onStartEnded({ kind: 'failed', reason: 'wax' });
  t.same([begun, givenUp], [['a', 'b', 'c', 'd'], []]);
  t.end();
});
