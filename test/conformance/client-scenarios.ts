// The suite as a server, with the gateway as its client: for each scenario the suite starts a server and runs `client.ts`
// with its URL, which makes that server the only backend of a virtual host and drives the gateway.
import { fileURLToPath } from 'node:url';
import type { Scope } from '../attack/scope.js';
import { startDeployment } from '../support/deployment.js';
import { scenarioSteps, SETUP_VARIABLE, type ClientSetup } from './client-setup.js';
import { CLIENT_ERAS, modernSteps, type ClientEra } from './modern-client-setup.js';
import { runSuite } from './official-suite.js';
import { Tally, type RunOptions } from './tally.js';

/**
 * What these check holds for every POST of a client of MCP 2026-07-28. For a client with a session the gateway first sends `initialize`,
 * a request of the session's revision, whatever a server says of itself; all that follows is as for a client of this revision.
 */
const EVERY_POST: ReadonlySet<string> = new Set(['request-metadata', 'http-standard-headers']);

/** Long enough for a loaded machine; the suite itself gives a client half a minute. */
const CLIENT_TIMEOUT_MS = 180_000;

export async function runClientScenarios(scope: Scope, options: RunOptions): Promise<Tally> {
  const tally = new Tally(options);
  const deployment = await startDeployment(scope, {
    workerCount: options.workers,
    options: ['--initialize-patience', '30s'],
  });
  const program = fileURLToPath(new URL('client.js', import.meta.url));
  const { revision, scenarios } = options;
  const isModern = revision === '2026-07-28';
  const known = Object.keys(isModern ? modernSteps : scenarioSteps);
  const eras: readonly ClientEra[] = isModern ? CLIENT_ERAS : ['legacy'];
  for (const name of scenarios.length > 0 ? known.filter((name) => scenarios.includes(name)) : known) {
    for (const era of eras) {
      if (isModern && era === 'legacy' && EVERY_POST.has(name)) continue;
      const { subject, virtualHostId, token, origin, path } = await deployment.caller();
      const { storeOptions } = deployment;
      const setup: ClientSetup = { revision, era, storeOptions, subject, virtualHostId, token, url: origin + path };
      const words = ['client', '--command', `${process.execPath} ${program}`, '--timeout', String(CLIENT_TIMEOUT_MS)];
      const run = await runSuite([...words, '--scenario', name, '--spec-version', revision], {
        [SETUP_VARIABLE]: JSON.stringify(setup),
      });
      tally.add(isModern ? `${name}, ${era} client` : name, true, run);
    }
  }
  return tally;
}
