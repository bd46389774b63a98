// The rounds: takes each measure of each point in turn, and collects the runs.
import { setTimeout as sleep } from 'node:timers/promises';
import { faultCount } from './fault-counter.js';
import type { Gateways } from './gateway.js';
import { measureIdleSessions, measureListeningSessions } from './idle-sessions.js';
import type { ConnectionPlan, LoadPlan, Measurement, ReadsPlan, RunTimes } from './load-plan.js';
import type { MeasuringProcess } from './measuring-process.js';
import type { BenchOptions } from './options.js';
import type { Point } from './points.js';
import { processTree } from './process-usage.js';
import { Progress } from './progress.js';
import type { BenchRedis } from './redis.js';
import type { Run } from './results.js';
import type { FirstCallMeasure, IdleMeasure, LoadMeasure, Measure } from './scenario.js';
import { longListScript } from './scenarios.js';
import { isPeerName, type PlaceName, type Target } from './targets.js';
import type { User } from './users.js';

/** Enough requests for V8 to compile their code; after a few hundred it still interprets half of a large message's path. */
const REHEARSED_REQUESTS = 4_000;
const REHEARSAL_MS = 300;
/** Limits the rehearsals of a scenario whose requests, or whose sessions, take long. */
const REHEARSALS_MS_MAX = 15_000;
/** For turns within a round, which follow each other soon. */
const TURN_WARM_UP_MS = 400;
/** The user who asks for long lists begins this much before the measured calls, and continues this long after them. */
const LISTS_LEAD_MS = 500;

/** Listening sessions are watched for this many times as long as a load: twice the time between two comments on a stream. */
const QUIET_TIMES = 10;

/** How many sessions are each called once, per millisecond that a load would take. */
const FIRST_CALLS_PER_MS = 2;

export interface BenchParts {
  readonly targets: ReadonlyMap<PlaceName, Target>;
  readonly backendPids: readonly number[];
  /** A user for each connection, and a last one who asks for long lists. */
  readonly users: readonly User[];
  readonly load: MeasuringProcess<LoadPlan>;
  readonly longLists: MeasuringProcess<LoadPlan>;
  readonly listScript: MeasuringProcess<RunTimes>;
  /** Present where a scenario shares a Redis. */
  readonly redisReads: { readonly redis: BenchRedis; readonly process: MeasuringProcess<ReadsPlan> } | undefined;
  readonly gateways: Gateways;
}

/** One measure of one point, taken once. */
interface Take {
  readonly point: Point;
  readonly measure: Measure;
  readonly round: number;
  readonly times: RunTimes;
}

export class Bench {
  readonly #parts: BenchParts;
  #halfRequestsPerSecond = 0;

  constructor(parts: BenchParts) {
    this.#parts = parts;
  }

  /** Rounds are the outer loop, so that other load on the machine in some minute affects all runs of one round, and only that round. */
  async run(points: readonly Point[], options: BenchOptions): Promise<Run[]> {
    const measures = points.flatMap((point) => point.scenario.measures.map((measure) => ({ point, measure })));
    const rehearsed = measures.filter(({ measure }) => measure.kind !== 'idle');
    const rounds = Array.from({ length: options.rounds }, (_, round) =>
      points.flatMap((each) => takesOf(each, round, options)),
    );
    const progress = new Progress(rehearsed.length + rounds.flat().length);
    // Compiles hot code before anything counts, and ends a bench that cannot succeed before it takes minutes.
    for (const { point, measure } of rehearsed) {
      progress.step(`rehearsal: ${describe(point, measure)}`);
      await this.#rehearse(point, measure);
    }
    const runs: Run[] = [];
    for (const { point, measure, round, times } of rounds.flat()) {
      progress.step(`round ${round}: ${describe(point, measure)}`);
      runs.push(await this.#measure(round, point, measure, times));
    }
    progress.end();
    return runs;
  }

  async #rehearse(point: Point, measure: Measure): Promise<void> {
    let requests = 0;
    const endMs = performance.now() + REHEARSALS_MS_MAX;
    while (requests < REHEARSED_REQUESTS && performance.now() < endMs) {
      const { measurement } = await this.#measure(0, point, measure, { warmUpMs: 0, measureMs: REHEARSAL_MS });
      // A peer's faults are shown in its rows; our gateway and the yardsticks must have none.
      if (faultCount(measurement.faults) > 0 && isPeerName(measure.target)) return;
      if (faultCount(measurement.faults) > 0) {
        throw new Error(`${describe(point, measure)}: ${JSON.stringify(measurement.faults)}`);
      }
      requests += measurement.requests;
    }
  }

  async #measure(round: number, point: Point, measure: Measure, times: RunTimes): Promise<Run> {
    const { scenario, connections } = point;
    const { name, unit } = scenario;
    const facts = { round, scenario: name, unit, connections, target: measure.target };
    switch (measure.kind) {
      case 'script':
        return { ...facts, requestsPerUnit: 1, measurement: await this.#parts.listScript.run(timesOf(times)) };
      case 'reads':
        return { ...facts, requestsPerUnit: 1, measurement: await this.#measureReads(connections, times) };
      case 'first-call':
        return { ...facts, requestsPerUnit: 1, measurement: await this.#measureFirstCalls(point, measure, times) };
      case 'idle':
        return { ...facts, requestsPerUnit: 1, measurement: await this.#measureIdle(point, measure, times) };
      case 'load': {
        const plan = await this.#planOf(point, measure, times);
        const requestsPerUnit = plan.connections[0]?.script.loop.length ?? 1;
        const measurement = measure.isListedMeanwhile
          ? await this.#runWhileListing(plan, this.#target(measure.place))
          : await this.#parts.load.run(plan).catch((error: unknown) => voidUnlessOurs(measure, error));
        return { ...facts, requestsPerUnit, measurement };
      }
    }
  }

  async #planOf(point: Point, measure: LoadMeasure, times: RunTimes): Promise<LoadPlan> {
    const { scenario, connections } = point;
    const target = this.#target(measure.place);
    const users = this.#parts.users.slice(0, connections);
    const { owner, requestsPerSecond, createScript = scenario.createScript } = measure;
    return {
      ...this.#watchedPlan(target),
      connections: users.map((user, connection) =>
        connectionPlan({ ...user, ...tokenOf(target) }, createScript(target.hop, connection)),
      ),
      placement: owner === undefined ? undefined : { owner, workers: 2 },
      requestsPerSecond: requestsPerSecond === 'half' ? await this.#halfRate(point, measure, times) : requestsPerSecond,
      ...timesOf(times),
    };
  }

  /** Half of the gateway's rate in a closed loop: measured as its round begins, and kept for its yardstick. */
  async #halfRate(point: Point, measure: LoadMeasure, times: RunTimes): Promise<number> {
    if (measure.target === 'gateway') {
      const saturating: LoadMeasure = { kind: 'load', target: 'gateway', place: 'gateway' };
      const { requests, elapsedMs } = await this.#parts.load.run(await this.#planOf(point, saturating, times));
      this.#halfRequestsPerSecond = (requests / elapsedMs) * 500;
    }
    return this.#halfRequestsPerSecond;
  }

  async #runWhileListing(plan: LoadPlan, target: Target): Promise<Measurement> {
    const user = this.#parts.users.at(-1);
    if (user === undefined) throw new Error('there is nobody to ask for long lists');
    const lists = this.#parts.longLists.run({
      ...this.#watchedPlan(target),
      connections: [connectionPlan(user, longListScript(target.hop, 0))],
      placement: undefined,
      requestsPerSecond: undefined,
      warmUpMs: LISTS_LEAD_MS,
      measureMs: plan.warmUpMs + plan.measureMs + LISTS_LEAD_MS,
    });
    const calls = sleep(LISTS_LEAD_MS).then(() => this.#parts.load.run(plan));
    const [measurement, { faults }] = await Promise.all([calls, lists]);
    // Calls beside failing lists are no valid measurement.
    return faultCount(measurement.faults) > 0 || faultCount(faults) === 0 ? measurement : { ...measurement, faults };
  }

  async #measureIdle(
    { scenario, connections: sessions }: Point,
    { isListening }: IdleMeasure,
    { measureMs }: RunTimes,
  ): Promise<Measurement> {
    const { gateways, users, backendPids } = this.#parts;
    const gateway = await gateways.start({ name: 'idle-gateway', workers: 1 });
    try {
      const plans = users.map((user, number) => connectionPlan(user, scenario.createScript(gateway.hop, number)));
      const setup = { gateway, backendPids, plans, sessions };
      return isListening
        ? await measureListeningSessions(setup, QUIET_TIMES * measureMs)
        : await measureIdleSessions(setup);
    } finally {
      await gateway.stop();
    }
  }

  /** CPU time of both gateways counts, because the first one is notified that the second has the session, too. */
  async #measureFirstCalls(
    { scenario, connections }: Point,
    { opensAt, place }: FirstCallMeasure,
    times: RunTimes,
  ): Promise<Measurement> {
    const [opener, target] = [this.#target(opensAt), this.#target(place)];
    const [opening, watched] = [this.#watchedPlan(opener), this.#watchedPlan(target)];
    const sessions = Math.ceil(times.measureMs * FIRST_CALLS_PER_MS);
    return this.#parts.load.run({
      ...watched,
      targetPids: [...new Set([...opening.targetPids, ...watched.targetPids])],
      connections: this.#parts.users.map((user, n) => connectionPlan(user, scenario.createScript(target.hop, n))),
      placement: undefined,
      requestsPerSecond: undefined,
      firstCalls: { opensAt: opener.origin, sessions, atOnce: connections },
      ...timesOf(times),
    });
  }

  #measureReads(atOnce: number, times: RunTimes): Promise<Measurement> {
    const { redisReads } = this.#parts;
    if (redisReads === undefined) throw new Error('no Redis was started');
    const { redis, process } = redisReads;
    return process.run({ redisPort: redis.port, atOnce, ...timesOf(times) });
  }

  #target(place: PlaceName): Target {
    const target = this.#parts.targets.get(place);
    if (target === undefined) throw new Error(`${place} was not started`);
    return target;
  }

  #watchedPlan({ origin, rootPid }: Target): Pick<LoadPlan, 'origin' | 'targetPids' | 'backendPids'> {
    const targetPids = rootPid === undefined ? [] : processTree(rootPid);
    return { origin, targetPids, backendPids: this.#parts.backendPids };
  }
}

/**
 * One round of a point. Where CPU time is compared, the targets take turns within it, and their order alternates from turn to turn, so
 * that other load on the machine favours none. Each turn counts as a round of its own.
 */
function takesOf(point: Point, roundIndex: number, options: Pick<BenchOptions, keyof RunTimes | 'cpuTurns'>): Take[] {
  const { measures, figure } = point.scenario;
  const turns = figure === 'cpu' ? options.cpuTurns : 1;
  const warmUpMs = turns === 1 ? options.warmUpMs : TURN_WARM_UP_MS;
  const times = { warmUpMs, measureMs: options.measureMs / turns };
  return Array.from({ length: turns }, (_, turn) => {
    const round = roundIndex * turns + turn + 1;
    const takes = measures.map((measure) => ({ point, measure, round, times }));
    return figure === 'cpu' && round % 2 === 0 ? takes.reverse() : takes;
  }).flat();
}

/** Drops all other options, because a plan is sent to another process. */
function timesOf({ warmUpMs, measureMs }: RunTimes): RunTimes {
  return { warmUpMs, measureMs };
}

/** The token of a target whose users all have the same one. */
function tokenOf({ token }: Target): { readonly token?: string } {
  return token === undefined ? {} : { token };
}

function connectionPlan({ token }: User, script: ConnectionPlan['script']): ConnectionPlan {
  return { headers: { authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' }, script };
}

function describe({ scenario, connections }: Point, { target }: Measure): string {
  return `${scenario.name}, ${connections} ${scenario.figure === 'resident' ? 'sessions' : 'connections'}, ${target}`;
}

/** A peer that opens no session, or answers nothing in the measured window, has a void row; anything else of the kind ends the bench. */
function voidUnlessOurs({ target }: LoadMeasure, error: unknown): Measurement {
  if (!isPeerName(target)) throw error;
  const sample = error instanceof Error ? error.message : String(error);
  const latency = { p50Us: 0, p90Us: 0, p99Us: 0, p99_9Us: 0 };
  const cpu = { targetCpuUs: 0, backendCpuUs: 0, loadCpuUs: 0 };
  const faults = { errors: 1, non2xx: 0, lost: 0, wrongBodies: 0, sample };
  return { requests: 0, elapsedMs: 0, latency, ...cpu, targetResidentBytes: 0, faults };
}
