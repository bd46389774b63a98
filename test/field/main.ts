// `npm run field`: public servers and clients, each with each, directly and through the gateway; writes the table of outcomes into
// docs/field.md. Exit status 1 when a cell is worse than directly.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runProgram } from '../../bench/program.js';
import { Scope } from '../attack/scope.js';
import { ForeignProgram } from '../eras/sdks/foreign-program.js';
import { startDeployment, type Deployment } from '../support/deployment.js';
import { projectRoot } from '../support/gateway.js';
import { inParallel } from '../support/in-parallel.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { CLIENTS, type FieldClient } from './clients.js';
import { BACKEND, outcomeOf, prefixed } from './outcome.js';
import { pageOf, tableOf, type Cell } from './page.js';
import type { Plan, Report } from './plan.js';
import { prepareField, versionsOf } from './preparation.js';
import { SERVERS, type FieldServer } from './servers.js';

const KEPT = join(projectRoot, 'node_modules', '.cache', 'switchyard-sdks');
const usage = `Usage: npm run field [-- --only words --reports --workers n]
  --only words  pairs whose labels have these words in them, as "Go 1.8 > everything"; the page keeps all others
  --reports     prints what each client reports, too
  --workers n   of the gateway; 2 when not given`;

/** How many clients are at work at once: each mostly waits. */
const LANES = 3;
/** A plan's steps end by themselves; this ends a client that hangs. */
const PLAN_MS_MAX = 120_000;

interface Options {
  readonly only: string;
  readonly hasReports: boolean;
  readonly workers: number;
}

interface Started extends FieldServer {
  readonly urlOf: (session: string) => string | Promise<string>;
}

await runProgram(usage, parse, run);

function parse(words: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      only: { type: 'string', default: '' },
      reports: { type: 'boolean', default: false },
      workers: { type: 'string', default: '2' },
    },
  });
  const workers = Number(values.workers);
  if (!Number.isInteger(workers) || workers < 1) throw new Error('--workers takes a whole number from 1');
  return { only: values.only, hasReports: values.reports, workers };
}

async function run({ only, hasReports, workers }: Options): Promise<number> {
  const scope = new Scope();
  try {
    const field = await prepareField(KEPT);
    const isWanted = (client: FieldClient, server: FieldServer): boolean =>
      `${client.label} > ${server.label}`.includes(only);
    const deployment = await startDeployment(scope, { workerCount: workers });
    const servers: Started[] = [];
    await inParallel(SERVERS, LANES, async (server) => {
      if (!CLIENTS.some((client) => isWanted(client, server))) return;
      const scratch = createScratchDirectory(scope);
      const urlOf = await server.start({ field, scratch, teardown: scope.teardown });
      servers.push({ ...server, urlOf });
    });
    servers.sort(
      (a, b) =>
        SERVERS.findIndex(({ label }) => label === a.label) - SERVERS.findIndex(({ label }) => label === b.label),
    );
    const cells: Cell[] = [];
    await inParallel(CLIENTS, LANES, async (client) => {
      const scratch = createScratchDirectory(scope);
      const asked = servers.filter((server) => isWanted(client, server));
      if (asked.length === 0) return;
      const told = await tryClient(client, client.command(field, scratch), asked, deployment, hasReports);
      cells.push(...told);
    });
    cells.sort((a, b) => placeOf(a) - placeOf(b));
    process.stdout.write(`${tableOf(cells)}\n`);
    const worseCount = cells.filter(({ outcome }) => outcome.worse.length > 0).length;
    const page = join(projectRoot, 'docs', 'field.md');
    writeFileSync(page, pageOf(cells, versionsOf(), only === '' ? '' : readFileSync(page, 'utf8')));
    process.stdout.write(`${cells.length - worseCount} of ${cells.length} pairs are as directly, or better\n`);
    const idle = [...CLIENTS, ...servers].filter(({ label }) =>
      isIdle(cells.filter(({ client, server }) => [client, server].includes(label))),
    );
    if (idle.length > 0)
      throw new Error(`nothing works with ${idle.map(({ label }) => label).join(', ')}: the field is at fault`);
    return worseCount === 0 ? 0 : 1;
  } finally {
    await scope.end();
  }
}

function isIdle(cells: readonly Cell[]): boolean {
  return cells.length > 0 && cells.every(({ outcome }) => outcome.neither !== undefined);
}

function placeOf({ client, server }: Cell): number {
  const [row, column] = [
    SERVERS.findIndex(({ label }) => label === server),
    CLIENTS.findIndex(({ label }) => label === client),
  ];
  return row * CLIENTS.length + column;
}

async function tryClient(
  { label }: FieldClient,
  command: readonly string[],
  servers: readonly Started[],
  deployment: Deployment,
  hasReports: boolean,
): Promise<readonly Cell[]> {
  const start = async (): Promise<ForeignProgram> => (await ForeignProgram.start(command, undefined, PLAN_MS_MAX))[0];
  let program = await start();
  const carryOut = async (plan: Plan): Promise<Report> => {
    try {
      return JSON.parse(await program.tell({ do: 'plan', name: JSON.stringify(plan) })) as Report;
    } catch (error) {
      program.kill();
      program = await start();
      return { steps: [], ended: error instanceof Error ? error.message : String(error) };
    }
  };
  const cells: Cell[] = [];
  for (const { label: server, steps, answer = { answer: 'yes' }, urlOf } of servers) {
    const session = `${label} ${server}`.replaceAll(/\W+/g, '-');
    const plan = { steps, answer };
    const direct = await carryOut({ ...plan, url: await urlOf(`${session}-direct`) });
    const url = await urlOf(session);
    const transport = url.endsWith('/sse') ? { transport: 'SSE' } : {};
    const caller = await deployment.caller({ [BACKEND]: { url, ...transport } });
    const { origin, path, token } = caller;
    const through = await carryOut(prefixed({ ...plan, url: origin + path, token }));
    if (hasReports) process.stdout.write(`${label} > ${server}\n${JSON.stringify({ direct, through }, null, 1)}\n`);
    cells.push({ client: label, server, outcome: outcomeOf({ ...plan, url }, direct, through) });
  }
  await program.close();
  return cells;
}
