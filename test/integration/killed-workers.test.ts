// Workers are killed under load. No session is lost, what was not in flight in the killed one succeeds, and nothing is carried out
// twice. `npm run kills` does it for longer.
import t from 'tap';
import { backendFor, startDeployment } from '../support/deployment.js';
import { Killer } from '../support/killer.js';
import { carriedOutTwice, SessionsUnderLoad } from '../support/sessions-under-load.js';

const WORKERS = 2;
const SESSIONS = 12;
const CALLS_BETWEEN = 200;
/** A second, and what a busy machine adds. */
const TOLD_WITHIN_MS = 3_000;

t.test('no session is lost with its worker', async (t) => {
  const json = await backendFor(t, { withSessions: true });
  const events = await backendFor(t, { withSessions: true, answerAs: 'event-stream', framing: 'chunked' });
  const deployment = await startDeployment(t, { workerCount: WORKERS, options: ['--log-level', 'debug'] });
  const caller = await deployment.caller({ json: { url: json.url }, events: { url: events.url } });
  const load = new SessionsUnderLoad(caller, ['json-echo', 'events-echo']);
  await load.open(SESSIONS);
  const killer = new Killer(deployment.gateway);
  await load.answered(CALLS_BETWEEN);
  t.same(load.failures, [], 'nothing fails before');
  for (let slot = 0; slot < WORKERS; slot++) {
    await killer.killWorkerOf(slot);
    await load.answered(CALLS_BETWEEN);
  }
  await load.end();
  t.same(load.unexcused(killer.deaths, TOLD_WITHIN_MS), []);
  t.same(carriedOutTwice([json, events]), []);
  t.same(
    [json.sessions.size, events.sessions.size],
    [SESSIONS, SESSIONS],
    'the upstream sessions are those from before',
  );
});
