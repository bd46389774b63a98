import t from 'tap';
import { visitAll, VISITED_PER_STEP, VISITED_AT_ONCE_MAX } from '../../../src/streams/in-flight/requests-in-flight.js';
import type { QueueBounds } from '../../../src/fair/fair-queue.js';
import { TurnScheduler } from '../../../src/fair/turn-scheduler.js';
import type { CompiledBackend } from '../../../src/user-config/compiled-config.js';
import { until } from '../../support/until.js';
import { virtualHostOf } from '../../relay/virtual-host.js';

const backendsAtOnceMax = VISITED_AT_ONCE_MAX;
const TURN_MS = 5;
const ROOM = [8, 2] as const;

function backendsOf(count: number): ReadonlyMap<string, CompiledBackend> {
  const members = Array.from({ length: count }, (_, n) => [`b${n}`, {}] as const);
  return virtualHostOf(Object.fromEntries(members)).backends;
}

/** Records which backends are visited, and which are refused for want of room. */
function scene(nowMs?: () => number, waiting: QueueBounds = ROOM) {
  const turns = new TurnScheduler({ untimedMax: 0, turnMs: TURN_MS, waiting }, nowMs);
  const visited: string[] = [];
  const refused: string[] = [];
  const visit = (subject: string, count: number): void => {
    const visit = ({ name }: CompiledBackend): void => void visited.push(`${subject} ${name}`);
    const onNoRoom = ({ name }: CompiledBackend): void => void refused.push(`${subject} ${name}`);
    visitAll(subject, backendsOf(count).values(), { visit, onNoRoom }, turns);
  };
  return { visit, visited, refused };
}

function namesOf(subject: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${subject} b${n}`);
}

t.test('the first backends are visited at once, the others soon and in order', async (t) => {
  const { visit, visited } = scene();
  visit('few', backendsAtOnceMax);
  t.same(visited.splice(0), namesOf('few', backendsAtOnceMax));
  visit('many', backendsAtOnceMax + 50);
  t.same(visited, namesOf('many', backendsAtOnceMax), 'no more from within');
  await until(() => visited.length === backendsAtOnceMax + 50, 'all visits');
  t.same(visited, namesOf('many', backendsAtOnceMax + 50));
});

t.test('a turn ends when its time is over', async (t) => {
  let nowMs = 0;
  // Each look at the clock advances it by a millisecond, so that a step takes one.
  const { visit, visited } = scene(() => nowMs++);
  const stepsPerTurn = TURN_MS;
  visit('many', backendsAtOnceMax + 10 * stepsPerTurn * VISITED_PER_STEP);
  visited.length = 0;
  for (let turn = 1; turn <= 5; turn++) {
    await new Promise(setImmediate);
    t.equal(visited.length, turn * stepsPerTurn * VISITED_PER_STEP, `turn ${turn}`);
  }
});

t.test('of a session that finds no room again, all that is left is told so', async (t) => {
  let nowMs = 0;
  const { visit, visited, refused } = scene(() => nowMs++, [64, 16]);
  const counts: [string, number][] = [];
  for (let session = 0; session < 56; session++) counts.push([`large ${session % 4}`, backendsAtOnceMax + 20]);
  for (let session = 0; session < 20; session++) counts.push([`small ${session}`, backendsAtOnceMax + 1]);
  for (const [subject, count] of counts) visit(subject, count);
  const all = counts.reduce((sum, [, count]) => sum + count, 0);
  await until(() => visited.length + refused.length === all, 'each backend is visited, or told');
  t.ok(refused.some((name) => name.startsWith('large')));
});

t.test('subjects take turns, so that one with many backends does not delay another', async (t) => {
  const { visit, visited } = scene();
  visit('attacker', 1_000);
  visit('attacker', 1_000);
  visit('victim', backendsAtOnceMax + 20);
  const last = `victim b${backendsAtOnceMax + 19}`;
  await until(() => visited.includes(last), 'the last of the victim');
  const before = visited.slice(0, visited.indexOf(last)).filter((who) => who.startsWith('attacker')).length;
  t.ok(before <= 2 * backendsAtOnceMax + 20 + 2 * VISITED_PER_STEP, `${before} of the attacker's before it`);
  await until(() => visited.length === 2_000 + backendsAtOnceMax + 20, 'all visits');
});

t.test('a backend for which there is no room to wait is refused at once', async (t) => {
  const { visit, visited, refused } = scene();
  for (let round = 0; round < 3; round++) visit('attacker', backendsAtOnceMax + 2);
  t.same(refused, [`attacker b${backendsAtOnceMax}`, `attacker b${backendsAtOnceMax + 1}`]);
  visit('victim', backendsAtOnceMax + 2);
  await until(() => visited.length === 4 * backendsAtOnceMax + 3 * 2, 'all visits');
  t.equal(refused.length, 2, 'others have room');
});
