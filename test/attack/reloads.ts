// `npm run reloads`: a gateway is reloaded repeatedly under load. No response may be wrong, no stream refused and nothing
// called twice; connections may be reset only where the kernel does not migrate them (deploy/sysctl). Exit status 1
// otherwise.
import { parseArgs } from 'node:util';
import { migratesConnections, runReloadLoad, type ReloadLoadPlan } from '../support/reload-load.js';
import { runInScope, say } from './program.js';

const usage = `Usage: npm run reloads [-- --reloads n --sessions n --workers n]
  --reloads n    10 when not given
  --sessions n   64 when not given
  --workers n    2 when not given`;

const ANSWERS_BETWEEN = 50;
/** One session in this many has a stream of its own. */
const SESSIONS_PER_STREAM = 4;

function parseOptions(words: readonly string[]): ReloadLoadPlan {
  const options = { reloads: { type: 'string' }, sessions: { type: 'string' }, workers: { type: 'string' } } as const;
  const { values } = parseArgs({ args: [...words], options });
  const { reloads = 10, sessions = 64, workers = 2 } = values;
  const [reloadCount, sessionCount, workerCount] = [Number(reloads), Number(sessions), Number(workers)];
  if (![reloadCount, sessionCount, workerCount].every((count) => Number.isInteger(count) && count > 0)) {
    throw new Error('each option takes a whole number');
  }
  const streamCount = Math.ceil(sessionCount / SESSIONS_PER_STREAM);
  return { reloadCount, sessionCount, workerCount, streamCount, answersBetween: ANSWERS_BETWEEN };
}

await runInScope(usage, parseOptions, async (plan, scope) => {
  const outcome = await runReloadLoad(scope, plan);
  const { answers, wrong, resets, repeated, streamsOpened, wrongStreams, reloadMs } = outcome;
  say(`${answers} answers in ${plan.sessionCount} sessions; reloads took ${reloadMs.join(', ')} ms`);
  say(`streams opened ${streamsOpened}; refused ${wrongStreams.length}`);
  say(`wrong answers ${wrong.length}, calls made twice ${repeated.length}`);
  say(`connections reset ${resets.length}, with net.ipv4.tcp_migrate_req=${Number(migratesConnections())}`);
  for (const fault of [...wrong, ...resets].slice(0, 10)) say(`  ${fault.slice(0, 200)}`);
  const isFine = wrong.length + wrongStreams.length + repeated.length === 0;
  return isFine && (resets.length === 0 || !migratesConnections()) ? 0 : 1;
});
