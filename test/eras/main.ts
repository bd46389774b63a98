// `npm run eras`: the SDKs' clients with the SDKs' backends through the gateway, in every pair of eras, and the table of what
// came of it in docs/eras.md. Exit status 1 when a cell is not ok.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runProgram } from '../../bench/program.js';
import { Scope } from '../attack/scope.js';
import { startDeployment } from '../support/deployment.js';
import { projectRoot } from '../support/gateway.js';
import { fillMatrix } from './matrix.js';
import { isAllGood, tableOf, withTable } from './table.js';

const usage = `Usage: npm run eras [-- --direct --workers n]
  --direct     the clients on the backends themselves, without the gateway; the page is left as it is
  --workers n  of the gateway; 2 when not given`;

interface Options {
  readonly isDirect: boolean;
  readonly workers: number;
}

await runProgram(usage, parse, run);

function parse(words: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...words],
    options: { direct: { type: 'boolean', default: false }, workers: { type: 'string', default: '2' } },
  });
  const workers = Number(values.workers);
  if (!Number.isInteger(workers) || workers < 1) throw new Error('--workers takes a whole number from 1');
  return { isDirect: values.direct, workers };
}

async function run({ isDirect, workers }: Options): Promise<number> {
  const scope = new Scope();
  try {
    const deployment = isDirect ? undefined : await startDeployment(scope, { workerCount: workers });
    const pairs = await fillMatrix(async ({ url }) => {
      if (deployment === undefined) return { url, token: undefined, backendName: undefined };
      const caller = await deployment.caller({ one: { url } });
      return { url: caller.origin + caller.path, token: caller.token, backendName: 'one' };
    });
    process.stdout.write(`${tableOf(pairs)}\n`);
    const page = join(projectRoot, 'docs', 'eras.md');
    if (!isDirect) writeFileSync(page, withTable(readFileSync(page, 'utf8'), pairs));
    return isAllGood(pairs) ? 0 : 1;
  } finally {
    await scope.end();
  }
}
