// `npm run conformance`: the official suite against our fixture behind the gateway. The last line says how many of how
// many scenarios passed that are scored. Exit status 1 when one did not, or warned, scored or not.
import { parseArgs } from 'node:util';
import { runProgram } from '../../bench/program.js';
import { Scope } from '../attack/scope.js';
import { startDeployment } from '../support/deployment.js';
import { startFixture } from './fixture.js';
import { startShim } from './shim.js';
import { installSuite, runSuite } from './official-suite.js';

const BACKEND = 'backend';

const usage = `Usage: npm run conformance [-- --direct --scenario name --workers n --verbose]
  --direct         the fixture itself, without the gateway
  --scenario name  this scenario alone; may be given again
  --workers n      of the gateway; 2 when not given
  --verbose        all that the suite says`;

interface Options {
  readonly isDirect: boolean;
  readonly scenarios: readonly string[];
  readonly workers: number;
  readonly isVerbose: boolean;
}

/** What the revision requires, by the suite's own list; what is wanted beside it, which it does not score. */
const REVISION = '2025-11-25';
const UNSCORED = ['server-session-lifecycle', 'json-schema-2020-12', 'server-sse-polling'];

await runProgram(usage, parse, conform);

function parse(words: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      direct: { type: 'boolean', default: false },
      scenario: { type: 'string', multiple: true, default: [] },
      workers: { type: 'string', default: '2' },
      verbose: { type: 'boolean', default: false },
    },
  });
  const workers = Number(values.workers);
  if (!Number.isInteger(workers) || workers < 1) throw new Error('--workers takes a whole number from 1');
  return { isDirect: values.direct, scenarios: values.scenario, workers, isVerbose: values.verbose };
}

async function conform(options: Options): Promise<number> {
  await installSuite();
  const scope = new Scope();
  try {
    const url = await startSubject(scope, options);
    const names = options.scenarios.length > 0 ? options.scenarios : await scenarioNames();
    let passed = 0;
    let scored = 0;
    let isAllGood = true;
    for (const name of names) {
      const { exitCode, output } = await runSuite([
        'server',
        '--url',
        url,
        '--scenario',
        name,
        '--spec-version',
        REVISION,
      ]);
      // A warning is not a failure for the suite; for us it is.
      const isGood = exitCode === 0 && !/[1-9]\d* (failed|warnings)/.test(output);
      isAllGood &&= isGood;
      const isScored = !UNSCORED.includes(name);
      if (isScored) scored += 1;
      if (isScored && isGood) passed += 1;
      say(`${isGood ? 'ok    ' : 'FAILED'} ${name}${isScored ? '' : ' (not scored)'}`);
      if (options.isVerbose || !isGood) say(indented(output));
    }
    say(`${passed} of ${scored}`);
    return isAllGood ? 0 : 1;
  } finally {
    await scope.end();
  }
}

/** @returns the URL that the suite is given. */
async function startSubject(scope: Scope, { isDirect, workers }: Options): Promise<string> {
  const fixture = await startFixture();
  scope.teardown(() => fixture.close());
  if (isDirect) return fixture.url;
  let target = { url: '', token: '' };
  const shim = await startShim(BACKEND, () => target);
  scope.teardown(() => shim.close());
  const hosts = [`127.0.0.1:${shim.port}`, `localhost:${shim.port}`];
  const deployment = await startDeployment(scope, {
    workerCount: workers,
    options: ['--allowed-hosts', hosts.join(','), '--allowed-origins', hosts.map((host) => `http://${host}`).join(',')],
  });
  const caller = await deployment.caller({ [BACKEND]: { url: fixture.url } });
  target = { url: caller.origin + caller.path, token: caller.token ?? '' };
  return shim.url;
}

async function scenarioNames(): Promise<string[]> {
  const { output } = await runSuite(['list', '--requirements', REVISION]);
  const [, servers = ''] = /^Server scenarios.*\n((?: +- \S+\n)+)/m.exec(output) ?? [];
  const listed = [...servers.matchAll(/- (\S+)/g)].map(([, name]) => name ?? '');
  if (listed.length === 0) throw new Error('the suite lists no scenario of this revision');
  return [...new Set([...listed, ...UNSCORED])];
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '         ');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
