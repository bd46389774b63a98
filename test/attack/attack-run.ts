// Runs experiments one after the other against one arrangement of the gateway, each with a victim beside it.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { judgeBeside } from '../support/beside-bounds.js';
import { startDeployment, type Deployment } from '../support/deployment.js';
import type { NameServer } from '../support/name-server.js';
import { startRedis } from '../support/redis.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { slownessNow } from '../support/turn-cost.js';
import { TurnLog } from '../support/turn-log.js';
import { startVictim, type Victim, type VictimReport, type VictimSetup } from '../support/victim.js';
import type { Control, Experiment } from './experiment.js';
import type { Arrangement } from './options.js';
import { Scope } from './scope.js';
import { Stage } from './stage.js';
import { openFiles, WorkerWatch } from './worker-watch.js';

/** How long the victim is measured alone before each experiment. */
const ALONE_MS = { full: 3_000, short: 700 };
/** How long it is measured beside the experiment, at least. */
const BESIDE_MS_MIN = 1_000;
/** How many times its p99 alone the victim's p99 may be: the attack takes the same cores, and all of them. */
const SLOWER_MAX = 10;
/** The same for a reported attack, where the victim is also measured beside something harmless. */
const REPORTED_SLOWER_MAX = 3;
/** A reported attack that delays its victim does so on every try; other load on the machine does not. */
const TRIES_MAX = 3;
/** When processes get less than this fraction of a core before anything has begun, times say nothing about the gateway. */
const BUSY_SLOWNESS = 3;
/** The most that a turn of a worker's event loop may cost: a slowdown of less than a few of those cannot be told from bad luck. */
const TURN_MS = 50;
/** How many of the victim's failures are reported in words. */
const FAULTS_TOLD_MAX = 4;
const MIB = 1_048_576;
const VICTIM_HOST = 'victim.test';
/** How much memory a worker may hold: well above what it needs, and half of what the defects in question took. */
const WORKER_MEMORY_MIB = 1_024;
/** Idle sockets, to backends and callers, are closed within seconds. */
const CLOSING_MS_MAX = 40_000;
/** Open files that come and go without any attack, per worker. */
const OPEN_FILES_SLACK = 16;

/** Faults that controls look for. Faults of the victim begin with its name. */
export const faultWords = { seen: 'not what must be seen', death: 'a worker died', victim: 'the victim' } as const;

export interface Outcome {
  readonly experiment: Experiment;
  readonly arrangement: Arrangement;
  readonly seen: string;
  /** What was wrong, each fault in words; empty when everything was as expected. */
  readonly faults: readonly string[];
  readonly victim: string;
  /** What the dearest turn of a worker's event loop cost, in ms of CPU time. */
  readonly turnMs: number;
  readonly residentBytesMax: number;
  readonly tookMs: number;
}

interface Cast {
  readonly deployment: Deployment;
  readonly turns: TurnLog;
  readonly victim: Victim | undefined;
}

export class AttackRun {
  readonly #arrangement: Arrangement;
  readonly #isShort: boolean;
  readonly #nameServer: NameServer;
  /** The scope of the shared gateway. */
  readonly #scope = new Scope();
  /** Reports on the victim alone, one from before each experiment. */
  readonly #alone: VictimReport[] = [];
  #shared: Cast | undefined;

  constructor(arrangement: Arrangement, isShort: boolean, nameServer: NameServer) {
    this.#nameServer = nameServer;
    // The victim's addresses expire at once, so that it depends on the name server as well.
    nameServer.records[VICTIM_HOST] = { addresses: ['127.0.0.1'], ttl: 0 };
    this.#arrangement = arrangement;
    this.#isShort = isShort;
  }

  /** @param control runs on a gateway that lacks the protection under test, instead of the experiment's own or the shared one. */
  async run(experiment: Experiment, control?: Control): Promise<Outcome> {
    for (let tries = 1; ; tries += 1) {
      const outcome = await this.#runOnce(experiment, control, tries);
      const isDelayed = outcome.faults.length > 0 && outcome.faults.every((fault) => fault.startsWith("the victim's "));
      if (experiment.report === undefined || !isDelayed || tries === TRIES_MAX) return outcome;
    }
  }

  async #runOnce(experiment: Experiment, control: Control | undefined, tries: number): Promise<Outcome> {
    const beganMs = performance.now();
    const scope = new Scope();
    try {
      const options = control?.options ?? experiment.gateway?.options;
      const cast = await this.#cast(experiment, scope, options);
      // A short run compares with what is harmless only if the victim was delayed.
      const outcome = await this.#perform(experiment, cast, beganMs, !this.#isShort || tries > 1);
      // Damage by one experiment must not be counted against the next.
      if (outcome.faults.length > 0) await this.end();
      return outcome;
    } finally {
      await scope.end();
    }
  }

  /** Ends the shared gateway; the next experiment gets a new one. */
  async end(): Promise<void> {
    this.#shared = undefined;
    await this.#scope.end();
  }

  /** The shared gateway, or one for this experiment alone. */
  async #cast(
    experiment: Experiment,
    scope: Scope,
    options: NonNullable<Experiment['gateway']>['options'],
  ): Promise<Cast> {
    if (experiment.gateway !== undefined || experiment.victim !== undefined || options !== undefined) {
      const words = typeof options === 'function' ? options(scope) : options;
      return this.#start(scope, experiment.endsProcesses !== true, words, experiment.victim);
    }
    return (this.#shared ??= await this.#start(this.#scope, true));
  }

  async #start(
    scope: Scope,
    hasVictim: boolean,
    options: readonly string[] = [],
    victimSetup: VictimSetup = {},
  ): Promise<Cast> {
    const { workerCount, store } = this.#arrangement;
    const storeOptions =
      store === 'redis'
        ? (await startRedis(scope)).storeOptions
        : ({ kind: 'embedded', path: join(createScratchDirectory(scope), 'store') } as const);
    const names = ['--name-servers', this.#nameServer.address];
    const memory = ['--worker-memory', `${WORKER_MEMORY_MIB}MiB`];
    const turns = new TurnLog(scope);
    const deployment = await startDeployment(scope, {
      workerCount,
      storeOptions,
      options: [...names, ...memory, ...options],
      environment: turns.environment,
    });
    const victim = hasVictim
      ? await startVictim(scope, deployment, { ...victimSetup, backendHost: VICTIM_HOST })
      : undefined;
    return { deployment, turns, victim };
  }

  async #perform(
    experiment: Experiment,
    { deployment, turns, victim }: Cast,
    beganMs: number,
    isCompared: boolean,
  ): Promise<Outcome> {
    const { gateway } = deployment;
    const alone = await victim?.during(() => sleep(this.#isShort ? ALONE_MS.short : ALONE_MS.full));
    if (alone !== undefined) this.#alone.push(alone);
    const pidsBefore = gateway.workerPids();
    const filesBefore = openFiles(pidsBefore);
    const watchedSinceMs = new Map<number, number>();
    const stageIn = (scope: Scope): Stage =>
      new Stage({
        deployment,
        victim,
        scope,
        isShort: this.#isShort,
        nameServer: this.#nameServer,
        turns,
        watchedSinceMs,
      });
    const besideHarmless = isCompared ? await this.#besideHarmless(experiment, victim, stageIn) : undefined;
    const watch = new WorkerWatch(() => gateway.workerPids());
    const faults: string[] = [];
    let seen = '';
    await victim?.mark();
    const attackedAtMs = performance.now();
    const sinceMs = Date.now();
    const scope = new Scope();
    try {
      seen = await experiment.run(stageIn(scope));
    } catch (error) {
      seen = error instanceof Error ? error.message : String(error);
      faults.push(faultWords.seen);
    }
    const besideMs = performance.now() - attackedAtMs;
    if (victim !== undefined && besideMs < BESIDE_MS_MIN) await sleep(BESIDE_MS_MIN - besideMs);
    const beside = await victim?.report();
    for (const fault of await scope.end()) faults.push(`not ended in order: ${String(fault)}`);
    watch.stop();
    if (watch.residentBytesMax > WORKER_MEMORY_MIB * MIB) faults.push('too much memory');
    if (experiment.endsProcesses !== true) {
      const pids = gateway.workerPids();
      if (pids.join() !== pidsBefore.join()) faults.push(faultWords.death);
      else if (!(await this.#isBack(pids, filesBefore))) {
        faults.push(`open files: ${filesBefore} before, ${openFiles(pids)} after`);
      }
    }
    if (gateway.errorOutput !== '') faults.push(`standard error: ${gateway.errorOutput.slice(0, 500)}`);
    const turnMs = Math.max(
      turns.dearestMs(pidsBefore, sinceMs),
      ...Array.from(watchedSinceMs, ([pid, beganMs]) => turns.dearestMs([pid], beganMs)),
    );
    const isReported = experiment.report !== undefined;
    if (isReported && turnMs > TURN_MS && turnMs > TURN_MS * slownessNow())
      faults.push(`a turn cost ${turnMs.toFixed(0)} ms`);
    const judged =
      beside && isReported
        ? judgeBeside(this.#worstOf(besideHarmless), beside, REPORTED_SLOWER_MAX)
        : beside && judgeBeside(this.#worstOf(), beside, SLOWER_MAX, TURN_MS);
    const { failures = [], delays = [] } = judged ?? {};
    faults.push(...failures.slice(0, FAULTS_TOLD_MAX));
    if (!isReported || (alone?.slowness ?? 0) < BUSY_SLOWNESS) faults.push(...delays);
    return {
      experiment,
      arrangement: this.#arrangement,
      seen,
      faults,
      victim: alone === undefined || beside === undefined ? '' : describe(alone, besideHarmless, beside),
      turnMs,
      residentBytesMax: watch.residentBytesMax,
      tookMs: performance.now() - beganMs,
    };
  }

  /** The victim's report beside what the experiment does without anything hostile. */
  async #besideHarmless(
    { harmless }: Experiment,
    victim: Victim | undefined,
    stageIn: (scope: Scope) => Stage,
  ): Promise<VictimReport | undefined> {
    if (harmless === undefined) return undefined;
    const scope = new Scope();
    try {
      return await victim?.during(() => harmless(stageIn(scope)));
    } finally {
      await scope.end();
    }
  }

  /** The worst values of all reports on the victim alone so far, and of this one. */
  #worstOf(further?: VictimReport): Pick<VictimReport, 'requests' | 'openings' | 'slowness' | 'roundTripFactor'> {
    const reports = further === undefined ? this.#alone : [...this.#alone, further];
    const worst = (what: 'requests' | 'openings'): VictimReport['requests'] =>
      reports.map((report) => report[what]).reduce((one, other) => (other.p99Ms > one.p99Ms ? other : one));
    const slowness = Math.max(...reports.map((report) => report.slowness));
    const roundTripFactor = Math.max(...reports.map((report) => report.roundTripFactor));
    return { requests: worst('requests'), openings: worst('openings'), slowness, roundTripFactor };
  }

  async #isBack(pids: readonly number[], filesBefore: number): Promise<boolean> {
    const deadlineMs = performance.now() + CLOSING_MS_MAX;
    while (openFiles(pids) > filesBefore + OPEN_FILES_SLACK * pids.length) {
      if (performance.now() > deadlineMs) return false;
      await sleep(50);
    }
    return true;
  }
}

function describe(alone: VictimReport, besideHarmless: VictimReport | undefined, beside: VictimReport): string {
  const ms = (report: VictimReport): string => `${report.requests.p99Ms.toFixed(0)}`;
  const harmless = besideHarmless === undefined ? '' : ` → (harmless) ${ms(besideHarmless)}`;
  return `${beside.requests.count} in ${ms(alone)}${harmless} → ${ms(beside)} ms`;
}
