import { readFileSync } from 'node:fs';
import t from 'tap';
import { circuitStateAfter, type CircuitEvent, type CircuitState } from '../../../src/upstream/reach/origin-circuit.js';

// The table drawn in the source's header is the expectation, so the drawing cannot go stale.
const source = readFileSync(new URL('../../../../src/upstream/reach/origin-circuit.ts', import.meta.url), 'utf8');
const rows = source
  .split('\n')
  .filter((line) => line.startsWith('//') && line.includes('|'))
  .map((line) => line.slice(2).replace('|', ' ').trim().split(/\s+/));
const [[, ...events] = [], ...drawn] = rows;

t.equal(drawn.length, 3, 'every state is drawn');
t.equal(events.length, 5, 'every event is drawn');
for (const [state, ...cells] of drawn) {
  t.equal(cells.length, events.length, `${state}: a cell for each event`);
  for (const [column, cell] of cells.entries()) {
    const next = circuitStateAfter(state as CircuitState, events[column] as CircuitEvent);
    t.equal(next ?? '.', cell, `${state} + ${events[column]}`);
  }
}
