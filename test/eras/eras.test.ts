// What docs/eras.md says works does work: the pairs of two eras that differ, and those that do not, in short. `npm run eras` has all.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { startDeployment } from '../support/deployment.js';
import { projectRoot } from '../support/gateway.js';
import { FEATURES, fillMatrix, PAIRS } from './matrix.js';
import { GOOD, pairsOn } from './table.js';

const said = pairsOn(readFileSync(join(projectRoot, 'docs', 'eras.md'), 'utf8'));

t.test('the page has every pair, and says of each what comes of it', async (t) => {
  t.same(
    said.map(({ client, backend }) => ({ client, backend })),
    PAIRS,
  );
  for (const { client, backend, cells } of said)
    t.ok(
      FEATURES.every((feature) => /^(ok|no \(\d+\))$/.test(cells[feature])),
      `${client} with ${backend}`,
    );
});

t.test('what works on the page works', async (t) => {
  const deployment = await startDeployment(t, { workerCount: 2 });
  const short = said
    .filter(({ client, backend }) => client !== 'auto' && backend !== 'dual')
    .map((pair) => ({ ...pair, wanted: FEATURES.filter((feature) => pair.cells[feature] === GOOD) }));
  const pairs = await fillMatrix(async ({ url }) => {
    const caller = await deployment.caller({ one: { url } });
    return { url: caller.origin + caller.path, token: caller.token, backendName: 'one' };
  }, short);
  t.ok(pairs.length > 0);
  for (const { client, backend, cells } of pairs)
    for (const [feature, cell] of Object.entries(cells)) t.equal(cell, GOOD, `${feature}: ${client} with ${backend}`);
});
