// `npm run soak`: tenants come and go for a long time, call, listen and answer requests, while backends die and Redis is
// restarted. In the end no response may have been wrong, memory must be flat, and as many files open as before. Exit status
// 1 otherwise.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startDeployment, type ConfiguredCaller, type Deployment } from '../support/deployment.js';
import { startMcpBackend, type McpBackend } from '../support/mcp-backend.js';
import { Random } from '../support/random.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { startVictim, type Victim } from '../support/victim.js';
import { tally } from './experiment.js';
import type { Scope } from './scope.js';
import { growthPerMinute, takeSample, type Sample } from './soak-samples.js';
import { listen } from './soak-listener.js';
import { visit, type Backends } from './soak-tenant.js';
import { TalkingBackend } from './talking-backend.js';
import { runInScope, say } from './program.js';

const MINUTES_MAX = 1_440;
/** Each comes again and again, with a rewritten config: caches fill up in the first minutes. */
const TENANTS = 300;
const TENANTS_AT_ONCE = 6;
const LISTENERS_AT_ONCE = 6;
/** How many tenants listen once before anything is measured. */
const LISTENERS_BEFORE = 24;
const TALKER = 'talker';
const IDLE_TIMEOUT_S = 20;
const SAMPLE_EVERY_MS = 5_000;
const REPORT_EVERY_MS = 30_000;
const BACKEND_DIES_EVERY_MS = 20_000;
const BACKEND_IS_DOWN_MS = 3_000;
const REDIS_RESTARTS_EVERY_MS = 120_000;
/** How long after a restart of Redis refusals for lack of the store are accepted. */
const REDIS_IS_BACK_MS = 15_000;
/** Growth of all workers together; a leak of one session a second exceeds this. */
const GROWTH_MIB_PER_MINUTE_MAX = 3;
const OPEN_FILES_SLACK = 24;
/** Time for idle sessions and unused connections to end. */
const QUIET_MS_MAX = 120_000;

const usage = `Usage: npm run soak [-- --minutes n --workers n]
  --minutes n   20 when not given
  --workers n   2 when not given`;

interface SoakOptions {
  readonly minutes: number;
  readonly workerCount: number;
}

function parseOptions(words: readonly string[]): SoakOptions {
  const { values } = parseArgs({
    args: [...words],
    options: { minutes: { type: 'string' }, workers: { type: 'string' } },
  });
  const minutes = Number(values.minutes ?? 20);
  const workerCount = Number(values.workers ?? 2);
  if (!(minutes > 0 && minutes <= MINUTES_MAX)) throw new Error(`--minutes takes a number up to ${MINUTES_MAX}`);
  if (!Number.isInteger(workerCount) || workerCount < 1) throw new Error('--workers takes a whole number');
  return { minutes, workerCount };
}

class Soak {
  readonly #options: SoakOptions;
  readonly #scope: Scope;
  readonly #beganMs = performance.now();
  readonly #random = new Random(20261121);
  readonly #outcomes = new Map<string, number>();
  readonly #faults: string[] = [];
  readonly #samples: Sample[] = [];
  #isEnding = false;
  #redisRestartedAtMs = -Infinity;
  #deaths = 0;
  #restarts = 0;

  constructor(options: SoakOptions, scope: Scope) {
    this.#options = options;
    this.#scope = scope;
  }

  async run(): Promise<number> {
    const redis = await startRedis(this.#scope);
    const deployment = await startDeployment(this.#scope, {
      workerCount: this.#options.workerCount,
      storeOptions: redis.storeOptions,
      options: ['--session-idle-timeout', `${IDLE_TIMEOUT_S}s`, '--call-timeout', '15s'],
    });
    const pids = deployment.gateway.workerPids();
    const victim = await startVictim(this.#scope, deployment);
    const backends = await this.#startBackends();
    const urls = Object.fromEntries(Object.entries(backends).map(([name, { url }]) => [name, { url }]));
    const tenants = await Promise.all(Array.from({ length: TENANTS }, () => deployment.caller(urls)));
    await this.#warmUp(tenants, urls);
    const before = takeSample(pids, 0);
    await victim.mark();

    const work = [
      this.#every(SAMPLE_EVERY_MS, async () => void this.#samples.push(takeSample(pids, this.#minutes))),
      this.#every(REPORT_EVERY_MS, () => this.#report(victim, pids)),
      this.#every(BACKEND_DIES_EVERY_MS, () => this.#killBackend(backends)),
      this.#every(REDIS_RESTARTS_EVERY_MS, () => this.#restartRedis(redis)),
      ...Array.from({ length: TENANTS_AT_ONCE }, () =>
        this.#keepDoing(() => visit(this.#random.pick(tenants), urls, this.#random, this.#tell)),
      ),
      ...Array.from({ length: LISTENERS_AT_ONCE }, () =>
        this.#keepDoing(() => listen(this.#random.pick(tenants), TALKER, this.#random, this.#tell)),
      ),
    ];
    await sleep(this.#options.minutes * 60_000);
    this.#isEnding = true;
    await Promise.all(work);
    await this.#report(victim, pids);
    return this.#judge(deployment, pids, before);
  }

  get #minutes(): number {
    return (performance.now() - this.#beganMs) / 60_000;
  }

  async #startBackends(): Promise<Record<string, McpBackend>> {
    const talking = await TalkingBackend.start();
    this.#scope.teardown(() => talking.close());
    const backends = {
      plain: await startMcpBackend({ withSessions: true }),
      stream: await startMcpBackend({ answerAs: 'event-stream', framing: 'chunked', withSessions: true }),
      mortal: await startMcpBackend({ withSessions: true }),
    };
    for (const backend of Object.values(backends)) this.#scope.teardown(() => backend.close());
    return { ...backends, [TALKER]: talking.mcp };
  }

  /** Things that are created once and kept, such as code and pooled memory, must not count as growth. */
  async #warmUp(tenants: readonly ConfiguredCaller[], urls: Backends): Promise<void> {
    const toNobody = (): void => undefined;
    for (const tenant of tenants) await visit(tenant, urls, this.#random, toNobody);
    await Promise.all(
      tenants.slice(0, LISTENERS_BEFORE).map((tenant) => listen(tenant, TALKER, this.#random, toNobody)),
    );
  }

  async #every(ms: number, task: () => Promise<void>): Promise<void> {
    for (let atMs = performance.now() + ms; !this.#isEnding; await sleep(100)) {
      if (performance.now() < atMs) continue;
      atMs += ms;
      await task();
    }
  }

  async #keepDoing(visitOnce: () => Promise<void>): Promise<void> {
    while (!this.#isEnding) {
      try {
        await visitOnce();
      } catch (error) {
        this.#tell(error instanceof Error ? error.message.slice(0, 160) : String(error));
      }
    }
  }

  /** Refusals are accepted where something was down; any other outcome but a correct response is a fault. */
  readonly #tell = (what: string): void => {
    const isStoreDown = performance.now() - this.#redisRestartedAtMs < REDIS_IS_BACK_MS;
    const isExcused =
      what === '-32603' ||
      (isStoreDown && /\b500\b|config-failed|ECONNREFUSED|Connection is closed|not reachable/.test(what));
    const word = what === 'right' ? what : isExcused ? (what === '-32603' ? 'backend failed' : 'store down') : what;
    const kind = word.startsWith('wrong') ? 'wrong' : word;
    this.#outcomes.set(kind, (this.#outcomes.get(kind) ?? 0) + 1);
    if (what !== 'right' && !isExcused && this.#faults.length < 20)
      this.#faults.push(`minute ${this.#minutes.toFixed(1)}: ${what}`);
  };

  async #killBackend({ mortal, plain, [TALKER]: talking }: Record<string, McpBackend>): Promise<void> {
    this.#deaths++;
    // The gateway opens the talker's streams again; calls under way fail.
    if (this.#deaths % 2 === 0) talking!.raw.closeConnections('reset');
    mortal!.raw.stopListening();
    mortal!.raw.closeConnections('reset');
    await sleep(BACKEND_IS_DOWN_MS);
    mortal!.forgetSessions();
    await mortal!.raw.listenAgain();
    if (this.#deaths % 3 === 0) plain!.forgetSessions();
    for (const backend of [mortal!, plain!, talking!]) {
      backend.calls.length = 0;
      backend.raw.requests.length = 0;
      backend.deletedSessions.length = 0;
    }
  }

  async #restartRedis(redis: RedisServer): Promise<void> {
    this.#restarts++;
    this.#redisRestartedAtMs = performance.now();
    await redis.kill();
    await sleep(2_000);
    await redis.start();
    this.#redisRestartedAtMs = performance.now();
  }

  async #report(victim: Victim, pids: readonly number[]): Promise<void> {
    const { requests, failures } = await victim.report();
    for (const failure of failures) this.#faults.push(`minute ${this.#minutes.toFixed(1)}: the victim: ${failure}`);
    const { residentMib, openFiles } = takeSample(pids, 0);
    const answers = [...this.#outcomes].map(([word, count]) => `${word} ${count}`).join(', ');
    say(
      `${this.#minutes.toFixed(1)} min: ${answers}; victim ${requests.count} in ${requests.p99Ms.toFixed(0)} ms (p99), ` +
        `${failures.length} failed; ${residentMib.toFixed(0)} MiB, ${openFiles} open files`,
    );
  }

  async #judge({ gateway }: Deployment, pids: readonly number[], before: Sample): Promise<number> {
    const growth = growthPerMinute(this.#samples);
    const deadlineMs = performance.now() + QUIET_MS_MAX;
    let after = takeSample(pids, this.#minutes);
    while (after.openFiles > before.openFiles + OPEN_FILES_SLACK && performance.now() < deadlineMs) {
      await sleep(1_000);
      after = takeSample(pids, this.#minutes);
    }
    if (growth > GROWTH_MIB_PER_MINUTE_MAX) this.#faults.push(`memory grows by ${growth.toFixed(1)} MiB a minute`);
    if (after.openFiles > before.openFiles + OPEN_FILES_SLACK) this.#faults.push('open files are not back');
    if (gateway.workerPids().join() !== pids.join()) this.#faults.push('a worker died');
    if (gateway.errorOutput !== '') this.#faults.push(`standard error: ${gateway.errorOutput.slice(0, 500)}`);
    const levels = tally(
      gateway.logs.filter(({ level }) => Number(level) >= 40).map(({ msg }) => String(msg).slice(0, 80)),
    );
    say(`\nbackend deaths ${this.#deaths}, Redis restarts ${this.#restarts}; warnings and errors logged: ${levels}`);
    say(
      `memory ${before.residentMib.toFixed(0)} → ${after.residentMib.toFixed(0)} MiB, ${growth.toFixed(2)} MiB a minute between the peaks of the second and the last quarter`,
    );
    say(`open files ${before.openFiles} → ${after.openFiles}`);
    for (const fault of this.#faults) say(`FAIL ${fault}`);
    say(this.#faults.length === 0 ? 'ok' : `${this.#faults.length} faults`);
    return this.#faults.length === 0 ? 0 : 1;
  }
}

await runInScope(usage, parseOptions, async (options, scope) => new Soak(options, scope).run());
