// `npm run fleet`: measures what sessions cost Redis, stores that in measures.json, and writes into docs/clusters.md what it means
// for a thousand machines and fifty million sessions.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runProgram } from '../../bench/program.js';
import { Scope } from '../attack/scope.js';
import { projectRoot } from '../support/gateway.js';
import { measureFleet } from './measure.js';
import { measuresPath, readMeasures, type FleetMeasures } from './measures.js';
import { withFleet } from './page.js';

const usage = `Usage: npm run fleet [-- --sessions n --kept]
  --sessions n  that are measured; 10000 when not given
  --kept        measure nothing: write the page from what was measured last`;

interface Options {
  readonly sessions: number;
  readonly isKept: boolean;
}

await runProgram(usage, parse, async ({ sessions, isKept }) => {
  const measures = isKept ? readMeasures() : await measure(sessions);
  const page = join(projectRoot, 'docs', 'clusters.md');
  writeFileSync(page, withFleet(readFileSync(page, 'utf8'), measures));
  return 0;
});

async function measure(sessions: number): Promise<FleetMeasures> {
  const scope = new Scope();
  try {
    const measures = await measureFleet(scope, sessions, (line) => process.stdout.write(`${line}\n`));
    writeFileSync(measuresPath, `${JSON.stringify(measures, undefined, 2)}\n`);
    return measures;
  } finally {
    await scope.end();
  }
}

function parse(words: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...words],
    options: { sessions: { type: 'string', default: '10000' }, kept: { type: 'boolean', default: false } },
  });
  const sessions = Number(values.sessions);
  if (!Number.isInteger(sessions) || sessions < 1) throw new Error('--sessions takes a whole number from 1');
  return { sessions, isKept: values.kept };
}
