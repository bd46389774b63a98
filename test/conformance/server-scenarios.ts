// The suite as a client: of our fixture itself, or of the gateway with the fixture behind it.
import type { Scope } from '../attack/scope.js';
import { newName, startControlPlane } from '../support/control-plane.js';
import { startDeployment } from '../support/deployment.js';
import { inParallel } from '../support/in-parallel.js';
import { send } from '../support/raw-http.js';
import { startFixture } from './fixture.js';
import { runSuite } from './official-suite.js';
import { startShim } from './shim.js';
import { Tally, type RunOptions } from './tally.js';

export type Subject = 'dataplane' | 'control' | 'direct';

/** An endpoint of the gateway's, and a token that is good there. */
interface Target {
  readonly url: string;
  readonly token: string;
}

const BACKEND = 'backend';
/** Scenarios at once: each is a program that is mostly waited for, with sessions of its own. */
const LANES = 2;
/** What the revision requires, by the suite's own list; what is wanted beside it, which it does not score. */
const REVISION = '2025-11-25';
const REQUIRED_COUNT = 30;
const UNSCORED = ['server-session-lifecycle', 'json-schema-2020-12', 'server-sse-polling'];

export async function runServerScenarios(scope: Scope, subject: Subject, options: RunOptions): Promise<Tally> {
  const tally = new Tally(options);
  const url = await startSubject(scope, subject, options.workers);
  const names = options.scenarios.length > 0 ? options.scenarios : await scenarioNames();
  await inParallel(names, LANES, async (name) => {
    const words = ['server', '--url', url, '--scenario', name, '--spec-version', REVISION];
    tally.add(name, !UNSCORED.includes(name), await runSuite(words));
  });
  return tally;
}

/** @returns the URL that the suite is given. */
async function startSubject(scope: Scope, subject: Subject, workers: number): Promise<string> {
  const fixture = await startFixture();
  scope.teardown(() => fixture.close());
  if (subject === 'direct') return fixture.url;
  let target: Target = { url: '', token: '' };
  const shim = await startShim(BACKEND, () => target);
  scope.teardown(() => shim.close());
  const hosts = [`127.0.0.1:${shim.port}`, `localhost:${shim.port}`];
  const origins = hosts.map((host) => `http://${host}`);
  // A backend that ends its stream early is asked for the rest at once: only where that is slow, the suite has a stream to look at.
  const slow = ['--slow-answer', '100ms'];
  const words = ['--allowed-hosts', hosts.join(','), '--allowed-origins', origins.join(','), ...slow];
  target =
    subject === 'dataplane'
      ? await startDataplane(scope, fixture.url, workers, words)
      : await startAggregate(scope, fixture.url, shim.port, words);
  return shim.url;
}

async function startDataplane(
  scope: Scope,
  url: string,
  workerCount: number,
  options: readonly string[],
): Promise<Target> {
  const patience = ['--initialize-patience', '30s'];
  const deployment = await startDeployment(scope, { workerCount, options: [...options, ...patience] });
  const caller = await deployment.caller({ [BACKEND]: { url } });
  return { url: caller.origin + caller.path, token: caller.token };
}

/** The control plane's `/mcp`, with the fixture as its only server. @param port of a host that it allows. */
async function startAggregate(scope: Scope, url: string, port: number, options: readonly string[]): Promise<Target> {
  const controlPlane = await startControlPlane(scope, { options });
  const token = await controlPlane.token(newName('conformance'));
  const answer = await send(controlPlane.origin, {
    method: 'POST',
    path: '/servers',
    headers: [
      ['host', `127.0.0.1:${port}`],
      ['authorization', `Bearer ${token}`],
      ['content-type', 'application/json'],
    ],
    body: JSON.stringify({ name: BACKEND, url }),
  });
  if (answer.status !== 201) throw new Error(`the fixture could not be registered: ${answer.status} ${answer.text}`);
  return { url: `${controlPlane.origin}/mcp`, token };
}

async function scenarioNames(): Promise<string[]> {
  const { output } = await runSuite(['list', '--requirements', REVISION]);
  const [, servers = ''] = /^Server scenarios.*\n((?: +- \S+\n)+)/m.exec(output) ?? [];
  const listed = [...servers.matchAll(/- (\S+)/g)].map(([, name]) => name ?? '');
  const required = new Set(listed.filter((name) => !UNSCORED.includes(name)));
  // One that is listed in another form would be left out without a word.
  if (required.size !== REQUIRED_COUNT)
    throw new Error(`the suite lists ${required.size} scenarios of this revision, not ${REQUIRED_COUNT}`);
  return [...required, ...UNSCORED];
}
