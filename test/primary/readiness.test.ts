import t from 'tap';
import { isServing, Readiness, readinessInWords, type SlotReadiness } from '../../src/primary/readiness.js';
import type { Logger } from '../../src/shared/logger.js';

const silent = { info: () => {}, warn: () => {} } as unknown as Logger;

const well = {
  ...{ isListening: true, isFailing: false, storeObstacle: '', storeStaleness: '' },
  ...{ keysObstacle: '', isKeyless: false },
};

function readinessOf(slots: readonly Partial<SlotReadiness>[], hasKeys = true): Readiness {
  const slotReadiness = slots.map((changes, slot) => ({ slot, ...well, ...changes }));
  return new Readiness({ hasKeys, slots: () => slotReadiness }, silent, () => {});
}

/** Each obstacle's code with its slots. */
function codesOf(obstacles: readonly { readonly code: string; readonly slots?: readonly number[] }[]): string[] {
  return obstacles.map(({ code, slots }) => [code, ...(slots ?? [])].join(' '));
}

const absent = { isListening: false };
const failing = { isListening: false, isFailing: true };
const storeless = { storeObstacle: 'no Redis' };
const stale = { storeStaleness: 'Redis is lost' };

const rows: readonly (readonly [
  what: string,
  slots: readonly Partial<SlotReadiness>[],
  hasKeys: boolean,
  obstacles: readonly string[],
  degraded: readonly string[],
  isServing: boolean,
])[] = [
  ['all is well', [{}, {}], true, [], [], true],
  ['one worker is not there', [{}, absent, {}], true, ['worker-absent 1'], [], false],
  ['one cannot be started, the others serve', [{}, failing], true, [], ['worker-absent 1'], true],
  ['none can be started', [failing, failing], true, ['worker-absent 0 1'], [], false],
  ['the store is lost to all', [storeless, storeless], true, ['store-unreachable 0 1'], [], false],
  ['the store is lost to one', [{}, storeless], true, [], ['store-unreachable 1'], true],
  ['the store is lost, and known user configs are used', [stale, stale], true, [], ['store-unreachable 0 1'], true],
  [
    'what an absent worker said of the store is over',
    [{}, { ...absent, ...storeless }],
    true,
    ['worker-absent 1'],
    [],
    false,
  ],
  ['without keys callers are answered, 401', [{}], false, ['keys-missing'], [], true],
  [
    'everything at once',
    [absent, storeless],
    false,
    ['worker-absent 0', 'store-unreachable 1', 'keys-missing'],
    [],
    false,
  ],
];

for (const [what, slots, hasKeys, obstacles, degraded, serving] of rows) {
  t.test(what, async (t) => {
    const { report } = readinessOf(slots, hasKeys);
    t.same(codesOf(report.obstacles), obstacles);
    t.same(codesOf(report.degraded), degraded);
    t.equal(report.isReady, obstacles.length === 0);
    t.equal(isServing(report), serving);
  });
}

t.test('one line for the service manager says how many workers listen, and all that is wrong', async (t) => {
  const words = (...slots: readonly Partial<SlotReadiness>[]): string => readinessInWords(readinessOf(slots).report);
  t.equal(words({}, {}), 'ready: 2 of 2 workers are listening');
  t.equal(words({}, failing), 'ready: 1 of 2 workers are listening; 1 worker cannot start: the log says why');
  t.equal(words(absent, { storeObstacle: 'no\nRedis' }), 'not ready: 1 worker is not listening (yet); no Redis');
});

t.test('a worker that has listened and is gone is an obstacle when no other listens', async (t) => {
  let slots: readonly Partial<SlotReadiness>[] = [{}, absent];
  const slotReadiness = (): SlotReadiness[] => slots.map((changes, slot) => ({ slot, ...well, ...changes }));
  const readiness = new Readiness({ hasKeys: true, slots: slotReadiness }, silent, () => {});
  const stand = (...next: Partial<SlotReadiness>[]): readonly string[] => {
    slots = next;
    readiness.check();
    const { obstacles, degraded } = readiness.report;
    return [...codesOf(obstacles), ...codesOf(degraded).map((code) => `degraded: ${code}`)];
  };
  t.same(stand({}, absent), ['worker-absent 1'], 'not before each has listened once');
  t.same(stand({}, {}), []);
  t.same(stand({}, absent), ['degraded: worker-absent 1']);
  t.match(readiness.report.degraded, [{ message: '1 worker is not listening (yet)' }], 'it is on its way');
  t.same(stand({}, failing), ['degraded: worker-absent 1']);
  t.same(stand(storeless, absent), ['store-unreachable 0', 'degraded: worker-absent 1'], 'of those that listen');
  t.same(stand(absent, absent), ['worker-absent 0 1']);
});

t.test('keys that no worker can fetch are an obstacle where there are no others', async (t) => {
  const keyless = { keysObstacle: 'no keys', isKeyless: true };
  const all = readinessOf([keyless, keyless]).report;
  t.same(all.obstacles, [{ code: 'keys-unreachable', message: 'no keys', slots: [0, 1] }]);
  t.notOk(all.isReady);
  t.ok(isServing(all));
  t.same(all.degraded, [], 'and are not told twice');
  const one = readinessOf([keyless, {}]).report;
  t.ok(one.isReady);
  t.same(codesOf(one.degraded), ['keys-unreachable 0']);
  const others = { keysObstacle: 'no keys of one' };
  const some = readinessOf([others, others]).report;
  t.ok(some.isReady, 'the tokens of the others are served');
  t.same(codesOf(some.degraded), ['keys-unreachable 0 1']);
});

t.test('while draining nothing else is reported', async (t) => {
  const readiness = readinessOf([absent, storeless], false);
  readiness.markDraining();
  const { report } = readiness;
  t.same([report.isReady, codesOf(report.obstacles), report.degraded], [false, ['draining'], []]);
  t.ok(isServing(report), 'the health check is that of the workers');
});

t.test('a change is reported once, and logged when the obstacle is another', async (t) => {
  const lines: string[] = [];
  const note = (level: string) => (fields: unknown, message?: string) =>
    void lines.push(`${level} ${message ?? String(fields)}`);
  const logger = { info: note('info'), warn: note('warn') } as unknown as Logger;
  let standing: SlotReadiness = { slot: 0, ...well };
  const told: boolean[] = [];
  const readiness = new Readiness({ hasKeys: true, slots: () => [standing] }, logger, (report) => {
    told.push(report.isReady);
    readiness.log(report);
  });
  readiness.check();
  readiness.check();
  t.same(told, [true]);
  t.same(lines, [], 'that nothing was ever missing is no news');
  for (const storeObstacle of ['refused', 'closed', '']) {
    standing = { ...standing, storeObstacle };
    readiness.check();
  }
  t.same(told, [true, false, false, true]);
  t.same(lines, ['warn not ready', 'info ready']);
  readiness.markDraining();
  t.same(told.slice(4), [false]);
  t.equal(lines.length, 2, 'a drain is logged by who began it');
});

t.test('the message about absent workers is a sentence, for one and for several', async (t) => {
  const messages = (...slots: Partial<SlotReadiness>[]): string[] => {
    const { obstacles, degraded } = readinessOf(slots).report;
    return [...obstacles, ...degraded].map(({ message }) => message);
  };
  t.same(messages(absent, {}), ['1 worker is not listening (yet)']);
  t.same(messages(absent, absent), ['2 workers are not listening (yet)']);
  t.same(messages({}, failing, failing), ['2 workers cannot start: the log says why']);
});
