// What watchers of a dataplane receive: its admin listener is a stand-in, asked at short intervals.
import { setImmediate as turn } from 'node:timers/promises';
import type { Readable } from 'node:stream';
import t, { type Test } from 'tap';
import { ControlPlaneFault } from '../../src/control-plane/common/control-plane-fault.js';
import type { AdminClient } from '../../src/control-plane/dataplane/admin-client.js';
import { LiveFigures, type LiveBounds } from '../../src/control-plane/dataplane/live-figures.js';
import { limits, perSubject } from '../../src/shared/limits.js';
import { EventReader, type ServerEvent } from '../../ui/model/event-reader.js';
import { until } from '../support/until.js';

const QUICK: LiveBounds = { intervalMs: 5, streamMsMax: 600_000 };
const SECRET = 'Redis at 10.0.0.7 does not answer';

type Ask = AdminClient['ask'];

/** A dataplane with one more call in each reading. */
function dataplane(): { readonly ask: Ask; readonly asked: () => number } {
  let asked = 0;
  const ask: Ask = async (path, shape) => {
    const told = shape.safeParse(answerTo(path));
    if (!told.success) throw new Error(`not of the shape: ${path}`);
    return { answered: [{ machine: '', address: '10.0.0.1', value: told.data }], silent: [] };
  };
  const answerTo = (path: string): unknown => {
    if (path === '/workers') {
      const worker = { slot: 0, pid: 7, state: 'listening', health: 'ok', sessions: 3, unheardOf: SECRET };
      return { workers: [worker] };
    }
    if (path === '/ready') {
      const obstacles = [{ code: 'store-unreachable', message: SECRET, slots: [0] }];
      return { status: 'not ready', obstacles, degraded: [] };
    }
    asked += 1;
    const labels = { method: 'tools/call', backend: 'hidden-backend', status: '200', outcome: 'ok' };
    return [
      { name: 'switchyard_requests_total', values: [{ labels, value: asked }] },
      { name: 'switchyard_sessions', values: [{ labels: {}, value: 3 }] },
    ];
  };
  return { ask, asked: () => asked };
}

function liveOf(t: Test, ask: Ask, bounds: Partial<LiveBounds> = {}): LiveFigures {
  const live = new LiveFigures({ ask }, { ...QUICK, ...bounds });
  t.teardown(() => live.close());
  return live;
}

/** Collects every event of the stream. */
function eventsOf(stream: Readable): { readonly events: ServerEvent[]; readonly text: () => string } {
  const events: ServerEvent[] = [];
  const reader = new EventReader();
  let text = '';
  stream.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
    events.push(...reader.read(piece));
  });
  return { events, text: () => text };
}

t.test('admins get everything, others no names and no addresses', async (t) => {
  const { ask } = dataplane();
  const live = liveOf(t, ask);
  const admin = eventsOf(live.open('ann', true)!);
  const reader = eventsOf(live.open('bob', false)!);
  await until(() => admin.events.length > 1 && reader.events.length > 1, 'both are told');
  const told = JSON.parse(admin.events[0]!.data) as Record<string, unknown>;
  t.equal(admin.events[0]!.event, 'load');
  t.match(told, {
    ...{ sessions: 3, isReady: false, failuresPerSecond: 0, callP50Ms: null },
    workers: [{ slot: 0, health: 'ok', sessions: 3 }],
    obstacles: [{ code: 'store-unreachable', message: SECRET }],
    backends: [{ name: 'hidden-backend' }],
  });
  t.ok(Number(told['callsPerSecond']) > 0);
  t.match(JSON.parse(reader.events[0]!.data), {
    obstacles: [{ code: 'store-unreachable', message: '' }],
    backends: { length: 0 },
    callsPerSecond: Number,
  });
  t.notMatch(reader.text(), /hidden-backend|10\.0\.0\.7/);
  t.notMatch(admin.text(), 'unheardOf');
});

t.test('a lost listener is reported, with details for admins alone, and found again', async (t) => {
  const { ask } = dataplane();
  let isLost = true;
  const live = liveOf(t, async (...asked) => {
    if (isLost) throw new ControlPlaneFault('dataplane-unreachable', 'it is away', { messageForAdmins: SECRET });
    return ask(...asked);
  });
  const admin = eventsOf(live.open('ann', true)!);
  const reader = eventsOf(live.open('bob', false)!);
  await until(() => admin.events.length > 0 && reader.events.length > 0, 'both are told');
  t.match(admin.events[0], { event: 'fault', data: JSON.stringify({ detail: SECRET }) });
  t.match(reader.events[0], { event: 'fault', data: JSON.stringify({ detail: 'it is away' }) });
  isLost = false;
  await until(() => reader.events.at(-1)?.event === 'load', 'it is back');
});

t.test('a dataplane without figures says so; while one is silent the stream is kept alive', async (t) => {
  const { ask } = dataplane();
  const blind = liveOf(t, async (...asked) => (asked[0] === '/metrics' ? { answered: [], silent: [] } : ask(...asked)));
  const { events } = eventsOf(blind.open('ann', true)!);
  await until(() => events.length > 0, 'it is told');
  t.match(events[0], { event: 'fault', data: /--metrics true/ });
  const silent = eventsOf(liveOf(t, () => new Promise(() => {})).open('ann', true)!);
  await until(() => silent.text().split(': \n\n').length > 5, 'the stream is seen to live');
  t.same(silent.events, []);
});

t.test('figures of several dataplanes are added up, each worker by its name', async (t) => {
  let [rounds, isSecondThere] = [0, true];
  const ofMachine = (path: string, address: string): unknown => {
    const worker = { slot: 0, pid: 7, state: 'listening', health: 'ok', sessions: 3 };
    if (path === '/workers') return { workers: [worker] };
    const obstacles = address === '10.0.0.1' ? [] : [{ code: 'keys-missing', message: 'no key' }];
    if (path === '/ready') return { obstacles, degraded: [] };
    const cpuSeconds = address === '10.0.0.1' ? 1e6 + rounds : 5 * rounds;
    return [
      { name: 'switchyard_cpu_seconds_total', values: [{ labels: { worker: '0' }, value: cpuSeconds }] },
      { name: 'switchyard_sessions', values: [{ labels: {}, value: 3 }] },
      { name: 'switchyard_ready', values: [{ labels: {}, value: address === '10.0.0.1' ? 1 : 0 }] },
    ];
  };
  const ask: Ask = async (path, shape) => {
    if (path === '/metrics') rounds += 1;
    const machines = isSecondThere ? ['10.0.0.1', '10.0.0.2'] : ['10.0.0.1'];
    const told = machines.flatMap((address, index) => {
      const read = shape.safeParse(ofMachine(path, address));
      return read.success ? [{ machine: String(index + 1), address, value: read.data }] : [];
    });
    return { answered: told, silent: isSecondThere ? [] : [{ machine: '2', address: '10.0.0.2' }] };
  };
  const live = liveOf(t, ask);
  const { events } = eventsOf(live.open('ann', true)!);
  const reader = eventsOf(live.open('bob', false)!);
  const loads = () =>
    events.map(({ data }) => JSON.parse(data) as { readonly workers: { readonly cpuShare: number }[] });
  await until(() => events.length > 0, 'it is told');
  const [both] = loads();
  t.match(both, {
    ...{ isReady: true, sessions: 6, obstacles: { length: 0 } },
    degraded: [{ code: 'keys-missing', message: '10.0.0.2: no key' }],
    workers: [{ slot: '1/0' }, { slot: '2/0' }],
  });
  const [first, second] = both!.workers;
  t.ok(Math.abs(second!.cpuShare / first!.cpuShare - 5) < 0.01, 'each worker has its own rate');
  isSecondThere = false;
  const one = { sessions: 3, degraded: [{ code: 'dataplane-silent', message: '10.0.0.2 does not respond' }] };
  await until(() => loads().at(-1)!.workers.length === 1, 'one is left');
  t.match(loads().at(-1), one);
  isSecondThere = true;
  await until(() => loads().at(-1)!.workers.length === 2, 'it is back');
  for (const { workers } of loads())
    for (const { cpuShare } of workers) t.ok(cpuShare < 1e4, 'what one had counted before is no rate');
  t.ok(reader.events.length > 0);
  t.notMatch(reader.text(), '10.0.0', 'addresses are for admins');
});

t.test('the dataplane is not asked while nobody watches', async (t) => {
  const watched = dataplane();
  const other = dataplane();
  const live = liveOf(t, watched.ask);
  const stream = live.open('ann', true)!;
  await until(() => watched.asked() > 1, 'it is asked');
  stream.destroy();
  await until(() => live.watcherCount === 0, 'it is noticed');
  await turn();
  const asked = watched.asked();
  liveOf(t, other.ask).open('ann', true)!.resume();
  await until(() => other.asked() > 5, 'turns go by');
  t.ok(watched.asked() <= asked + 1, 'but for a look that was under way');
});

t.test('figures that come after the last watcher has left are not compared with those of the next', async (t) => {
  const { ask } = dataplane();
  let answer: () => void = () => {};
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const gated: Ask = async (...asked) => {
    await answered;
    return ask(...asked);
  };
  const live = liveOf(t, gated, { intervalMs: 600_000 });
  live.open('ann', true);
  live.close();
  answer();
  await turn();
  const { events, text } = eventsOf(live.open('ann', true)!);
  await until(() => events.length > 0 || text().split(': \n\n').length > 2, 'a reading');
  t.same(events, [], 'there are no rates yet');
});

t.test('the number of watchers is bounded, in all and per subject', async (t) => {
  const live = liveOf(t, dataplane().ask);
  const own = Array.from({ length: perSubject(limits.liveStreamsMax) }, () => live.open('ann', true));
  t.equal(live.open('ann', true), undefined);
  for (let n = own.length; n < limits.liveStreamsMax; n++) t.ok(live.open(`s${n}`, true));
  t.equal(live.open('late', true), undefined);
  own[0]!.destroy();
  await until(() => live.watcherCount < limits.liveStreamsMax, 'one has gone');
  t.equal(live.open('ann', true), undefined, 'the last places are for who has none');
  t.ok(live.open('late', true));
  live.close();
  own[1]!.resume();
  await until(() => own[1]!.readableEnded, 'all are ended');
  t.equal(live.watcherCount, 0);
});

t.test('a watcher that does not read is cut off, and each stream ends in time', async (t) => {
  const live = liveOf(t, dataplane().ask, { intervalMs: 1 });
  const stalled = live.open('ann', true)!;
  const read = eventsOf(live.open('ann', true)!);
  await until(() => stalled.destroyed, 'it is cut off');
  const count = read.events.length;
  await until(() => read.events.length > count, 'others are told on');
  const brief = liveOf(t, dataplane().ask, { streamMsMax: 1 });
  const short = brief.open('ann', true)!;
  short.resume();
  brief.open('ann', true);
  await until(() => short.readableEnded, 'it has ended');
  await until(() => brief.watcherCount === 0, 'and who does not read its end keeps no place');
});
