// What the dataplane is doing now, and did in the last minutes.
import type { JSX } from 'preact';
import type { Live } from '../../api/live.js';
import type { LiveReading } from '../../api/view-types.js';
import { msWords, rateWords, sparkPoints } from '../../model/load-words.js';
import { Said } from '../../parts/said.js';

export function LiveSection({ live }: { readonly live: Live }): JSX.Element {
  const { reading, calls, fault, isUnnamed } = live;
  return (
    <section aria-labelledby="live">
      <h2 id="live">The dataplane now</h2>
      {isUnnamed && <p class="note">{fault}</p>}
      {!isUnnamed && fault !== '' && (
        <p class="bad" role="alert">
          <Said text={fault} max={600} />
          {reading !== undefined && ' The following is older.'}
        </p>
      )}
      {reading === undefined ? (
        fault === '' && <p class="note">Reading …</p>
      ) : (
        <>
          <Spark calls={calls} />
          <Figures reading={reading} />
          <Workers reading={reading} />
          <Backends reading={reading} />
        </>
      )}
    </section>
  );
}

const WIDTH = 300;
const HEIGHT = 48;

/** The figures beside the chart say the same in text. */
function Spark({ calls }: { readonly calls: readonly number[] }): JSX.Element | null {
  if (calls.length < 2) return null;
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true" preserveAspectRatio="none">
      <polyline points={sparkPoints(calls, WIDTH, HEIGHT)} />
    </svg>
  );
}

function Figures({ reading }: { readonly reading: LiveReading }): JSX.Element {
  const { workers } = reading;
  const listening = workers.filter(({ health }) => health === 'ok').length;
  const rows = [
    ['Tool calls per second', rateWords(reading.callsPerSecond)],
    ['Median time', msWords(reading.callP50Ms)],
    ['99th percentile', msWords(reading.callP99Ms)],
    ['of it in the gateway itself', msWords(reading.gatewayP99Ms)],
    ['All requests per second', rateWords(reading.requestsPerSecond)],
    ['Failed per second', rateWords(reading.failuresPerSecond)],
    ['Refused per second', rateWords(reading.refusalsPerSecond)],
    ['Sessions', String(reading.sessions)],
    ['Requests in flight', String(reading.requestsInFlight)],
    ['Workers', `${listening} of ${workers.length} respond`],
  ] as const;
  return (
    <dl>
      {rows.map(([name, words]) => (
        <Row key={name} {...{ name, words }} />
      ))}
    </dl>
  );
}

function Row({ name, words }: { readonly name: string; readonly words: string }): JSX.Element {
  return (
    <>
      <dt>{name}</dt>
      <dd>{words}</dd>
    </>
  );
}

function Workers({ reading: { workers } }: { readonly reading: LiveReading }): JSX.Element {
  return (
    <details>
      <summary>Workers</summary>
      <ul class="items">
        {workers.map(({ slot, state, health, sessions, requestsInFlight, cpuShare, rssBytes }) => (
          <li key={slot}>
            slot {slot}: {state}, {health === 'ok' ? 'answers' : health}, {sessions} sessions, {requestsInFlight} in
            flight, {Math.round(cpuShare * 100)} % of a core, {Math.round(rssBytes / 2 ** 20)} MiB
          </li>
        ))}
      </ul>
    </details>
  );
}

function Backends({ reading: { backends } }: { readonly reading: LiveReading }): JSX.Element | null {
  if (backends.length === 0) return null;
  return (
    <details>
      <summary>Backends in use</summary>
      <ul class="items">
        {backends.map(({ name, requestsPerSecond, failuresPerSecond, p99Ms }) => (
          <li key={name}>
            <Said text={name} max={64} />: {rateWords(requestsPerSecond)} a second, {rateWords(failuresPerSecond)}{' '}
            failed a second, 99th percentile {msWords(p99Ms)}
          </li>
        ))}
      </ul>
    </details>
  );
}
