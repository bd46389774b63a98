// `switchyard top`: what a running dataplane does at the moment, worker by worker, method by method and backend by backend, again
// and again on a terminal, and once where the output is none.
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { exitStatus } from '../shared/exit-status.js';
import type { AdminConnection } from './admin-connection.js';
import { CliFault } from './cli-fault.js';
import { Figures, figuresShape, Interval } from './figures.js';
import type { Outcome } from './outcome.js';
import { textTable } from './text-table.js';

const workerShape = z.object({
  slot: z.number(),
  pid: z.number().nullable(),
  state: z.string(),
  health: z.string(),
  sessions: z.number().optional(),
  requestsInFlight: z.number().optional(),
  memory: z.object({ rssBytes: z.number() }).optional(),
});
interface Reading {
  readonly figures: Figures;
  readonly workers: readonly z.infer<typeof workerShape>[];
}

export interface WorkerRow {
  readonly slot: number;
  readonly pid: number | null;
  readonly state: string;
  readonly health: string;
  readonly sessions: number;
  readonly requestsInFlight: number;
  /** Of one core. */
  readonly cpuShare: number;
  readonly rssBytes: number;
  readonly eventLoopDelayP99S: number | undefined;
}

export interface LoadRow {
  readonly name: string;
  readonly requestsPerSecond: number;
  /** Tool errors, errors of JSON-RPC and faults of backends. */
  readonly failuresPerSecond: number;
  readonly p50S: number | undefined;
  readonly p99S: number | undefined;
}

export interface TopAnswer {
  readonly isReady: boolean;
  readonly intervalS: number;
  readonly sessions: number;
  readonly streams: number;
  readonly requestsInFlight: number;
  readonly requestsPerSecond: number;
  readonly refusalsPerSecond: number;
  readonly gatewayP99S: number | undefined;
  readonly workers: readonly WorkerRow[];
  readonly methods: readonly LoadRow[];
  readonly backends: readonly LoadRow[];
}

type Admin = Pick<AdminConnection, 'get' | 'find'>;

/** Of what happened from each yield to the next. Never ends by itself. Throws a CliFault. */
export async function* watchDataplane(
  admin: Admin,
  intervalMs: number,
  columns: number | undefined,
): AsyncGenerator<Outcome, never> {
  let before = await read(admin);
  for (;;) {
    await sleep(intervalMs);
    const now = await read(admin);
    const answer = answerOf(new Interval(before.figures, now.figures), now);
    yield { answer, text: topText(answer, columns) };
    before = now;
  }
}

async function read(admin: Admin): Promise<Reading> {
  const [figures, workers] = await Promise.all([admin.find('/metrics'), admin.get('/workers')]);
  if (figures === undefined) {
    throw new CliFault(exitStatus.notFound, 'the dataplane keeps no figures: start it with --metrics on');
  }
  return {
    figures: new Figures(understood(figuresShape, figures), performance.now()),
    workers: understood(z.object({ workers: z.array(workerShape) }), workers).workers,
  };
}

function answerOf(interval: Interval, { workers }: Reading): TopAnswer {
  const { now } = interval;
  const rows = workers.map(({ slot, pid, state, health, sessions = 0, requestsInFlight = 0, memory }) => {
    const worker = { worker: String(slot) };
    return {
      ...{ slot, pid, state, health, sessions, requestsInFlight },
      cpuShare: interval.perSecond('switchyard_cpu_seconds_total', worker),
      rssBytes: memory?.rssBytes ?? 0,
      eventLoopDelayP99S: interval.quantile('switchyard_event_loop_delay_seconds', 0.99, worker),
    };
  });
  return {
    isReady: now.sum('switchyard_ready') === 1,
    intervalS: interval.seconds,
    sessions: now.sum('switchyard_sessions'),
    streams: now.sum('switchyard_streams'),
    requestsInFlight: now.sum('switchyard_requests_in_flight'),
    requestsPerSecond: interval.perSecond('switchyard_requests_total'),
    refusalsPerSecond: interval.perSecond('switchyard_refusals_total'),
    gatewayP99S: interval.quantile('switchyard_gateway_seconds', 0.99),
    workers: rows,
    methods: loadRows(interval, 'method', 'switchyard_request_seconds'),
    backends: loadRows(interval, 'backend', 'switchyard_backend_seconds'),
  };
}

/** Of the busiest on; of what was idle nothing. */
function loadRows(interval: Interval, label: 'method' | 'backend', histogram: string): LoadRow[] {
  const total = 'switchyard_requests_total';
  const names = interval.now.valuesOf(total, label).filter((name) => name !== '');
  return names
    .map((name) => {
      const labels = { [label]: name };
      const requestsPerSecond = interval.perSecond(total, labels);
      const goodPerSecond = interval.perSecond(total, { ...labels, outcome: 'ok' });
      return {
        ...{ name, requestsPerSecond, failuresPerSecond: requestsPerSecond - goodPerSecond },
        p50S: interval.quantile(histogram, 0.5, labels),
        p99S: interval.quantile(histogram, 0.99, labels),
      };
    })
    .filter(({ requestsPerSecond }) => requestsPerSecond > 0)
    .sort((one, other) => other.requestsPerSecond - one.requestsPerSecond);
}

function topText(answer: TopAnswer, columns: number | undefined): string {
  const { isReady, sessions, streams, requestsInFlight, workers, methods, backends } = answer;
  const listening = workers.filter(({ health }) => health === 'ok').length;
  const head = [
    `${isReady ? 'ready' : 'not ready'}, ${listening} of ${workers.length} workers, ${sessions} sessions, ${streams} streams, ${requestsInFlight} requests in flight`,
    `${rate(answer.requestsPerSecond)} requests/s, ${rate(answer.refusalsPerSecond)} refused/s, own share p99 ${time(answer.gatewayP99S)}`,
  ];
  const workerTable = textTable(
    ['SLOT', 'STATE', 'HEALTH', 'PID', 'SESSIONS', 'IN FLIGHT', 'CPU', 'MEMORY', 'LOOP DELAY P99'],
    workers.map((worker) => [
      ...[String(worker.slot), worker.state, worker.health, worker.pid === null ? '' : String(worker.pid)],
      ...[String(worker.sessions), String(worker.requestsInFlight), `${(worker.cpuShare * 100).toFixed(0)}%`],
      ...[`${(worker.rssBytes / 2 ** 20).toFixed(0)} MiB`, time(worker.eventLoopDelayP99S)],
    ]),
    columns,
  );
  const tables = [workerTable, loadTable('METHOD', methods, columns), loadTable('BACKEND', backends, columns)];
  return [`${head.join('\n')}\n`, ...tables.filter((table) => table !== '')].join('\n');
}

function loadTable(title: string, rows: readonly LoadRow[], columns: number | undefined): string {
  if (rows.length === 0) return '';
  const cells = rows.map(({ name, requestsPerSecond, failuresPerSecond, p50S, p99S }) => {
    return [name, rate(requestsPerSecond), rate(failuresPerSecond), time(p50S), time(p99S)];
  });
  return textTable([title, 'REQUESTS/S', 'FAILED/S', 'P50', 'P99'], cells, columns);
}

function rate(perSecond: number): string {
  return perSecond === 0 ? '0' : perSecond.toFixed(perSecond < 10 ? 1 : 0);
}

function time(seconds: number | undefined): string {
  if (seconds === undefined) return '-';
  return seconds < 1 ? `${(seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0)} ms` : `${seconds.toFixed(1)} s`;
}

function understood<Shape extends z.ZodType>(shape: Shape, answer: unknown): z.infer<Shape> {
  const parsed = shape.safeParse(answer);
  if (parsed.success) return parsed.data;
  const words = "the dataplane's answer is not understood; is it a Switchyard of another version?";
  throw new CliFault(exitStatus.unavailable, words, parsed.error);
}
