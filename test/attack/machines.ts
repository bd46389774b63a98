// `npm run machines`: three gateways on one Redis, each standing for a machine, and many sessions whose every request goes to another
// machine. Then one of them is cut off from Redis for ten seconds, then another one dies; at the end Redis is searched for secrets. Exit
// status 1 when a call failed that was not in flight in the dead one, a call was carried out twice, an ended session is still found at
// another machine, even one with a longer way to Redis, or an id or a token is found in Redis.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { RedisStoreOptions } from '../../src/store/redis-connection.js';
import { startDeployment, type ConfiguredCaller, type Deployment } from '../support/deployment.js';
import { startMcpBackend } from '../support/mcp-backend.js';
import { McpCaller, McpSession, rpc } from '../support/mcp-caller.js';
import { dumpOf, searchFor, searchInWords } from '../support/kept-secrets.js';
import { startRedis } from '../support/redis.js';
import { carriedOutTwice } from '../support/sessions-under-load.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import type { Scope } from './scope.js';
import { runInScope, say } from './program.js';

const MACHINES = 3;
const SUBJECTS = 20;
const LANES = 16;
const CUT_MS = 10_000;
const DELETED = 500;

const usage = `Usage: npm run machines [-- --sessions n --calls n]
  --sessions n  1000 when not given
  --calls n     in each session, 10 when not given`;

interface MachinesOptions {
  readonly sessionCount: number;
  readonly callCount: number;
}

function parseOptions(words: readonly string[]): MachinesOptions {
  const option = { type: 'string' } as const;
  const { values } = parseArgs({ args: [...words], options: { sessions: option, calls: option } });
  const [sessionCount = 0, callCount = 0] = [values.sessions ?? '1000', values.calls ?? '10'].map(Number);
  if (![sessionCount, callCount].every((count) => Number.isInteger(count) && count > 0)) {
    throw new Error('each takes a whole number');
  }
  return { sessionCount, callCount };
}

/** Sessions that are each called at one machine after the other. */
class Load {
  readonly failures: string[] = [];
  answered = 0;
  readonly #machines: readonly Deployment[];
  readonly #callers: readonly ConfiguredCaller[];
  #sessions: readonly McpSession[] = [];
  #number = 0;

  constructor(machines: readonly Deployment[], callers: readonly ConfiguredCaller[]) {
    this.#machines = machines;
    this.#callers = callers;
  }

  get sessions(): readonly McpSession[] {
    return this.#sessions;
  }

  async open(count: number): Promise<void> {
    this.#sessions = await this.#each(count, (n) => this.#at(n, this.#callers[n % SUBJECTS]!).openSession());
  }

  /** Makes one call in each session. @param isLost whether a machine is dead: its calls go to the next one. */
  async round(round: number, isLost: (machine: number) => boolean = () => false): Promise<void> {
    await this.#each(this.#sessions.length, async (n) => {
      const machine = (n + round) % MACHINES;
      await this.#call(this.#sessions[n]!, isLost(machine) ? machine + 1 : machine);
    });
  }

  /** Ends `count` sessions and calls each at the next machine at once. @returns how many were found there, by machine. */
  async delete(count: number): Promise<readonly number[]> {
    const found = this.#machines.map(() => 0);
    await this.#each(count, async (n) => {
      const session = this.#sessions[n]!;
      await this.#there(n, session).delete();
      const next = (n + 1) % MACHINES;
      if ((await this.#there(next, session).call('one-echo')).status !== 404) found[next]! += 1;
    });
    this.#sessions = this.#sessions.slice(count);
    return found;
  }

  #at(machine: number, { path, token }: McpCaller): McpCaller {
    return new McpCaller(this.#machines[machine % MACHINES]!.gateway.origin, path, token);
  }

  #there(machine: number, { caller, id, opening }: McpSession): McpSession {
    return new McpSession(this.#at(machine, caller), id, opening);
  }

  async #call(session: McpSession, machine: number): Promise<void> {
    const number = ++this.#number;
    try {
      const there = this.#there(machine, session);
      const answer = await there.call('one-echo', `{"number":${number}}`, { id: String(number) });
      const { result } = rpc(answer) as { result?: { structuredContent?: { number?: unknown } } };
      if (result?.structuredContent?.number === number) this.answered += 1;
      else this.failures.push(`${answer.status} ${answer.text.slice(0, 160)}`);
    } catch (error) {
      this.failures.push(error instanceof Error ? error.message.slice(0, 160) : String(error));
    }
  }

  async #each<Answer>(count: number, act: (index: number) => Promise<Answer>): Promise<Answer[]> {
    const answers: Answer[] = [];
    let next = 0;
    const lane = async (): Promise<void> => {
      for (let index = next++; index < count; index = next++) answers[index] = await act(index);
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    return answers;
  }
}

async function run({ sessionCount, callCount }: MachinesOptions, scope: Scope): Promise<number> {
  const backend = await startMcpBackend({ withSessions: true });
  scope.teardown(() => backend.close());
  const redis = await startRedis(scope);
  const proxy = await TcpProxy.start(scope, redis.port);
  const beyond: RedisStoreOptions = { ...redis.storeOptions, location: { host: '127.0.0.1', port: proxy.port } };
  const options = ['--session-directory', 'store'];
  const first = await startDeployment(scope, { workerCount: 1, storeOptions: redis.storeOptions, options });
  const { key } = first;
  const second = await startDeployment(scope, { workerCount: 2, storeOptions: redis.storeOptions, options, key });
  const third = await startDeployment(scope, { workerCount: 1, storeOptions: beyond, options, key });
  const callers: ConfiguredCaller[] = [];
  for (let n = 0; n < SUBJECTS; n++) callers.push(await first.caller({ one: { url: backend.url } }));
  const load = new Load([first, second, third], callers);
  await load.open(sessionCount);
  for (let round = 0; round < callCount; round++) await load.round(round + 1);
  say(`every call at another machine: ${load.answered} answered, ${load.failures.length} failed`);
  const sessionIds = load.sessions.map(({ id }) => id);
  const found = await load.delete(Math.min(DELETED, sessionCount));
  // The third machine's way to Redis is longer than a request's way to it.
  const [atFirst = 0, atSecond = 0, beyondProxy = 0] = found;
  const deleted = Math.min(DELETED, sessionCount);
  say(
    `${deleted} ended at one machine, found at another: ${atFirst + atSecond}; at the one behind a proxy: ${beyondProxy}`,
  );

  proxy.hold(() => true);
  const cutUntilMs = performance.now() + CUT_MS;
  for (let round = 0; performance.now() < cutUntilMs; round++) await load.round(round);
  proxy.release();
  say(`Redis out of reach of one machine: ${load.answered} answered so far, ${load.failures.length} failed`);

  const before = load.failures.length;
  let isDead = false;
  const killing = sleep(200).then(() => {
    for (const pid of [first.gateway.pid, ...first.gateway.workerPids()]) process.kill(pid, 'SIGKILL');
    isDead = true;
  });
  for (let round = 0; round < callCount || !isDead; round++)
    await load.round(round, (machine) => machine === 0 && isDead);
  await killing;
  // Requests in flight at the dead machine, and no others.
  const cutOff = load.failures.length - before;
  const wrong = load.failures.filter((failure, n) => n < before || /^\d/.test(failure));
  const twice = carriedOutTwice([backend]);
  const lost = sessionCount - deleted - backend.sessions.size;
  say(`a machine died: ${load.answered} answered so far, ${cutOff} cut off with it, of ${LANES} at once`);
  say(`${wrong.length} wrong, ${twice.length} carried out twice, ${lost} upstream sessions lost`);
  for (const failure of wrong.slice(0, 10)) say(`  ${failure}`);
  const upstreamIds = [...backend.sessions, ...backend.deletedSessions];
  const search = searchFor({ sessionIds, upstreamIds, tokens: callers.map(({ token }) => token) }, await dumpOf(redis));
  say(searchInWords(search));
  const stillFound = atFirst + atSecond + beyondProxy;
  const shown = search.secrets.length + search.unwritten.length;
  const faults = wrong.length + twice.length + Math.abs(lost) + stillFound + shown + (cutOff > LANES ? 1 : 0);
  return faults === 0 ? 0 : 1;
}

await runInScope(usage, parseOptions, run);
