// Measures what sessions cost Redis: two gateways share a real one; some thousand sessions are opened, called at both, renewed and
// ended, and Redis itself reports what it did and what it holds.
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Scope } from '../attack/scope.js';
import { startDeployment, type ConfiguredCaller, type Deployment } from '../support/deployment.js';
import { startMcpBackend } from '../support/mcp-backend.js';
import { McpCaller, McpSession } from '../support/mcp-caller.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import type { EventCost, FleetMeasures } from './measures.js';
import { callsByName, costOf, cpuUs, infoOf, numberOf, rounded, without } from './redis-counts.js';
import { SESSION_RENEWALS_PER_IDLE_TIMEOUT } from '../../src/session/sessions.js';

const SUBJECTS = 200;
const LANES = 16;
/** Short, so that a few rounds of renewals fit into the measurement. */
const RENEWED_IDLE_TIMEOUT_MS = 20_000;
const RENEWED_SESSIONS = 400;
const RENEWAL_ROUNDS = 3;
const QUIET_MS = 15_000;
const PINGS = 5_000;
/** By then Redis and the gateways have finished exchanging messages. */
const SETTLE_MS = 300;

export async function measureFleet(scope: Scope, count: number, say: (line: string) => void): Promise<FleetMeasures> {
  const backends = await Promise.all([1, 2].map(() => startMcpBackend({ withSessions: true })));
  for (const backend of backends) scope.teardown(() => backend.close());
  const urls = { one: { url: backends[0]!.url }, two: { url: backends[1]!.url } };
  const server = await startRedis(scope);
  const redis = await server.connect();
  const connectionsBefore = await numberOf(redis, 'clients', 'connected_clients');
  const here = await machine(scope, server);
  const connectionsPerWorker = (await numberOf(redis, 'clients', 'connected_clients')) - connectionsBefore;
  const quiet = await quietCost(redis);
  say(`${quiet.pingsPerSecond} pings a second of a worker`);
  const renewed = await renewalCost(scope, server, redis, urls);
  const there = await machine(scope, server, here);
  const quietUs = await quietUsPerMs(redis);
  const callers: ConfiguredCaller[] = [];
  for (let n = 0; n < SUBJECTS; n += 1) callers.push(await here.caller(urls));
  const callerAt = (deployment: Deployment, n: number): McpCaller => {
    const { path, token } = callers[n % SUBJECTS]!;
    return new McpCaller(deployment.gateway.origin, path, token);
  };
  const cost = async (times: number, act: (n: number) => Promise<unknown>, renewals = 0): Promise<EventCost> => {
    await sleep(SETTLE_MS);
    const all = await costOf(redis, times, quietUs, async () => {
      await inLanes(times, act);
      await sleep(SETTLE_MS);
    });
    // Sessions that are due meanwhile are renewed as usual; that cost is subtracted.
    return without(all, renewed, (all.commands['pexpire'] ?? 0) - renewals);
  };
  const open = (deployment: Deployment, sessions: McpSession[]) => async (n: number) =>
    void (sessions[n] = await callerAt(deployment, n).openSession());
  const callAt = (deployment: Deployment, sessions: readonly McpSession[]) => async (n: number) => {
    const { id, opening } = sessions[n]!;
    const { status, text } = await new McpSession(callerAt(deployment, n), id, opening).call('one-echo');
    if (status !== 200) throw new Error(`a call was answered ${status}: ${text}`);
  };
  const end = (sessions: readonly McpSession[]) => async (n: number) => {
    const { status, text } = await sessions[n]!.delete();
    if (status >= 300) throw new Error(`DELETE was answered ${status}: ${text}`);
  };

  const first: McpSession[] = [];
  const opening = await cost(SUBJECTS, open(here, first));
  await inLanes(SUBJECTS, end(first));
  const sessions: McpSession[] = [];
  const usedBefore = await usedBytes(redis);
  const opened = await cost(count, open(here, sessions));
  const sessionBytes = ((await usedBytes(redis)) - usedBefore) / count;
  const recordBytes = await meanKeyBytes(redis);
  say(`${count} sessions: ${Math.round(sessionBytes)} bytes each, ${Math.round(recordBytes)} of them the record`);
  // Loads the users' configs first, or an adoption would include reading one.
  await inLanes(SUBJECTS, async (n) => void (await callerAt(there, n).openSession()));
  const called = await cost(count, callAt(here, sessions));
  const adopted = await cost(count, callAt(there, sessions), 1);
  // While the connections are in use, and have buffers.
  const clients = await Promise.all([
    numberOf(redis, 'memory', 'mem_clients_normal'),
    numberOf(redis, 'clients', 'connected_clients'),
  ]);
  const connectionBytes = clients[0] / clients[1];
  say(`${connectionsPerWorker} connections of a worker, ${Math.round(connectionBytes)} bytes each`);
  const calledBefore = await cost(count, callAt(here, sessions));
  const endedElsewhere = await cost(count, end(sessions));
  const alone: McpSession[] = [];
  await inLanes(count, open(here, alone));
  const ended = await cost(count, end(alone));
  say('opened, called, adopted and ended');
  const markBytes = await meanKeyBytes(redis, true);
  return {
    measuredAt: new Date().toISOString(),
    redis: (await infoOf(redis, 'server')).get('redis_version') ?? 'unknown',
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    sessions: count,
    sessionBytes: Math.round(sessionBytes),
    recordBytes: Math.round(recordBytes),
    markBytes: Math.round(markBytes),
    connectionBytes: Math.round(connectionBytes),
    connectionsPerWorker,
    ...quiet,
    events: {
      opened,
      'called where it is': called,
      adopted,
      'called where it was before': calledBefore,
      renewed,
      ended,
      'ended where others had it': endedElsewhere,
      'config read': without(opening, opened, 1),
    },
  };
}

function machine(scope: Scope, { storeOptions }: RedisServer, like?: Deployment): Promise<Deployment> {
  const options = ['--session-directory', 'store', '--max-sessions-per-subject', '100000'];
  return startDeployment(scope, { workerCount: 1, storeOptions, options, ...(like && { key: like.key }) });
}

/** The cost of one worker whose only activity is checking that Redis is there. */
async function quietCost(redis: Redis): Promise<Pick<FleetMeasures, 'pingsPerSecond' | 'pingCpuUs'>> {
  const pings = async (): Promise<number> => (await callsByName(redis)).get('ping') ?? 0;
  const pingsBefore = await pings();
  await sleep(QUIET_MS);
  const pingsPerSecond = rounded((((await pings()) - pingsBefore) * 1_000) / QUIET_MS);
  const cpuBefore = await cpuUs(redis);
  for (let n = 0; n < PINGS; n += 1) await redis.ping();
  return { pingsPerSecond, pingCpuUs: rounded(((await cpuUs(redis)) - cpuBefore) / PINGS) };
}

/** Sessions that are called all the time: the only writes meanwhile are their renewals. */
async function renewalCost(
  scope: Scope,
  { storeOptions }: RedisServer,
  redis: Redis,
  urls: Parameters<Deployment['caller']>[0],
): Promise<EventCost> {
  const options = ['--session-directory', 'store', '--session-idle-timeout', `${RENEWED_IDLE_TIMEOUT_MS}ms`];
  const deployment = await startDeployment(scope, { workerCount: 1, storeOptions, options });
  const caller = await deployment.caller(urls ?? {});
  const sessions: McpSession[] = [];
  await inLanes(RENEWED_SESSIONS, async (n) => void (sessions[n] = await caller.openSession()));
  const roundMs = RENEWED_IDLE_TIMEOUT_MS / SESSION_RENEWALS_PER_IDLE_TIMEOUT;
  const call = async (n: number): Promise<void> => void (await sessions[n]!.call('one-echo'));
  const quietUs = await quietUsPerMs(redis);
  const cost = await costOf(redis, 1, quietUs, async () => {
    const untilMs = performance.now() + RENEWAL_ROUNDS * roundMs;
    while (performance.now() < untilMs) await inLanes(RENEWED_SESSIONS, call);
  });
  const renewals = cost.commands['pexpire'] ?? 0;
  if (renewals === 0) throw new Error('no session was renewed');
  // Otherwise they would idle out during a later measurement.
  await inLanes(RENEWED_SESSIONS, async (n) => void (await sessions[n]!.delete()));
  await deployment.gateway.stop();
  const commands = Object.entries(cost.commands).map(
    ([name, calls]) => [name, Math.round((calls * 10) / renewals) / 10] as const,
  );
  return { commands: Object.fromEntries(commands), cpuUs: rounded(cost.cpuUs / renewals) };
}

async function quietUsPerMs(redis: Redis): Promise<number> {
  const [before, startedMs] = [await cpuUs(redis), performance.now()];
  await sleep(QUIET_MS / 3);
  return ((await cpuUs(redis)) - before) / (performance.now() - startedMs);
}

async function usedBytes(redis: Redis): Promise<number> {
  const memory = await infoOf(redis, 'memory');
  // Buffers for the append-only file and for clients come and go.
  const passing = ['mem_clients_normal', 'mem_aof_buffer'].map((name) => Number(memory.get(name) ?? 0));
  return Number(memory.get('used_memory')) - passing.reduce((sum, each) => sum + each, 0);
}

/** Of records of sessions, or of the marks of ended sessions. */
async function meanKeyBytes(redis: Redis, isOfMarks = false): Promise<number> {
  let [bytes, keys] = [0, 0];
  let cursor = '0';
  do {
    const answer = (await redis.callBuffer('SCAN', cursor, 'COUNT', '1000')) as readonly [Buffer, readonly Buffer[]];
    cursor = answer[0].toString();
    for (const key of answer[1].filter((each) => each.includes('session/'))) {
      if (((await redis.strlen(key)) === MARK_LENGTH) !== isOfMarks) continue;
      bytes += (await redis.memory('USAGE', key)) ?? 0;
      keys += 1;
    }
  } while (cursor !== '0');
  if (keys === 0) throw new Error('Redis has no such records');
  return bytes / keys;
}

const MARK_LENGTH = 8;

async function inLanes(count: number, act: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) await act(n);
  };
  await Promise.all(Array.from({ length: Math.min(LANES, count) }, lane));
}
