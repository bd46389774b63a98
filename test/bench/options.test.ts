import t from 'tap';
import { parseOptions } from '../../bench/options.js';
import { scenarioNames } from '../../bench/scenarios.js';

t.test('without words everything runs, in 5 rounds', async (t) => {
  t.match(parseOptions([]), { scenarios: scenarioNames, mode: 'full', rounds: 5 });
});

t.test('quick mode has fewer rounds and shorter runs', async (t) => {
  const full = parseOptions([]);
  const quick = parseOptions(['--quick']);
  t.match(quick, { scenarios: scenarioNames, mode: 'quick', rounds: 3 });
  t.ok(quick.measureMs < full.measureMs);
});

t.test('scenarios are named, each once; rounds are given', async (t) => {
  const options = parseOptions(['session', '--rounds', '7', 'call', 'session']);
  t.same(options.scenarios, ['session', 'call']);
  t.equal(options.rounds, 7);
});

t.test('what is not understood is refused', async (t) => {
  t.throws(() => parseOptions(['calls']), { message: 'unknown scenario: calls' });
  t.throws(() => parseOptions(['--fast']));
  for (const rounds of ['0', '-1', '1.5', '101', 'many', '']) {
    t.throws(() => parseOptions([`--rounds=${rounds}`]), /--rounds takes a whole number/, rounds);
  }
});
