// Workers, and the primary, are killed under load. No session is lost; a request that was not in flight in the killed process
// succeeds, or is refused because no process listens; nothing is carried out twice. `npm run kills` runs this for longer.
import t, { type Test } from 'tap';
import { backendFor, startDeployment, type Deployment, type SingleDeploymentSetup } from '../support/deployment.js';
import { findFreePort } from '../support/free-port.js';
import { Killer, PrimaryKiller } from '../support/killer.js';
import { carriedOut, carriedOutTwice, SessionsUnderLoad, type Death } from '../support/sessions-under-load.js';

const WORKERS = 2;
const LOGGED = ['--log-level', 'debug'];
const SESSIONS = 12;
const CALLS_BETWEEN = 200;
/** How long after a death calls that it interrupted may take to fail: one second, and a margin for a busy machine. */
const TOLD_WITHIN_MS = 3_000;

/** Calls in several sessions through a series of deaths. @param killer given the first gateway, returns what causes the next death. */
async function callThroughDeaths(
  t: Test,
  setup: SingleDeploymentSetup,
  deathCount: number,
  killer: (deployment: Deployment) => (death: number) => Promise<Death>,
): Promise<void> {
  const json = await backendFor(t, { withSessions: true });
  const events = await backendFor(t, { withSessions: true, answerAs: 'event-stream', framing: 'chunked' });
  const deployment = await startDeployment(t, setup);
  const caller = await deployment.caller({ json: { url: json.url }, events: { url: events.url } });
  const load = new SessionsUnderLoad(caller, ['json-echo', 'events-echo']);
  await load.open(SESSIONS);
  const kill = killer(deployment);
  await load.answered(CALLS_BETWEEN);
  t.same(load.failures, [], 'nothing fails before');
  const deaths: Death[] = [];
  for (let death = 0; death < deathCount; death++) {
    deaths.push(await kill(death));
    await load.answered(CALLS_BETWEEN);
  }
  await load.end();
  t.same(load.unexcused(deaths, TOLD_WITHIN_MS), []);
  t.same(carriedOutTwice([json, events]), []);
  const unserved = new Set(load.unserved(deaths).map(({ number }) => number));
  t.same(
    carriedOut([json, events]).filter((number) => unserved.has(number)),
    [],
    'what nobody served was not carried out',
  );
  t.same(
    [json.sessions.size, events.sessions.size],
    [SESSIONS, SESSIONS],
    'the upstream sessions are those from before',
  );
}

t.test('no session is lost with its worker', async (t) => {
  const setup = { workerCount: WORKERS, options: LOGGED };
  await callThroughDeaths(t, setup, WORKERS, ({ gateway }) => {
    const killer = new Killer(gateway);
    return (slot) => killer.killWorkerOf(slot);
  });
});

t.test('nor with the primary, if sessions are in the store and the gateway is restarted', async (t) => {
  const address = `127.0.0.1:${await findFreePort()}`;
  const setup = { workerCount: WORKERS, address, options: [...LOGGED, '--session-directory', 'store'] };
  await callThroughDeaths(t, setup, 1, ({ gateway, key, storeOptions }) => {
    const startAgain = async () => (await startDeployment(t, { ...setup, key, storeOptions })).gateway;
    const killer = new PrimaryKiller(gateway, startAgain);
    return () => killer.killPrimary();
  });
});
