// A request for list memory that finds no room waits for memory that is being returned, in turns by subject, while that can help.
import t from 'tap';
import { ListMemory } from '../../src/lists/list-memory.js';
import { withReserve } from '../../src/fair/share.js';
import { createListAccounts } from '../support/shares.js';

const [ADA, BOB, CLEO] = ['ada', 'bob', 'cleo'] as const;
const BOUNDS = { subjectMax: 80, totalMax: 100 };

function start(bounds = BOUNDS) {
  const accounts = createListAccounts(bounds);
  const memory = new ListMemory(accounts);
  const told: string[] = [];
  const take = (subject: string, bytes: number): (() => void) =>
    memory.takeOrWait(subject, bytes, (bound) => told.push(`${subject} ${bound ?? bytes}`));
  return { accounts, memory, told, take };
}

t.test('when no memory is being returned, a request is answered at once: room or none', (t) => {
  const { accounts, told, take } = start();
  take(ADA, 80);
  take(ADA, 1);
  take(BOB, 21);
  take(BOB, 20);
  t.same(told, ['ada 80', 'ada subjectMax', 'bob totalMax', 'bob 20']);
  t.equal(accounts.used('listBytes'), 100);
  t.end();
});

t.test('what is reserved for subjects that hold little is not waited for by one that holds much', (t) => {
  const { memory, told, take } = start(withReserve({ subjectMax: 80, totalMax: 100 }));
  take(ADA, 80);
  take(BOB, 9);
  t.same(told.splice(0), ['ada 80', 'bob totalMax'], 'at once, as nothing returns');
  const give = memory.noteReturning(ADA, 5);
  take(BOB, 10);
  take(BOB, 1);
  t.same(told.splice(0), ['bob 1']);
  give();
  t.same(told, ['bob 10']);
  t.end();
});

t.test('memory that is being returned is waited for, and taken when it arrives', (t) => {
  const { accounts, memory, told, take } = start();
  take(ADA, 80);
  const give = memory.noteReturning(ADA, 80);
  take(ADA, 50);
  take(BOB, 40);
  t.same(told, ['ada 80'], 'both wait');
  t.equal(accounts.used('listBytes'), 80, 'and hold nothing yet');
  give();
  t.same(told, ['ada 80', 'ada 50', 'bob 40']);
  t.equal(accounts.used('listBytes'), 90);
  t.end();
});

t.test('a request waits only if the returning memory is enough for it, and no longer than memory is returning', (t) => {
  const { memory, told, take } = start();
  take(ADA, 60);
  take(BOB, 40);
  const give = memory.noteReturning(ADA, 30);
  take(CLEO, 31);
  t.same(told.splice(0), ['ada 60', 'bob 40', 'cleo totalMax']);
  take(CLEO, 20);
  take(CLEO, 11);
  take(CLEO, 10);
  t.same(told, [], 'these wait');
  give();
  t.same(told, ['cleo 20', 'cleo totalMax', 'cleo 10'], 'and the second is told once nothing returns any more');
  t.end();
});

t.test('a subject that has used its own share does not wait for the memory of others', (t) => {
  const { memory, told, take } = start();
  take(ADA, 80);
  take(BOB, 20);
  memory.noteReturning(BOB, 20);
  take(ADA, 1);
  t.same(told.slice(2), ['ada subjectMax']);
  t.end();
});

t.test('a waiting request is told when there will be no room after all', (t) => {
  const { memory, told, take } = start();
  take(ADA, 80);
  const give = memory.noteReturning(ADA, 80);
  take(BOB, 80);
  memory.take(CLEO, 50);
  give();
  t.same(told.slice(1), ['bob totalMax']);
  t.end();
});

t.test('subjects take turns, one request each', (t) => {
  const { memory, told, take } = start();
  take(CLEO, 60);
  take(BOB, 40);
  const [first, second] = [memory.noteReturning(CLEO, 30), memory.noteReturning(CLEO, 30)];
  for (let n = 1; n <= 4; n += 1) take(ADA, 10);
  take(BOB, 11);
  first();
  t.same(told.slice(2), ['ada 10', 'bob 11'], 'who asked often does not keep the other waiting');
  second();
  t.same(told.slice(4), ['ada 10', 'ada 10', 'ada 10']);
  t.end();
});

t.test('a request that does not fit yet does not hold up smaller ones', (t) => {
  const { memory, told, take } = start();
  take(CLEO, 70);
  take(BOB, 30);
  const [first, second] = [memory.noteReturning(CLEO, 20), memory.noteReturning(CLEO, 50)];
  take(ADA, 60);
  take(BOB, 10);
  first();
  t.same(told.slice(2), ['bob 10']);
  second();
  t.same(told.slice(3), ['ada 60']);
  t.end();
});

t.test('memory that is given back at once also serves those who wait', (t) => {
  const { memory, told, take } = start();
  take(ADA, 60);
  take(BOB, 40);
  memory.noteReturning(ADA, 30);
  take(CLEO, 30);
  memory.give(BOB, 40);
  t.same(told.slice(2), ['cleo 30']);
  t.end();
});

t.test('a request that stops waiting takes nothing', (t) => {
  const { accounts, memory, told, take } = start();
  take(ADA, 80);
  const give = memory.noteReturning(ADA, 80);
  const leave = take(BOB, 80);
  take(CLEO, 30);
  leave();
  leave();
  give();
  t.same(told.slice(1), ['cleo 30']);
  leave();
  t.equal(accounts.used('listBytes'), 30);
  memory.give(CLEO, 30);
  t.equal(accounts.size, 0);
  t.end();
});
