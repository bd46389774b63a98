import t from 'tap';
import { canBeHeldAgainstBefore, heldAgainstBefore } from '../../bench/before.js';
import { pointsOf } from '../../bench/points.js';
import { scenarios } from '../../bench/scenarios.js';

t.test('the figure is measured for both builds, in the same situation', async (t) => {
  for (const scenario of Object.values(scenarios).filter(canBeHeldAgainstBefore)) {
    const { measures, yardstick } = heldAgainstBefore(scenario);
    t.equal(yardstick, 'before', scenario.name);
    t.equal(measures.length, 2, scenario.name);
    const [now, before] = measures;
    t.match(now, { kind: 'load', target: 'gateway' });
    t.match(before, { kind: 'load', target: 'before' });
    const place = now?.kind === 'load' && now.place === 'two-workers' ? 'two-workers-before' : 'before';
    t.same(before, { ...now, target: 'before', place }, `${scenario.name}: nothing else differs`);
  }
});

t.test('idle sessions are measured in a separate gateway, and are not compared', async (t) => {
  t.notOk(canBeHeldAgainstBefore(scenarios.idle));
});

t.test('points are compared with an earlier build only where one is named', async (t) => {
  const [plain] = pointsOf({ scenarios: ['hop'], mode: 'quick', programBefore: undefined, peers: [] });
  const [against] = pointsOf({ scenarios: ['hop'], mode: 'quick', programBefore: '/before/dist/main.js', peers: [] });
  t.equal(plain?.scenario.yardstick, 'at home');
  t.equal(against?.scenario.yardstick, 'before');
});
