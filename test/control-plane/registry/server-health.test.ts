import t from 'tap';
import {
  isHealthChanged,
  addHealthEntry,
  HEALTH_ENTRIES_MAX,
  HEALTH_REASON_CHARS_MAX,
} from '../../../src/control-plane/registry/server-state.js';
import type { HealthEntry } from '../../../src/control-plane/records/server-record.js';

const GOOD = { status: 'active', reachable: true, lastError: null } as const;
const AILING = { status: 'active', reachable: false, lastError: 'it does not answer' } as const;

t.test('a finding is recorded when it differs from the previous one', async (t) => {
  t.ok(isHealthChanged(undefined, GOOD), 'of a new server anything is');
  for (const same of [GOOD, AILING]) t.notOk(isHealthChanged(same, { ...same }));
  t.ok(isHealthChanged(GOOD, AILING));
  t.ok(isHealthChanged(AILING, { ...AILING, status: 'inactive' }));
  t.ok(isHealthChanged(AILING, { ...AILING, lastError: 'it refuses' }));
  t.ok(isHealthChanged({ ...GOOD, reachable: false }, GOOD));
});

t.test('the latest finding comes first, and the history is bounded in entries and characters', async (t) => {
  let history: readonly HealthEntry[] = [];
  const count = HEALTH_ENTRIES_MAX + 5;
  for (let each = 0; each < count; each++) {
    history = addHealthEntry(history, { ...AILING, lastError: `${each} ${'x'.repeat(10_000)}` }, `at ${each}`);
  }
  t.equal(history.length, HEALTH_ENTRIES_MAX);
  t.match(history[0], { at: `at ${count - 1}`, status: 'active', reachable: false, error: /^54 x/ });
  t.equal(history.at(-1)?.at, 'at 5');
  t.ok(history.every(({ error }) => error?.length === HEALTH_REASON_CHARS_MAX));
  t.equal(addHealthEntry([], GOOD, 'now')[0]?.error, null);
});
