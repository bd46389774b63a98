// What docs/eras.md says works does work: a short form without the clients that find out the era. `npm run eras` tries all.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { startDeployment } from '../support/deployment.js';
import { projectRoot } from '../support/gateway.js';
import { BACKEND_KINDS } from './backends.js';
import { CLIENT_KINDS } from './clients.js';
import { FEATURES, fillMatrix, GOOD, PAIRS, type WantedPair } from './matrix.js';
import { FOREIGN_BACKENDS, FOREIGN_CLIENTS } from './sdks/kinds.js';
import { versionsOfOthers } from './sdks/preparation.js';
import { OTHER_SDKS, OWN_SDKS, pairsOn, reasonsOn } from './table.js';

const page = readFileSync(join(projectRoot, 'docs', 'eras.md'), 'utf8');
const said = pairsOn(page, OWN_SDKS);

t.test('the page has every pair, and says for each feature whether it works', async (t) => {
  const labels = (rows: readonly Pick<WantedPair, 'client' | 'backend'>[]): string[] =>
    rows.map(({ client, backend }) => `${client.label} > ${backend.label}`);
  const own = labels(PAIRS);
  const [clients, backends] = [CLIENT_KINDS, BACKEND_KINDS].map((kinds) => kinds.map(({ label }) => label));
  const others = [
    ...FOREIGN_CLIENTS.flatMap((client) =>
      [...backends!, ...FOREIGN_BACKENDS].map((backend) => `${client} > ${backend}`),
    ),
    ...clients!.flatMap((client) => FOREIGN_BACKENDS.map((backend) => `${client} > ${backend}`)),
  ];
  for (const [place, wanted] of [
    [OWN_SDKS, own],
    [OTHER_SDKS, others],
  ] as const) {
    const rows = pairsOn(page, place);
    t.same(
      rows.map(({ client, backend }) => `${client} > ${backend}`),
      wanted,
    );
    const reasons = reasonsOn(page, place).map((number) => `no (${number})`);
    for (const { client, backend, cells } of rows)
      t.ok(
        FEATURES.every((feature) => [GOOD, ...reasons].includes(cells[feature])),
        `${client} with ${backend}`,
      );
  }
});

t.test('the page names the versions of the SDKs in other languages that are tried', async (t) => {
  for (const version of versionsOfOthers()) t.ok(page.includes(version), version);
});

t.test('whatever the page says works does work', async (t) => {
  const deployment = await startDeployment(t, { workerCount: 2 });
  const short = said
    .filter(({ client }) => client !== 'auto')
    .map(({ client, backend, cells }) => ({
      client: CLIENT_KINDS.find(({ label }) => label === client)!,
      backend: BACKEND_KINDS.find(({ label }) => label === backend)!,
      wanted: FEATURES.filter((feature) => cells[feature] === GOOD),
    }));
  const pairs = await fillMatrix(async ({ url }) => {
    const caller = await deployment.caller({ one: { url } });
    return { url: caller.origin + caller.path, token: caller.token, backendName: 'one' };
  }, short);
  t.ok(pairs.length > 0);
  for (const { client, backend, cells } of pairs)
    for (const [feature, cell] of Object.entries(cells)) t.equal(cell, GOOD, `${feature}: ${client} with ${backend}`);
});
