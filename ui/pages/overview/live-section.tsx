// What the dataplane is doing now, and did in the last minutes: six figures, and its workers and backends as tables.
import type { ComponentChildren, JSX } from 'preact';
import type { Live } from '../../api/live.js';
import type { LiveReading } from '../../api/view-types.js';
import { counted } from '../../model/counted.js';
import { figureOf, msWords, rateWords, shareWords, sparkPoints } from '../../model/load-words.js';
import { Reading } from '../../parts/notices.js';
import { Said } from '../../parts/said.js';
import { Table } from '../../parts/table.js';

export function LiveSection({ live }: { readonly live: Live }): JSX.Element {
  const { reading, past, fault, isUnnamed } = live;
  if (isUnnamed) {
    return (
      <section class="card" aria-labelledby="live">
        <h2 id="live">Live figures of the gateway</h2>
        <div class="notice">
          <p>{fault}</p>
        </div>
      </section>
    );
  }
  return (
    <section aria-labelledby="live">
      <h2 id="live" class="unseen">
        Live figures of the gateway
      </h2>
      {/* Without figures, it is what needs attention that says so. */}
      {fault !== '' && reading !== undefined && (
        <div class="fault" role="alert">
          <p>
            <Said text={fault} max={600} /> The figures below are older.
          </p>
        </div>
      )}
      {reading !== undefined && <Tiles reading={reading} past={past} />}
      {reading === undefined && fault === '' && (
        <div class="tiles">
          {PLACES.map((place) => (
            <div key={place} class="tile">
              <Reading />
            </div>
          ))}
        </div>
      )}
    </section>
  );
}

const PLACES = [1, 2, 3, 4, 5, 6] as const;

interface TilesProps {
  readonly reading: LiveReading;
  readonly past: readonly LiveReading[];
}

/** The share of failing requests from which on the figure is marked. */
const FAILING_SHARE = 0.1;

function perSecondWords(perSecond: number): string {
  return perSecond === 0 ? 'none' : `${rateWords(perSecond)}/s`;
}

function failingShare({ requestsPerSecond, failuresPerSecond }: LiveReading): number {
  return requestsPerSecond > 0 ? failuresPerSecond / requestsPerSecond : 0;
}

function Tiles({ reading, past }: TilesProps): JSX.Element {
  const { workers, requestsPerSecond, failuresPerSecond, callP50Ms, callP99Ms } = reading;
  const listening = workers.filter(({ health }) => health === 'ok').length;
  const share = failingShare(reading);
  return (
    <div class="tiles">
      <Tile
        name="Tool calls"
        figure={`${figureOf(reading.callsPerSecond)} /s`}
        values={past.map((each) => each.callsPerSecond)}
      >
        {requestsPerSecond === 0 ? 'no requests' : `${rateWords(requestsPerSecond)} requests/s in all`}
      </Tile>
      <Tile name="Failures" figure={shareWords(share)} isBad={share >= FAILING_SHARE} values={past.map(failingShare)}>
        {failuresPerSecond + reading.refusalsPerSecond === 0
          ? 'none failed or refused'
          : `${perSecondWords(failuresPerSecond)} failed, ${perSecondWords(reading.refusalsPerSecond)} refused`}
      </Tile>
      <Tile name="Median latency" figure={msWords(callP50Ms)} values={past.map((each) => each.callP50Ms ?? 0)}>
        {callP50Ms === null ? 'no calls lately' : 'half are faster'}
      </Tile>
      <Tile name="p99 latency" figure={msWords(callP99Ms)} values={past.map((each) => each.callP99Ms ?? 0)}>
        {reading.gatewayP99Ms === null ? 'no calls lately' : `${msWords(reading.gatewayP99Ms)} in the gateway`}
      </Tile>
      <Tile name="Sessions" figure={reading.sessions.toLocaleString()} values={past.map(({ sessions }) => sessions)}>
        {counted(reading.requestsInFlight, 'requests in flight')}
      </Tile>
      <Tile name="Processes" figure={`${listening} of ${workers.length}`} isBad={listening < workers.length}>
        {listening === workers.length ? 'all respond' : `${workers.length - listening} without response`}
      </Tile>
    </div>
  );
}

interface TileProps {
  readonly name: string;
  /** The number, a space, and its unit. */
  readonly figure: string;
  readonly isBad?: boolean;
  /** The same in the last minutes, oldest first; none where it hardly changes. */
  readonly values?: readonly number[];
  readonly children: ComponentChildren;
}

function Tile({ name, figure, isBad, values = [], children }: TileProps): JSX.Element {
  const [number = '', ...unit] = figure.split(' ');
  return (
    <dl class={`tile${isBad === true ? ' bad-tile' : ''}`}>
      <dt>{name}</dt>
      <dd>
        {number}
        {unit.length > 0 && <small> {unit.join(' ')}</small>}
      </dd>
      <dd class="more">
        <span>{children}</span>
        <Spark values={values} />
      </dd>
    </dl>
  );
}

const WIDTH = 300;
const HEIGHT = 32;

/** The figures beside the chart say the same in text. */
function Spark({ values }: { readonly values: readonly number[] }): JSX.Element {
  // One point is no line, and a line at zero says nothing.
  if (values.length < 2 || values.every((value) => value === 0)) return <svg class="spark" aria-hidden="true" />;
  const points = sparkPoints(values, WIDTH, HEIGHT);
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true" preserveAspectRatio="none">
      <polygon points={`0,${HEIGHT} ${points} ${WIDTH},${HEIGHT}`} />
      <polyline points={points} />
    </svg>
  );
}

const BACKEND_COLUMNS = [
  { name: 'Server' },
  { name: 'Requests/s', isNumber: true },
  { name: 'Failures/s', isNumber: true },
  { name: 'p99 latency', isNumber: true },
] as const;

const WORKER_COLUMNS = [
  { name: 'Process' },
  { name: 'State' },
  { name: 'Sessions', isNumber: true },
  { name: 'In flight', isNumber: true },
  { name: 'CPU', isNumber: true },
  { name: 'Memory', isNumber: true },
] as const;

export function LiveTables({ reading }: { readonly reading: LiveReading }): JSX.Element {
  const { backends, workers } = reading;
  return (
    <>
      {backends.length > 0 && (
        <section class="card table-card" aria-labelledby="backends">
          <div class="top">
            <h2 id="backends">Servers in use</h2>
          </div>
          <Table
            label="Table of backends"
            columns={BACKEND_COLUMNS}
            rows={backends.map(({ name, requestsPerSecond, failuresPerSecond, p99Ms }) => ({
              key: name,
              cells: [
                <Said text={name} max={64} />,
                rateWords(requestsPerSecond),
                rateWords(failuresPerSecond),
                msWords(p99Ms),
              ],
            }))}
          />
        </section>
      )}
      <section class="card table-card" aria-labelledby="workers">
        <div class="top">
          <h2 id="workers">Processes</h2>
        </div>
        <Table
          label="Table of processes"
          columns={WORKER_COLUMNS}
          rows={workers.map(({ slot, state, health, sessions, requestsInFlight, cpuShare, rssBytes }) => ({
            key: String(slot),
            cells: [
              `Process ${slot}`,
              <span class={`status ${health === 'ok' ? 'active' : 'inactive'}`}>
                {health === 'ok' ? state : health}
              </span>,
              sessions.toLocaleString(),
              requestsInFlight.toLocaleString(),
              `${Math.round(cpuShare * 100)} %`,
              `${Math.round(rssBytes / 2 ** 20)} MiB`,
            ],
          }))}
        />
      </section>
    </>
  );
}
