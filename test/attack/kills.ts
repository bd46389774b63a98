// `npm run kills`: each worker is killed, or hangs, repeatedly while many sessions are called; or the primary is, after which the
// gateway is started again. Exit status 1 when a session was lost, a call failed that was not in flight in a killed process, a
// failure was reported late, a call was carried out twice, or an id or a token is found where the sessions are kept. Calls that come
// while no worker lives are counted separately, and must not be carried out.
import { parseArgs } from 'node:util';
import { startDeployment, type Deployment, type SingleDeploymentSetup } from '../support/deployment.js';
import { findFreePort } from '../support/free-port.js';
import type { Gateway } from '../support/gateway.js';
import { dumpOf, filesIn, searchFor, searchInWords } from '../support/kept-secrets.js';
import { Killer, PrimaryKiller } from '../support/killer.js';
import { startMcpBackend } from '../support/mcp-backend.js';
import { startRedis } from '../support/redis.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { carriedOut, carriedOutTwice, SessionsUnderLoad, type Death } from '../support/sessions-under-load.js';
import type { Scope } from './scope.js';
import { runInScope, say } from './program.js';

const CALLS_BETWEEN = 500;
const TOLD_WITHIN_MS = 1_000;
const HANG_TIMEOUT = '2s';

const ROUNDS = 20;
const PRIMARY_ROUNDS = 10;

const usage = `Usage: npm run kills [-- --rounds n --sessions n --workers n --hang --primary --redis]
  --rounds n    how often each worker is killed, ${ROUNDS} when not given; the primary, ${PRIMARY_ROUNDS}
  --sessions n  64 when not given
  --workers n   2 when not given
  --hang        workers are stopped, and killed by the gateway that notices
  --primary     the primary is killed, and the gateway started again: sessions are in the store
  --redis       the store is a Redis, and sessions are in it`;

type Victim = 'worker' | 'hanging worker' | 'primary';

interface KillsOptions {
  readonly rounds: number;
  readonly sessionCount: number;
  readonly workerCount: number;
  readonly victim: Victim;
  readonly hasRedis: boolean;
}

function parseOptions(words: readonly string[]): KillsOptions {
  const option = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const options = {
    rounds: option,
    sessions: option,
    workers: option,
    hang: flag,
    primary: flag,
    redis: flag,
  } as const;
  const { values } = parseArgs({ args: [...words], options });
  if (values.hang && values.primary) throw new Error('--hang is about workers');
  const { rounds = values.primary ? PRIMARY_ROUNDS : ROUNDS, sessions = 64, workers = 2 } = values;
  const [roundCount, sessionCount, workerCount] = [Number(rounds), Number(sessions), Number(workers)];
  if (![roundCount, sessionCount, workerCount].every((count) => Number.isInteger(count) && count > 0)) {
    throw new Error('each takes a whole number');
  }
  const victim = values.primary ? 'primary' : values.hang ? 'hanging worker' : 'worker';
  return { rounds: roundCount, sessionCount, workerCount, victim, hasRedis: values.redis };
}

async function run(options: KillsOptions, scope: Scope): Promise<number> {
  const { rounds, sessionCount, workerCount, victim, hasRedis } = options;
  const json = await startMcpBackend({ withSessions: true });
  const events = await startMcpBackend({ withSessions: true, answerAs: 'event-stream', framing: 'chunked' });
  for (const backend of [json, events]) scope.teardown(() => backend.close());
  const directory = victim === 'primary' || hasRedis ? ['--session-directory', 'store'] : [];
  const redis = hasRedis ? await startRedis(scope) : undefined;
  const environment = { TMPDIR: createScratchDirectory(scope) };
  const setup: SingleDeploymentSetup = {
    workerCount,
    address: `127.0.0.1:${await findFreePort()}`,
    options: ['--log-level', 'debug', '--worker-hang-timeout', HANG_TIMEOUT, ...directory],
    environment,
    ...(redis && { storeOptions: redis.storeOptions }),
  };
  const deployment = await startDeployment(scope, setup);
  const caller = await deployment.caller({ json: { url: json.url }, events: { url: events.url } });
  const load = new SessionsUnderLoad(caller, ['json-echo', 'events-echo']);
  await load.open(sessionCount);
  const kill = killerOf(options, deployment, setup, scope);
  const deaths: Death[] = [];
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < (victim === 'primary' ? 1 : workerCount); turn++) {
      await load.answered(CALLS_BETWEEN);
      deaths.push(await kill(turn));
    }
    say(`round ${round + 1}: ${load.answeredCount} answered, ${load.failures.length} not`);
  }
  await load.answered(CALLS_BETWEEN);
  const { storeOptions } = deployment;
  const folders = [environment.TMPDIR, ...(storeOptions.kind === 'embedded' ? [storeOptions.path] : [])];
  const kept = [...folders.flatMap(filesIn), ...(redis === undefined ? [] : await dumpOf(redis))];
  await load.end();
  const upstreamIds = [json, events].flatMap(({ sessions }) => [...sessions]);
  const search = searchFor({ sessionIds: load.sessionIds, upstreamIds, tokens: [caller.token] }, kept);
  const unexcused = load.unexcused(deaths, TOLD_WITHIN_MS);
  const unserved = new Set(load.unserved(deaths).map(({ number }) => number));
  const strays = carriedOut([json, events]).filter((number) => unserved.has(number));
  const cutOff = load.failures.length - unserved.size - unexcused.length;
  const twice = carriedOutTwice([json, events]);
  const lost = 2 * sessionCount - json.sessions.size - events.sessions.size;
  const opened = json.requestsOf('initialize').length + events.requestsOf('initialize').length - 2 * sessionCount;
  for (const failure of unexcused.slice(0, 20)) say(JSON.stringify(failure));
  say(
    `${deaths.length} deaths, ${sessionCount} sessions: ${load.answeredCount} calls answered, ${cutOff} cut off with their ` +
      `process, ${unserved.size} while no worker lived (${strays.length} of them carried out), ${unexcused.length} others failed, ` +
      `${twice.length} carried out twice, ${lost} upstream sessions lost, ${opened} opened again`,
  );
  const goneMs = deaths.map(({ signalledAtMs, goneAtMs }) => Math.round(goneAtMs - signalledAtMs));
  say(`from the signal until the process, and all that are its own, were gone: ${Math.max(...goneMs)} ms at most`);
  say(searchInWords(search));
  const shown = search.secrets.length + search.unwritten.length;
  return unexcused.length + strays.length + twice.length + lost + opened + shown === 0 ? 0 : 1;
}

/** Returns a function that kills the next process and resolves when it is replaced. */
function killerOf(
  { victim }: KillsOptions,
  { gateway, key, storeOptions }: Deployment,
  setup: SingleDeploymentSetup,
  scope: Scope,
): (slot: number) => Promise<Death> {
  if (victim === 'primary') {
    const start = async (): Promise<Gateway> => (await startDeployment(scope, { ...setup, key, storeOptions })).gateway;
    const killer = new PrimaryKiller(gateway, start);
    return () => killer.killPrimary();
  }
  const killer = new Killer(gateway, victim === 'worker' ? 'SIGKILL' : 'SIGSTOP');
  return (slot) => killer.killWorkerOf(slot);
}

await runInScope(usage, parseOptions, run);
