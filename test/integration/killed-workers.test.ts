// Workers are killed under load, and the primary. No session is lost, what was not in flight in the killed process succeeds or finds
// nobody who listens, and nothing is carried out twice. `npm run kills` does it for longer.
import t, { type Test } from 'tap';
import { backendFor, startDeployment, type Deployment, type SingleDeploymentSetup } from '../support/deployment.js';
import { findFreePort } from '../support/free-port.js';
import { Killer, PrimaryKiller } from '../support/killer.js';
import { carriedOut, carriedOutTwice, SessionsUnderLoad, type Death } from '../support/sessions-under-load.js';

const WORKERS = 2;
const LOGGED = ['--log-level', 'debug'];
const SESSIONS = 12;
const CALLS_BETWEEN = 200;
/** A second, and what a busy machine adds. */
const TOLD_WITHIN_MS = 3_000;

/** Has sessions called while one death after the other comes. @param killer what makes the next death, given the first gateway. */
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

t.test('nor with the primary, where sessions are in the store and somebody starts it again', async (t) => {
  const address = `127.0.0.1:${await findFreePort()}`;
  const setup = { workerCount: WORKERS, address, options: [...LOGGED, '--session-directory', 'store'] };
  await callThroughDeaths(t, setup, 1, ({ gateway, key, storeOptions }) => {
    const startAgain = async () => (await startDeployment(t, { ...setup, key, storeOptions })).gateway;
    const killer = new PrimaryKiller(gateway, startAgain);
    return () => killer.killPrimary();
  });
});
