// Whom an overloaded process refuses, and in which order: first subjects over a share of their own, then those that hold most, and of the
// others those for whom there is no room in this second.
import t from 'tap';
import { Overload, type OverloadSample, overloadBounds } from '../../src/fair/overload.js';
import { LoadShedder } from '../../src/fair/load-shedder.js';
import { Accounts, type Account } from '../../src/fair/share.js';
import { logInto } from '../support/log-lines.js';

const CALM: OverloadSample = { residentPercent: 10, heapPercent: 10, loopDelayMs: 0 };
const PRESSED: OverloadSample = { ...CALM, loopDelayMs: overloadBounds.loopDelayPressedMs };
const LATE: OverloadSample = { ...CALM, loopDelayMs: overloadBounds.loopDelayHardPressedMs };
const FULL: OverloadSample = { ...CALM, residentPercent: overloadBounds.residentPercentHardPressed };

const KIB = 1024;
const BOUNDS = { subjectMax: 100, totalMax: 1_000 };
const TABLE = {
  sessions: BOUNDS,
  sessionBytes: { subjectMax: 1_000 * KIB, totalMax: 10_000 * KIB },
  requests: BOUNDS,
  requestBytes: BOUNDS,
  answerBytes: BOUNDS,
  listBytes: BOUNDS,
};

interface Scene {
  /** For each POST without a session: the code of its refusal, or `'in'`. */
  readonly open: (subject: string, count?: number) => string[];
  /** The same for POSTs in a session. */
  readonly ask: (subject: string, count?: number) => string[];
  readonly account: (subject: string) => Account;
  readonly passSecond: () => void;
  readonly overload: Overload;
  readonly shedder: LoadShedder;
}

function scene(...readings: readonly OverloadSample[]): Scene {
  let nowMs = 0;
  const overload = new Overload(logInto([]));
  for (const reading of readings) overload.observe(reading);
  const accounts = new Accounts(TABLE);
  const shedder = new LoadShedder(overload, accounts, () => nowMs);
  const tell = (wanted: 'session' | 'request', subject: string, count: number): string[] =>
    Array.from({ length: count }, () => shedder.refusalOf('POST', wanted, subject)?.code ?? 'in');
  return {
    open: (subject, count = 1) => tell('session', subject, count),
    ask: (subject, count = 1) => tell('request', subject, count),
    account: (subject) => accounts.of(subject),
    passSecond: () => void (nowMs += 1_000),
    overload,
    shedder,
  };
}

function count(told: readonly string[], code: string): number {
  return told.filter((each) => each === code).length;
}

t.test('while the process serves, nobody is refused, whatever they hold', async (t) => {
  const { open, ask, account } = scene(CALM);
  account('full').sessions.take(100);
  account('full').requests.take(100);
  t.same([...open('full', 3), ...ask('full', 3)], Array(6).fill('in'), 'the shares are asked behind it');
});

t.test('a subject that has used up its own share is told that, and not of an overload', async (t) => {
  const { open, account } = scene(PRESSED);
  account('many').sessions.take(100);
  account('heavy').sessions.take(4);
  account('heavy').sessionBytes.take(990 * KIB);
  t.same(open('many', 2), ['subject-sessions-full', 'subject-sessions-full']);
  t.same(open('heavy'), ['subject-session-bytes-full'], 'there is no room for one more like its others');
  t.same(open('new'), ['in'], 'and who holds nothing is let in');
});

t.test('the exhaustion of the total shares is reported as overload', async (t) => {
  const { open, account } = scene(PRESSED);
  for (let each = 0; each < 11; each += 1) account(`s${each}`).sessions.take(95);
  t.same(open('new'), ['in']);
});

for (const share of ['sessions', 'sessionBytes', 'requests'] as const) {
  t.test(`who holds most ${share} opens no more, and others do`, async (t) => {
    const { open, account, passSecond } = scene(PRESSED);
    const unit = TABLE[share].subjectMax / 100;
    account('most')[share].take(50 * unit);
    for (const small of ['a', 'b']) account(small)[share].take(10 * unit);
    for (let second = 0; second < 3; second += 1) {
      t.same(open('most', 5), Array(5).fill('sessions-paused'));
      t.same([...open('a'), ...open('b'), ...open('new')], ['in', 'in', 'in']);
      passSecond();
    }
  });
}

t.test('a subject that holds no more than others, or hardly anything, is not the one that holds most', async (t) => {
  const even = scene(PRESSED);
  for (const subject of ['a', 'b', 'c']) even.account(subject).sessions.take(20);
  t.same(even.open('a'), ['in']);
  even.account('a').sessions.take(20);
  t.same(even.open('b'), ['in']);
  even.account('a').sessions.take(1);
  even.passSecond();
  t.same(even.open('a'), ['sessions-paused'], 'more than twice as much');
  const small = scene(PRESSED);
  small.account('a').sessions.take(2);
  small.account('b').listBytes.take(1);
  t.same(small.open('a'), ['in'], 'two of a hundred');
  small.account('a').sessions.take(1);
  small.passSecond();
  t.same(small.open('a'), ['sessions-paused']);
  const alone = scene(PRESSED);
  alone.account('a').sessions.take(90);
  t.same(alone.open('a'), ['in'], 'there is nobody to make way for');
});

t.test('a subject opens one session a second, all together a few, and fewer as the pressure grows', async (t) => {
  const { open, passSecond, overload } = scene(PRESSED);
  const most = overloadBounds.pressedSessionsPerSecond;
  const all = (): string[] => Array.from({ length: 2 * most }, (_, n) => open(`s${n}`, 3)).flat();
  t.equal(count(open('one', 10), 'in'), overloadBounds.pressedSessionsPerSubjectPerSecond);
  passSecond();
  t.equal(count(all(), 'in'), most);
  passSecond();
  overload.observe({
    ...PRESSED,
    loopDelayMs: (overloadBounds.loopDelayPressedMs + overloadBounds.loopDelayHardPressedMs) / 2,
  });
  t.equal(count(all(), 'in'), most / 2);
  passSecond();
  overload.observe({ ...PRESSED, loopDelayMs: overloadBounds.loopDelayHardPressedMs - 1 });
  t.equal(count(all(), 'in'), 0);
});

t.test('open sessions are served while new ones are refused', async (t) => {
  const { ask, account } = scene(PRESSED);
  account('most').requests.take(50);
  account('other').requests.take(1);
  t.same(ask('most', 20), Array(20).fill('in'));
});

t.test('short of time, the heaviest are refused, a few of others are served, and nothing is opened', async (t) => {
  const { open, ask, account, passSecond } = scene(LATE);
  account('most').requests.take(90);
  account('small').requests.take(1);
  account('small').sessions.take(90);
  t.same(ask('most'), ['overloaded']);
  account('most').requests.take(10);
  t.same(ask('most'), ['subject-requests-full'], 'what it can do something about, where there is that');
  const eachMax = overloadBounds.pressedRequestsPerSubjectPerSecond;
  t.equal(count(ask('small', 50), 'in'), eachMax, 'its sessions do not count here');
  t.same(open('new'), ['overloaded']);
  passSecond();
  const told = Array.from({ length: 100 }, (_, n) => ask(`s${n}`, eachMax)).flat();
  t.equal(count(told, 'in'), overloadBounds.pressedRequestsPerSecond);
  t.equal(count(told, 'overloaded'), told.length - overloadBounds.pressedRequestsPerSecond);
});

t.test('short of memory nothing is taken, because every request needs some', async (t) => {
  const { open, ask, account } = scene(FULL);
  account('full').requests.take(100);
  t.same(ask('full'), ['subject-requests-full']);
  t.same([...ask('new'), ...open('new')], ['overloaded', 'overloaded']);
});

t.test('a DELETE is always taken', async (t) => {
  for (const reading of [PRESSED, LATE, FULL]) {
    const { shedder, account } = scene(reading);
    account('most').sessions.take(100);
    account('most').requests.take(100);
    account('other').requests.take(1);
    t.equal(shedder.refusalOf('DELETE', 'request', 'most'), undefined);
  }
});
