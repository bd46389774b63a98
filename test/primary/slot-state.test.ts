import { readFileSync } from 'node:fs';
import t from 'tap';
import { slotStateAfter, type SlotEvent, type SlotState } from '../../src/primary/slot.js';

// The table drawn in the source is the expectation, so the drawing cannot go stale.
const source = readFileSync(new URL('../../../src/primary/slot.ts', import.meta.url), 'utf8');
const rows = source
  .split('\n')
  .filter((line) => line.startsWith('//') && line.includes('|'))
  .map((line) => line.slice(2).replace('|', ' ').trim().split(/\s+/));
const [[, ...events] = [], ...drawn] = rows;

t.equal(drawn.length, 7, 'every state is drawn');
t.equal(events.length, 6, 'every event is drawn');
for (const [state, ...cells] of drawn) {
  t.equal(cells.length, events.length, `${state}: a cell for each event`);
  for (const [column, cell] of cells.entries()) {
    const next = slotStateAfter(state as SlotState, events[column] as SlotEvent);
    t.equal(next ?? '.', cell, `${state} + ${events[column]}`);
  }
}
