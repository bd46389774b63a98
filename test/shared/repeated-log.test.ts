import t from 'tap';
import { RepeatedLog, REPEATED_LOG_KINDS_MAX, FAILURE_LOG_INTERVAL_MS } from '../../src/shared/logger.js';
import { logInto } from '../support/log-lines.js';

interface Line {
  readonly level: number;
  readonly who: string;
  readonly notLogged?: number;
}

t.test('the first of a kind is logged, the others are counted on the next', async (t) => {
  const lines: string[] = [];
  const logger = logInto(lines);
  let nowMs = 1_000;
  const log = new RepeatedLog(() => nowMs);
  for (let i = 0; i < 5; i++) log.error(logger, 'a', { who: 'a' }, 'broken');
  log.warn(logger, 'b', { who: 'b' }, 'odd');
  nowMs += FAILURE_LOG_INTERVAL_MS - 1;
  log.error(logger, 'a', { who: 'a' }, 'broken');
  nowMs += 1;
  log.error(logger, 'a', { who: 'a' }, 'broken');
  nowMs += FAILURE_LOG_INTERVAL_MS;
  log.error(logger, 'a', { who: 'a' }, 'broken');
  const told = lines
    .map((line) => JSON.parse(line) as Line)
    .map(({ level, who, notLogged }) => [level, who, notLogged]);
  t.same(told, [
    [50, 'a', undefined],
    [40, 'b', undefined],
    [50, 'a', 5],
    [50, 'a', undefined],
  ]);
});

t.test('the number of kinds is bounded: the oldest is logged again', async (t) => {
  const lines: string[] = [];
  const logger = logInto(lines);
  const log = new RepeatedLog(() => 0);
  for (let i = 0; i <= REPEATED_LOG_KINDS_MAX; i++) log.error(logger, String(i), {}, 'broken');
  lines.length = 0;
  log.error(logger, String(REPEATED_LOG_KINDS_MAX), {}, 'broken');
  t.equal(lines.length, 0);
  log.error(logger, '0', {}, 'broken');
  t.equal(lines.length, 1);
});

t.test('the kind that was logged longest ago is the one that is forgotten', async (t) => {
  const lines: string[] = [];
  const logger = logInto(lines);
  let nowMs = 0;
  const log = new RepeatedLog(() => nowMs);
  for (let i = 0; i < REPEATED_LOG_KINDS_MAX - 1; i++) log.error(logger, String(i), {}, 'broken');
  nowMs += FAILURE_LOG_INTERVAL_MS;
  log.error(logger, '0', {}, 'broken');
  for (const kind of ['the last that has room', 'one more']) log.error(logger, kind, {}, 'broken');
  lines.length = 0;
  log.error(logger, '0', {}, 'broken');
  t.equal(lines.length, 0, 'it was logged a moment ago');
});
