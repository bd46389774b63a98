import { pino } from 'pino';
import t from 'tap';
import { HealthChecks, PROBES_AT_ONCE_MAX } from '../../../src/control-plane/prober/health-checks.js';
import { until } from '../../support/until.js';

const silent = pino({ level: 'silent' });

t.test('a limited number is checked at once, in order, and each server once a round', async (t) => {
  const targets = Array.from({ length: 50 }, (_, n) => n);
  const begun: number[] = [];
  let running = 0;
  let runningMost = 0;
  let rounds = 0;
  const checks = new HealthChecks<number>({
    intervalMs: 5,
    logger: silent,
    listTargets: async () => {
      t.equal(running, 0, 'no round begins before the last is over');
      rounds++;
      return rounds <= 2 ? targets : [];
    },
    check: async (target) => {
      begun.push(target);
      runningMost = Math.max(runningMost, ++running);
      await new Promise(setImmediate);
      running--;
    },
  });
  checks.start();
  await until(() => rounds === 3, 'a third round');
  await checks.stop();
  t.equal(runningMost, PROBES_AT_ONCE_MAX);
  t.same(begun, [...targets, ...targets]);
});

t.test('a check or a list that fails stops nothing, and is logged once a round', async (t) => {
  const lines: string[] = [];
  const checked: string[] = [];
  let rounds = 0;
  const checks = new HealthChecks<string>({
    intervalMs: 1,
    logger: pino({}, { write: (line: string) => void lines.push(line) }),
    listTargets: async () => {
      if (++rounds === 1) throw new Error('no store');
      return rounds === 2 ? ['a', 'b', 'c'] : [];
    },
    check: async (target) => {
      checked.push(target);
      if (target !== 'b') throw new Error(`no ${target}`);
    },
  });
  checks.start();
  await until(() => rounds >= 4, 'a round after the failing ones');
  await checks.stop();
  t.same(checked, ['a', 'b', 'c']);
  t.equal(lines.length, 2);
  t.match(lines[0], /no store/);
  t.match(lines[1], /no a.*"faults":2/);
});

t.test('a stop waits for the checks in flight and begins no other', async (t) => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  let begun = 0;
  let ended = 0;
  const checks = new HealthChecks<number>({
    intervalMs: 1,
    logger: silent,
    listTargets: async () => Array.from({ length: 2 * PROBES_AT_ONCE_MAX }, (_, n) => n),
    check: async () => {
      begun++;
      await held;
      ended++;
    },
  });
  checks.start();
  await until(() => begun === PROBES_AT_ONCE_MAX, 'all lanes to be busy');
  const stopped = checks.stop();
  t.equal(ended, 0);
  release();
  await stopped;
  t.equal(ended, PROBES_AT_ONCE_MAX);
  t.equal(begun, PROBES_AT_ONCE_MAX);
});
