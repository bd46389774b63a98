// `npm run eras`: the SDKs' clients with the SDKs' backends through the gateway, in every pair of eras; writes the table of results
// into docs/eras.md. `npm run matrix`: the same with the SDKs of Python and Go. Exit status 1 when a cell fails that works without the
// gateway, or that only the gateway makes possible.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runProgram } from '../../bench/program.js';
import { Scope } from '../attack/scope.js';
import { startDeployment } from '../support/deployment.js';
import { projectRoot } from '../support/gateway.js';
import { BACKEND_KINDS } from './backends.js';
import { CLIENT_KINDS } from './clients.js';
import { compared, isAsExpected } from './comparison.js';
import { fillMatrix, PAIRS, pairsOf, type WantedPair } from './matrix.js';
import { foreignBackends, foreignClients } from './sdks/kinds.js';
import { prepareSdks } from './sdks/preparation.js';
import { OTHER_SDKS, OWN_SDKS, tableOf, withTable } from './table.js';

const KEPT = join(projectRoot, 'node_modules', '.cache', 'switchyard-sdks');
const usage = `Usage: npm run eras [-- --direct --workers n --only words]
       npm run matrix [-- --scratch directory --direct --workers n --only words]
  --other-languages    with the SDKs of Python and Go, each with all others: what npm run matrix is
  --scratch directory  where these are made ready; ${KEPT} when not given
  --direct             the clients on the backends themselves, without the gateway; the page is left as it is
  --only words         pairs whose labels have these words in them, as "Go auto > Python"; the page is left as it is
  --workers n          of the gateway; 2 when not given`;

interface Options {
  readonly isDirect: boolean;
  readonly hasOthers: boolean;
  readonly scratch: string;
  readonly only: string;
  readonly workers: number;
}

await runProgram(usage, parse, run);

function parse(words: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      direct: { type: 'boolean', default: false },
      'other-languages': { type: 'boolean', default: false },
      scratch: { type: 'string', default: KEPT },
      only: { type: 'string', default: '' },
      workers: { type: 'string', default: '2' },
    },
  });
  const workers = Number(values.workers);
  if (!Number.isInteger(workers) || workers < 1) throw new Error('--workers takes a whole number from 1');
  const { direct: isDirect, 'other-languages': hasOthers, scratch, only } = values;
  return { isDirect, hasOthers, scratch, only, workers };
}

async function run({ isDirect, hasOthers, scratch, only, workers }: Options): Promise<number> {
  const scope = new Scope();
  try {
    const { pairs: all, head } = hasOthers ? await withOthers(scratch) : { pairs: PAIRS, head: '' };
    const pairs = all.filter(({ client, backend }) => `${client.label} > ${backend.label}`.includes(only));
    const deployment = isDirect ? undefined : await startDeployment(scope, { workerCount: workers });
    const tried = await fillMatrix(async ({ url }) => {
      if (deployment === undefined) return { url, token: undefined, backendName: undefined };
      const caller = await deployment.caller({ one: { url } });
      return { url: caller.origin + caller.path, token: caller.token, backendName: 'one' };
    }, pairs);
    const filled = isDirect ? tried : await compared(pairs, tried);
    process.stdout.write(`${tableOf(filled)}\n`);
    const page = join(projectRoot, 'docs', 'eras.md');
    const place = hasOthers ? OTHER_SDKS : OWN_SDKS;
    if (!isDirect && only === '') writeFileSync(page, withTable(readFileSync(page, 'utf8'), place, filled, head));
    return isAsExpected(pairs, filled) ? 0 : 1;
  } finally {
    await scope.end();
  }
}

/** Every kind with every other, except for the pairs in the first table. */
async function withOthers(scratch: string): Promise<{ readonly pairs: readonly WantedPair[]; readonly head: string }> {
  const programs = await prepareSdks(scratch);
  const [clients, backends] = [foreignClients(programs), foreignBackends(programs)];
  const pairs = [...pairsOf(clients, [...BACKEND_KINDS, ...backends]), ...pairsOf(CLIENT_KINDS, backends)];
  return { pairs, head: `With ${programs.versions.join(', ')}.\n\n` };
}
