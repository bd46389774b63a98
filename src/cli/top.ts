// `switchyard top`: the current activity of a dataplane by worker, method and backend; repeated on a terminal, printed once elsewhere.
import { setTimeout as sleep } from 'node:timers/promises';
import { figuresShape, workersShape, exitStatus } from '../shared/index.js';
import { countInWords, CliFault, printResult, type CommandResult, textTable, parseResponse } from './command-result.js';
import { loadOf, type LoadRow, type DataplaneLoad, Figures, Interval } from '../metrics/index.js';
import type { adminClientOptions, ValuesOf } from '../config/index.js';
import { AdminConnection } from './admin-commands.js';
import type { Columns } from './views.js';

type AdminReader = Pick<AdminConnection, 'get' | 'find'>;

type TopRequest = ValuesOf<typeof adminClientOptions> & { readonly intervalMs: number };

export async function runTop({ address, isJson, intervalMs }: TopRequest): Promise<number> {
  const watch = watchDataplane(new AdminConnection(address), intervalMs, process.stdout.columns);
  const isLive = process.stdout.isTTY && !isJson;
  for (;;) {
    const status = await printResult(isJson, async () => {
      const { value } = await watch.next();
      return isLive ? { ...value, text: `${CLEAR_SCREEN}${String(value.text)}` } : value;
    });
    if (!isLive || status !== exitStatus.ok) return status;
  }
}

const CLEAR_SCREEN = '\u001b[H\u001b[J';

/** Yields the dataplane's activity in each interval, without end. Rejects with a CliFault. */
export async function* watchDataplane(
  admin: AdminReader,
  intervalMs: number,
  columns: Columns,
): AsyncGenerator<CommandResult, never> {
  let before = await readLoad(admin);
  for (;;) {
    await sleep(intervalMs);
    const now = await readLoad(admin);
    const answer = loadOf(new Interval(before.figures, now.figures), now.workers);
    yield { answer, text: topText(answer, columns) };
    before = now;
  }
}

async function readLoad(admin: AdminReader) {
  const [figures, workers] = await Promise.all([admin.find('/metrics'), admin.get('/workers')]);
  if (figures === undefined) {
    throw new CliFault(exitStatus.notFound, 'the dataplane collects no metrics: start it with --metrics true');
  }
  return {
    figures: new Figures(parseResponse('dataplane', figuresShape, figures), performance.now()),
    workers: parseResponse('dataplane', workersShape, workers).workers,
  };
}

function topText(answer: DataplaneLoad, columns: Columns): string {
  const { isReady, sessions, streams, requestsInFlight, workers, methods, backends } = answer;
  const listening = workers.filter(({ health }) => health === 'ok').length;
  const head = [
    `${isReady ? 'ready' : 'not ready'}, ${listening} of ${countInWords(workers.length, 'worker')}, ${countInWords(sessions, 'session')}, ${countInWords(streams, 'stream')}, ${countInWords(requestsInFlight, 'request')} in flight`,
    `${rateText(answer.requestsPerSecond)} requests/s, ${rateText(answer.refusalsPerSecond)} refused/s, own share p99 ${timeText(answer.gatewayP99S)}`,
  ];
  const workerTable = textTable(
    ['SLOT', 'STATE', 'HEALTH', 'PID', 'VERSION', 'SESSIONS', 'IN FLIGHT', 'CPU', 'MEMORY', 'LOOP DELAY P99'],
    workers.map((worker) => [
      ...[String(worker.slot), worker.state, worker.health, String(worker.pid ?? ''), worker.version],
      ...[String(worker.sessions), String(worker.requestsInFlight), `${(worker.cpuShare * 100).toFixed(0)}%`],
      ...[`${(worker.rssBytes / 2 ** 20).toFixed(0)} MiB`, timeText(worker.eventLoopDelayP99S)],
    ]),
    columns,
  );
  const tables = [workerTable, loadTable('METHOD', methods, columns), loadTable('BACKEND', backends, columns)];
  return [`${head.join('\n')}\n`, ...tables.filter((table) => table !== '')].join('\n');
}

function loadTable(title: string, rows: readonly LoadRow[], columns: Columns): string {
  if (rows.length === 0) return '';
  const cells = rows.map(({ name, requestsPerSecond, failuresPerSecond, p50S, p99S }) => {
    return [name, rateText(requestsPerSecond), rateText(failuresPerSecond), timeText(p50S), timeText(p99S)];
  });
  return textTable([title, 'REQUESTS/S', 'FAILED/S', 'P50', 'P99'], cells, columns);
}

function rateText(perSecond: number): string {
  return perSecond === 0 ? '0' : perSecond.toFixed(perSecond < 10 ? 1 : 0);
}

function timeText(seconds: number | undefined): string {
  if (seconds === undefined) return '-';
  return seconds < 1 ? `${(seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0)} ms` : `${seconds.toFixed(1)} s`;
}
