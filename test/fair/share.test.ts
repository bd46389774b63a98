// Shares by subject and in total: each bound by itself, and thousands of steps compared with a naive model.
import t from 'tap';
import { Accounts, shareNames, type Account, type ShareTable } from '../../src/fair/share.js';
import { withReserve } from '../../src/fair/share.js';
import { Random } from '../support/random.js';

const ROOMY = { subjectMax: 1_000_000, totalMax: 1_000_000 };

function accountsOf(table: Partial<ShareTable>): Accounts {
  return new Accounts({
    sessions: ROOMY,
    sessionBytes: ROOMY,
    requests: ROOMY,
    requestBytes: ROOMY,
    answerBytes: ROOMY,
    listBytes: ROOMY,
    ...table,
  });
}

t.test('the bound without room is named, the subject’s own first, and nothing is taken', async (t) => {
  const accounts = accountsOf({ sessions: { subjectMax: 2, totalMax: 3 } });
  const [ada, bob] = [accounts.of('ada'), accounts.of('bob')];
  t.equal(ada.sessions.tryTake(2), undefined);
  t.equal(ada.sessions.tryTake(1), 'subjectMax');
  t.equal(bob.sessions.tryTake(2), 'totalMax');
  t.equal(bob.sessions.tryTake(1), undefined);
  t.equal(ada.sessions.tryTake(1), 'subjectMax', 'when both are full');
  t.equal(accounts.used('sessions'), 3);
  ada.sessions.give(1);
  t.equal(bob.sessions.tryTake(1), undefined, 'what one gives another may take');
  t.equal(ada.sessions.used, 1);
  t.equal(bob.sessions.used, 2);
});

t.test('an amount counts in its own share alone', async (t) => {
  for (const name of shareNames) {
    const accounts = accountsOf({});
    accounts.of('ada')[name].take(7);
    for (const other of shareNames) t.equal(accounts.used(other), other === name ? 7 : 0, `${other} after ${name}`);
  }
});

t.test('an account that held nothing would have room up to the lower of both bounds', async (t) => {
  for (const [subjectMax, totalMax, room] of [
    [2, 3, 2],
    [3, 2, 2],
  ] as const) {
    const { sessions } = accountsOf({ sessions: { subjectMax, totalMax } }).of('ada');
    sessions.take(1);
    t.equal(sessions.roomWhenEmpty, room);
  }
});

t.test('room can be limited to a fraction of each bound, which leaves the rest to others', async (t) => {
  const accounts = accountsOf({ sessionBytes: { subjectMax: 10, totalMax: 16 } });
  const [ada, bob] = [accounts.of('ada'), accounts.of('bob')];
  t.equal(ada.sessionBytes.hasRoomWithin(0.5, 5), true);
  t.equal(ada.sessionBytes.hasRoomWithin(0.5, 6), false, 'of its own');
  ada.sessionBytes.take(5);
  t.equal(bob.sessionBytes.hasRoomWithin(0.5, 3), true);
  t.equal(bob.sessionBytes.hasRoomWithin(0.5, 4), false, 'of all');
});

t.test('where nobody waits for room, who holds more than an even part leaves one to whoever comes next', async (t) => {
  const accounts = accountsOf({ listBytes: { subjectMax: 60, totalMax: 120, reserved: 15, keepsPart: true } });
  const [ada, bob, eve] = [accounts.of('ada'), accounts.of('bob'), accounts.of('eve')];
  t.equal(ada.listBytes.tryTake(60), undefined, 'alone, up to its own bound');
  t.equal(bob.listBytes.tryTake(45), undefined, 'less than an even part, up to the reserve');
  t.equal(bob.listBytes.tryTake(1), 'totalMax');
  ada.listBytes.give(25);
  t.equal(bob.listBytes.tryTake(1), 'totalMax', 'of three even parts, two are taken');
  t.equal(ada.listBytes.tryTake(5), undefined, 'but this is less than one');
  t.equal(eve.listBytes.tryTake(20), undefined, 'and who comes next finds room');
  ada.listBytes.give(40);
  t.equal(bob.listBytes.tryTake(15), undefined, 'as does who holds much, while others leave enough');
  const whole = accountsOf({ listBytes: { subjectMax: 100, totalMax: 100, keepsPart: true } });
  whole.of('ada').listBytes.take(1);
  t.equal(whole.of('bob').listBytes.tryTake(99), undefined, 'nothing where one subject may have the whole');
});

t.test('the reserve is for subjects that hold little', async (t) => {
  const accounts = accountsOf({ requests: { subjectMax: 60, totalMax: 100, reserved: 20 } });
  const [ada, bob, eve] = [accounts.of('ada'), accounts.of('bob'), accounts.of('eve')];
  t.equal(ada.requests.tryTake(60), undefined);
  t.equal(bob.requests.tryTake(20), undefined, 'up to what is kept whoever holds how much');
  t.equal(ada.requests.tryTake(1), 'subjectMax');
  t.equal(bob.requests.tryTake(1), 'totalMax', 'and no further for who holds much');
  t.equal(eve.requests.tryTake(3), 'totalMax', 'nor for more than a quarter of an even part');
  t.equal(eve.requests.tryTake(2), undefined, 'but so much');
  t.equal(eve.requests.tryTake(1), 'totalMax', 'all that a subject holds counts');
  t.equal(accounts.of('uma').requests.tryTake(1), undefined, 'the next one finds room as well');
  for (let round = 0; round < 5; round += 1) {
    accounts.of('uma').requests.give(1);
    t.equal(accounts.of('uma').requests.tryTake(1), undefined, 'who has given all back is one of them no more');
  }
  bob.requests.give(7);
  t.equal(bob.requests.tryTake(1), undefined, 'what is given back is anybody’s again');
});

t.test('however many subjects take as much as they can, one more finds room', async (t) => {
  const accounts = accountsOf({ requests: withReserve({ subjectMax: 2_048, totalMax: 16_384 }) });
  for (let subject = 0; subject < 200; subject += 1) {
    const { requests } = accounts.of(`attacker ${subject}`);
    while (requests.tryTake(1) === undefined);
    t.equal(accounts.of('ada').requests.boundExceededBy(1), undefined, `beside ${subject + 1} of them`);
  }
  t.equal(accounts.of('attacker 0').requests.boundExceededBy(1), 'subjectMax');
});

t.test('where many subjects have one thing each, the next one has its first as long as there is any', async (t) => {
  const accounts = accountsOf({ requests: withReserve({ subjectMax: 25, totalMax: 100 }) });
  for (let subject = 0; subject < 100; subject += 1) t.equal(accounts.of(`s${subject}`).requests.tryTake(1), undefined);
  t.equal(accounts.of('late').requests.tryTake(1), 'totalMax');
});

t.test(
  'an eighth is reserved, unless one subject may have the whole, or that is too little to be of use',
  async (t) => {
    t.match(withReserve({ subjectMax: 50, totalMax: 100 }), { reserved: 12 });
    t.match(withReserve({ subjectMax: 99, totalMax: 100 }), { reserved: 12 });
    t.match(withReserve({ subjectMax: 100, totalMax: 100 }), { reserved: 0 });
    t.match(withReserve({ subjectMax: 1, totalMax: 63 }), { reserved: 0 });
    t.match(withReserve({ subjectMax: Infinity, totalMax: Infinity }), { reserved: 0 });
    t.match(withReserve({ subjectMax: 8, totalMax: Infinity }), { reserved: 0 });
  },
);

t.test('shares are independent of each other', async (t) => {
  const accounts = accountsOf({ requests: { subjectMax: 1, totalMax: 1 } });
  const ada = accounts.of('ada');
  t.equal(ada.requests.tryTake(1), undefined);
  t.equal(ada.sessions.tryTake(5), undefined);
  t.equal(ada.requests.tryTake(1), 'subjectMax');
});

t.test('an amount taken beyond the bounds counts against later ones', async (t) => {
  const accounts = accountsOf({ sessionBytes: { subjectMax: 10, totalMax: 20 } });
  const ada = accounts.of('ada');
  ada.sessionBytes.take(30);
  t.equal(ada.sessionBytes.tryTake(1), 'subjectMax');
  t.equal(accounts.of('bob').sessionBytes.tryTake(1), 'totalMax');
  ada.sessionBytes.give(25);
  t.equal(ada.sessionBytes.tryTake(5), undefined);
});

t.test('a subject has one account while it holds something, and no entry when it does not', async (t) => {
  const accounts = accountsOf({});
  t.equal(accounts.of('nobody').sessions.used, 0);
  t.equal(accounts.size, 0, 'asking leaves nothing behind');
  const ada = accounts.of('ada');
  ada.sessions.take(1);
  ada.requests.take(1);
  t.equal(accounts.of('ada'), ada);
  ada.sessions.give(1);
  t.equal(accounts.of('ada'), ada, 'a request is in flight still');
  ada.requests.give(1);
  t.equal(accounts.size, 0);
  accounts.of('ada').sessions.take(1);
  t.throws(() => ada.sessions.take(1), 'an account that was let go is not used beside its successor');
});

t.test('giving back an amount that was not taken is a broken invariant', async (t) => {
  const ada = accountsOf({}).of('ada');
  ada.sessions.take(1);
  t.throws(() => ada.sessions.give(2), { name: 'AssertionError' });
});

t.test('20,000 random steps agree with a naive model', async (t) => {
  const random = new Random(7);
  const bounds = { subjectMax: 40, totalMax: 100 };
  const accounts = accountsOf({ sessions: bounds, requests: bounds });
  const names = ['sessions', 'requests'] as const;
  /** The amounts that are held, one entry each, with the account that they were taken from. */
  let held: { name: (typeof names)[number]; subject: string; amount: number; account: Account }[] = [];
  const sum = (name: string, subject?: string): number =>
    held.reduce(
      (all, one) => all + (one.name === name && one.subject === (subject ?? one.subject) ? one.amount : 0),
      0,
    );
  const wrong: string[] = [];
  for (let step = 0; step < 20_000; step += 1) {
    if (held.length > 0 && random.chance(0.48)) {
      const one = random.pick(held);
      held = held.filter((other) => other !== one);
      one.account[one.name].give(one.amount);
    } else {
      const name = random.pick(names);
      const subject = random.pick(['a', 'b', 'c', 'd', 'e', '__proto__']);
      const amount = 1 + random.below(15);
      const expected =
        sum(name, subject) + amount > bounds.subjectMax
          ? 'subjectMax'
          : sum(name) + amount > bounds.totalMax
            ? 'totalMax'
            : undefined;
      const account = accounts.of(subject);
      const actual = account[name].tryTake(amount);
      if (actual !== expected) wrong.push(`${step}: ${actual} instead of ${expected}`);
      if (actual === undefined) held.push({ name, subject, amount, account });
    }
    if (accounts.size !== new Set(held.map(({ subject }) => subject)).size) wrong.push(`${step}: entries`);
    for (const name of names) if (accounts.used(name) !== sum(name)) wrong.push(`${step}: total of ${name}`);
  }
  t.same(wrong.slice(0, 5), []);
});
