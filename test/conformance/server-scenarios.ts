// The suite as a client: of our fixture itself, or of the gateway in front of the fixture.
import type { Scope } from '../attack/scope.js';
import { newName, startControlPlane } from '../support/control-plane.js';
import { startDeployment } from '../support/deployment.js';
import { inParallel } from '../support/in-parallel.js';
import { send } from '../support/raw-http.js';
import { startFixture, type Fixture } from './fixture.js';
import { startModernFixture } from './modern-fixture.js';
import { runSuite } from './official-suite.js';
import { startShim } from './shim.js';
import { Tally, type Revision, type RunOptions } from './tally.js';

export type Subject = 'dataplane' | 'control' | 'direct';

/** An endpoint of the gateway, and a token that is valid there. */
interface Target {
  readonly url: string;
  readonly token: string;
}

const BACKEND = 'backend';
/** How many scenarios run at once: each is a program, with sessions of its own, that mostly waits. */
const LANES = 2;

interface Requirement {
  /** The number of scenarios that the suite lists for the revision. */
  readonly scoredCount: number;
  /** Additional scenarios, which the suite does not score. */
  readonly unscored: readonly string[];
  readonly startFixture: () => Promise<Fixture>;
}

const REQUIREMENTS: Readonly<Record<Revision, Requirement>> = {
  '2025-11-25': {
    scoredCount: 30,
    unscored: ['server-session-lifecycle', 'json-schema-2020-12', 'server-sse-polling'],
    startFixture,
  },
  '2026-07-28': {
    scoredCount: 37,
    unscored: ['json-schema-2020-12', 'http-header-validation', 'http-custom-header-server-validation'],
    startFixture: startModernFixture,
  },
};

export async function runServerScenarios(scope: Scope, subject: Subject, options: RunOptions): Promise<Tally> {
  const tally = new Tally(options);
  const { revision } = options;
  const { unscored, startFixture } = REQUIREMENTS[revision];
  const url = await startSubject(scope, subject, startFixture, options.workers);
  const known = await scenarioNames(revision);
  const { scenarios } = options;
  const names = scenarios.length > 0 ? known.filter((name) => scenarios.includes(name)) : known;
  await inParallel(names, LANES, async (name) => {
    const words = ['server', '--url', url, '--scenario', name, '--spec-version', revision];
    tally.add(name, !unscored.includes(name), await runSuite(words));
  });
  return tally;
}

/** @returns the URL for the suite. */
async function startSubject(
  scope: Scope,
  subject: Subject,
  startFixture: () => Promise<Fixture>,
  workers: number,
): Promise<string> {
  const fixture = await startFixture();
  scope.teardown(() => fixture.close());
  if (subject === 'direct') return fixture.url;
  let target: Target = { url: '', token: '' };
  const shim = await startShim(BACKEND, () => target);
  scope.teardown(() => shim.close());
  const hosts = [`127.0.0.1:${shim.port}`, `localhost:${shim.port}`];
  const origins = hosts.map((host) => `http://${host}`);
  // A backend that ends its stream early is asked for the rest at once: only if that is slow does the suite see a stream.
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

/** The control plane's `/mcp`, with the fixture as its only server. @param port of a host that the control plane allows. */
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

async function scenarioNames(revision: Revision): Promise<string[]> {
  const { scoredCount, unscored } = REQUIREMENTS[revision];
  const { output } = await runSuite(['list', '--requirements', revision]);
  const [, servers = ''] = /^Server scenarios.*\n((?: +- \S+\n)+)/m.exec(output) ?? [];
  const listed = [...servers.matchAll(/- (\S+)/g)].map(([, name]) => name ?? '');
  const required = new Set(listed.filter((name) => !unscored.includes(name)));
  // A scenario that is listed in another form would be silently left out.
  if (required.size !== scoredCount)
    throw new Error(`the suite lists ${required.size} scenarios of ${revision}, not ${scoredCount}`);
  return [...required, ...unscored];
}
