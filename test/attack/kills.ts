// `npm run kills`: each worker is killed, or hangs, again and again while many sessions are called. Exit status 1 when a session was lost, a
// call failed that was not in flight in a killed worker, one was told late, or one was carried out twice.
import { parseArgs } from 'node:util';
import { runProgram } from '../../bench/program.js';
import { startDeployment } from '../support/deployment.js';
import { Killer } from '../support/killer.js';
import { startMcpBackend } from '../support/mcp-backend.js';
import { carriedOutTwice, SessionsUnderLoad } from '../support/sessions-under-load.js';
import { Scope } from './scope.js';

const CALLS_BETWEEN = 500;
const TOLD_WITHIN_MS = 1_000;
const HANG_TIMEOUT = '2s';

const usage = `Usage: npm run kills [-- --rounds n --sessions n --workers n --hang]
  --rounds n    how often each worker is killed, 20 when not given
  --sessions n  64 when not given
  --workers n   2 when not given
  --hang        workers are stopped, and killed by the gateway that notices`;

interface KillsOptions {
  readonly rounds: number;
  readonly sessionCount: number;
  readonly workerCount: number;
  readonly isHanging: boolean;
}

function parseOptions(words: readonly string[]): KillsOptions {
  const option = { type: 'string' } as const;
  const options = { rounds: option, sessions: option, workers: option, hang: { type: 'boolean' } } as const;
  const { values } = parseArgs({ args: [...words], options });
  const numbers = [values.rounds ?? '20', values.sessions ?? '64', values.workers ?? '2'].map(Number);
  if (numbers.some((number) => !Number.isInteger(number) || number < 1)) throw new Error('each takes a whole number');
  const [rounds = 0, sessionCount = 0, workerCount = 0] = numbers;
  return { rounds, sessionCount, workerCount, isHanging: values.hang === true };
}

async function run({ rounds, sessionCount, workerCount, isHanging }: KillsOptions, scope: Scope): Promise<number> {
  const json = await startMcpBackend({ withSessions: true });
  const events = await startMcpBackend({ withSessions: true, answerAs: 'event-stream', framing: 'chunked' });
  for (const backend of [json, events]) scope.teardown(() => backend.close());
  const deployment = await startDeployment(scope, {
    workerCount,
    options: ['--log-level', 'debug', '--worker-hang-timeout', HANG_TIMEOUT],
  });
  const caller = await deployment.caller({ json: { url: json.url }, events: { url: events.url } });
  const load = new SessionsUnderLoad(caller, ['json-echo', 'events-echo']);
  await load.open(sessionCount);
  const killer = new Killer(deployment.gateway, isHanging ? 'SIGSTOP' : 'SIGKILL');
  for (let round = 0; round < rounds; round++) {
    for (let slot = 0; slot < workerCount; slot++) {
      await load.answered(CALLS_BETWEEN);
      await killer.killWorkerOf(slot);
    }
    say(`round ${round + 1}: ${load.answeredCount} answered, ${load.failures.length} cut off`);
  }
  await load.answered(CALLS_BETWEEN);
  await load.end();
  const unexcused = load.unexcused(killer.deaths, TOLD_WITHIN_MS);
  const twice = carriedOutTwice([json, events]);
  const lost = 2 * sessionCount - json.sessions.size - events.sessions.size;
  const opened = json.requestsOf('initialize').length + events.requestsOf('initialize').length - 2 * sessionCount;
  for (const failure of unexcused.slice(0, 20)) say(JSON.stringify(failure));
  say(
    `${killer.deaths.length} deaths, ${sessionCount} sessions: ${load.answeredCount} calls answered, ${load.failures.length} cut off ` +
      `with their worker, ${unexcused.length} others failed, ${twice.length} carried out twice, ` +
      `${lost} upstream sessions lost, ${opened} opened again`,
  );
  return unexcused.length + twice.length + lost + opened === 0 ? 0 : 1;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

await runProgram(usage, parseOptions, async (options) => {
  const scope = new Scope();
  try {
    return await run(options, scope);
  } finally {
    await scope.end();
  }
});
