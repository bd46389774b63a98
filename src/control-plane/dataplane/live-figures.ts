// Live figures of the dataplane, streamed as server-sent events. The admin listeners are asked at one interval however many
// watchers there are, and not at all without any. Each stream ends after a while, so that an expired token stops showing
// figures. Cold path.
import {
  figuresShape,
  readyShape,
  workersShape,
  type DataplaneFigures,
  type DataplaneReadiness,
  KIB,
  limits,
} from '../../shared/index.js';
import { Figures, Interval, loadOf, type DataplaneLoad } from '../../metrics/index.js';
import { PassThrough, type Readable } from 'node:stream';
import { Quota } from '../../fair/index.js';
import { slotName, withSlotNames, type AdminClient, type DataplaneAnswers } from './admin-client.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';

/** Interval at which figures are read while somebody watches them. */
const LIVE_INTERVAL_MS = 2_000;
/** Duration of one stream. After that, a watcher whose token is still valid opens another. */
const LIVE_STREAM_MS_MAX = 600_000;
/** The most bytes that wait for the reader of a stream. Beyond that, the stream is cut. */
const LIVE_STREAM_BYTES_WAITING_MAX = 64 * KIB;
/** The most backends in one event: the busiest. */
const LIVE_BACKENDS_MAX = 20;

interface Watcher {
  readonly isAdmin: boolean;
  readonly stream: PassThrough;
  /** When the stream ends, by `performance.now()`. */
  readonly endsAtMs: number;
}

export interface LiveBounds {
  readonly intervalMs: number;
  readonly streamMsMax: number;
}

const DEFAULT_BOUNDS: LiveBounds = { intervalMs: LIVE_INTERVAL_MS, streamMsMax: LIVE_STREAM_MS_MAX };

export class LiveFigures {
  readonly #adminClient: Pick<AdminClient, 'ask'>;
  readonly #bounds: LiveBounds;
  readonly #watchers = new Set<Watcher>();
  readonly #quota = new Quota(limits.liveStreamsMax);
  #timer: NodeJS.Timeout | undefined;
  /** The previous figures, from which rates are computed, and the addresses of their dataplanes. */
  #previousFigures: { readonly figures: Figures; readonly addresses: string } | undefined;
  #isFetching = false;

  constructor(adminClient: Pick<AdminClient, 'ask'>, bounds: LiveBounds = DEFAULT_BOUNDS) {
    this.#adminClient = adminClient;
    this.#bounds = bounds;
  }

  /** @returns `undefined` if there are too many watchers, in total or of this subject. */
  open(subject: string, isAdmin: boolean): Readable | undefined {
    if (!this.#quota.tryTake(subject)) return undefined;
    const stream = new PassThrough();
    const watcher = { isAdmin, stream, endsAtMs: performance.now() + this.#bounds.streamMsMax };
    this.#watchers.add(watcher);
    stream.once('close', () => {
      this.#watchers.delete(watcher);
      this.#quota.give(subject);
    });
    stream.on('error', () => {});
    // The first write makes Node.js send the response head.
    stream.write(SSE_COMMENT);
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.#tick(), this.#bounds.intervalMs);
      this.#tick();
    }
    return stream;
  }

  get watcherCount(): number {
    return this.#watchers.size;
  }

  close(): void {
    for (const { stream } of this.#watchers) stream.end();
    this.#watchers.clear();
    this.#pause();
  }

  #tick(): void {
    for (const { stream, endsAtMs } of this.#watchers) {
      if (performance.now() <= endsAtMs) continue;
      // A watcher that has not read the end of its stream by the next tick has stopped reading.
      if (stream.writableEnded) stream.destroy();
      else stream.end();
    }
    if (this.#watchers.size === 0) return this.#pause();
    // While figures are being fetched, a comment shows that the stream is alive.
    if (this.#isFetching) return this.#send(() => SSE_COMMENT);
    this.#isFetching = true;
    void this.#fetchAndSend().finally(() => (this.#isFetching = false));
  }

  #pause(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#previousFigures = undefined;
  }

  async #fetchAndSend(): Promise<void> {
    try {
      const [metrics, workers, ready] = await Promise.all([
        this.#adminClient.ask('/metrics', figuresShape),
        this.#adminClient.ask('/workers', workersShape),
        this.#adminClient.ask('/ready', readyShape, undefined, 503),
      ]);
      // No watcher is left. If the figures were kept, the next watcher's first rates would cover the time without watchers.
      if (this.#timer === undefined) return;
      if (metrics.answered.length * workers.answered.length * ready.answered.length === 0)
        throw new ControlPlaneFault('dataplane-refused', NO_FIGURES);
      const now = new Figures(metrics.answered.flatMap(withUniqueNames), performance.now());
      const addresses = metrics.answered.map(({ address }) => address).join();
      const previous = this.#previousFigures;
      this.#previousFigures = { figures: now, addresses };
      // Rates need two readings of the same dataplanes.
      if (previous?.addresses !== addresses) return this.#send(() => SSE_COMMENT);
      const rows = workers.answered.flatMap(({ machine, value }) => withSlotNames(machine, value.workers));
      const load = loadOf(new Interval(previous.figures, now), rows);
      const at = new Date().toISOString();
      const { obstacles, degraded } = readinessOf(ready);
      const [forAdmins, forOthers] = [true, false].map((isAdmin) => {
        return eventOf('load', { at, ...liveView(load, isAdmin), ...shownProblems(obstacles, degraded, isAdmin) });
      });
      this.#send((isAdmin) => (isAdmin ? forAdmins! : forOthers!));
    } catch (error) {
      this.#previousFigures = undefined;
      if (!(error instanceof ControlPlaneFault)) throw error;
      this.#send((isAdmin) => eventOf('fault', { detail: isAdmin ? error.messageForAdmins : error.message }));
    }
  }

  #send(textFor: (isAdmin: boolean) => string): void {
    for (const { stream, isAdmin } of this.#watchers) {
      if (stream.writableEnded) continue;
      if (stream.writableLength + stream.readableLength > LIVE_STREAM_BYTES_WAITING_MAX) stream.destroy();
      else stream.write(textFor(isAdmin));
    }
  }
}

const SSE_COMMENT = ': \n\n';
const NO_FIGURES = 'The dataplane collects no metrics: start it with --metrics true';

function eventOf(name: string, value: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`;
}

function liveView(load: DataplaneLoad, isAdmin: boolean): object {
  const { methods, backends, gatewayP99S, ...rest } = load;
  const calls = methods.find(({ name }) => name === 'tools/call');
  return {
    ...rest,
    failuresPerSecond: methods.reduce((sum, { failuresPerSecond }) => sum + failuresPerSecond, 0),
    callsPerSecond: calls?.requestsPerSecond ?? 0,
    callP50Ms: toRoundedMs(calls?.p50S),
    callP99Ms: toRoundedMs(calls?.p99S),
    gatewayP99Ms: toRoundedMs(gatewayP99S),
    // The names of backends are from other users' configs.
    backends: (isAdmin ? backends : []).slice(0, LIVE_BACKENDS_MAX).map((backend) => {
      const { name, requestsPerSecond, failuresPerSecond, p99S } = backend;
      return { name, requestsPerSecond, failuresPerSecond, p99Ms: toRoundedMs(p99S) };
    }),
  };
}

type DataplaneAnswer<Value> = DataplaneAnswers<Value>['answered'][number];

/** The figures, in which the names of workers are made unique among all dataplanes. */
function withUniqueNames({ machine, value }: DataplaneAnswer<DataplaneFigures>): DataplaneFigures {
  return value.map(({ name, values }) => ({
    name,
    values: values.map(({ labels, ...rest }) => {
      const { worker } = labels;
      return { ...rest, labels: worker === undefined ? labels : { ...labels, worker: slotName(machine, worker) } };
    }),
  }));
}

type Problem = DataplaneReadiness['degraded'][number];

/** The readiness of all dataplanes together. While one is ready, the obstacles of the others count as degraded. */
function readinessOf({ answered, silent }: DataplaneAnswers<DataplaneReadiness>) {
  const withAddress = (machine: string, address: string, each: readonly Problem[]): readonly Problem[] =>
    machine === '' ? each : each.map(({ code, message }) => ({ code, message: `${address}: ${message}` }));
  const obstacles = answered.flatMap(({ machine, address, value }) => withAddress(machine, address, value.obstacles));
  const degraded = [
    ...answered.flatMap(({ machine, address, value }) => withAddress(machine, address, value.degraded)),
    ...silent.map(({ address }) => ({ code: 'dataplane-silent', message: `${address} does not respond` })),
  ];
  const isReady = answered.some(({ value }) => value.obstacles.length === 0);
  return isReady ? { obstacles: [], degraded: [...obstacles, ...degraded] } : { obstacles, degraded };
}

/** The problems that the caller may see: only admins get messages, which may contain addresses. */
function shownProblems(obstacles: readonly Problem[], degraded: readonly Problem[], isAdmin: boolean): object {
  const shown = ({ code, message }: Problem): object => ({ code, message: isAdmin ? message : '' });
  return { obstacles: obstacles.map(shown), degraded: degraded.map(shown) };
}

/** Milliseconds, rounded to tenths; `null` if nothing was counted. */
function toRoundedMs(seconds: number | undefined): number | null {
  return seconds === undefined ? null : Math.round(seconds * 10_000) / 10;
}
