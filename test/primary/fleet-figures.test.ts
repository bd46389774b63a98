import type { ChildProcess } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import t from 'tap';
import type { ToWorker } from '../../src/process/messages.js';
import type { Series } from '../../src/metrics/series.js';
import { FleetFigures } from '../../src/primary/worker-polls.js';

const worker = (): ChildProcess => ({}) as unknown as ChildProcess;
const hops = (value: number): Series => ({ name: 'switchyard_hops_total', labels: ['passed'], value });
const sessions = (value: number): Series => ({ name: 'switchyard_sessions', labels: [], value });
const delay = (counts: number[]): Series => {
  return { name: 'switchyard_event_loop_delay_seconds', labels: ['0'], value: 1, counts };
};

function scene(
  peerAnswerMsMax = 60_000,
  metricGatheringAgeMsMax = 0,
): { figures: FleetFigures; asked: { to: ChildProcess; ticket: number }[] } {
  const asked: { to: ChildProcess; ticket: number }[] = [];
  const send = (to: ChildProcess, message: ToWorker): void => {
    if (message.kind === 'report') asked.push({ to, ticket: message.ticket });
  };
  return { figures: new FleetFigures(send, { peerAnswerMsMax, metricGatheringAgeMsMax }), asked };
}

function valueOf(series: readonly Series[], name: string): number | undefined {
  return series.find((item) => item.name === name)?.value;
}

t.test('the workers’ figures are added up, once for all who ask at the time', async (t) => {
  const { figures, asked } = scene();
  const [one, two] = [worker(), worker()];
  const gathered = [figures.gather(() => [one, two]), figures.gather(() => [one, two])];
  t.equal(asked.length, 2);
  figures.onReport(one, asked[0]!.ticket, [hops(3), sessions(1), delay([1, 0])]);
  figures.onReport(two, asked[1]!.ticket, [hops(4), sessions(2), delay([1, 5])]);
  for (const { series, silentCount } of await Promise.all(gathered)) {
    t.equal(silentCount, 0);
    t.equal(valueOf(series, 'switchyard_hops_total'), 7);
    t.equal(valueOf(series, 'switchyard_sessions'), 3);
    t.match(
      series.find(({ counts }) => counts),
      { value: 2, counts: [2, 5] },
    );
  }
});

t.test('a counter does not fall when a worker dies, a gauge does', async (t) => {
  const { figures, asked } = scene();
  const [one, two, heir] = [worker(), worker(), worker()];
  const first = figures.gather(() => [one, two]);
  figures.onReport(one, asked[0]!.ticket, [hops(3), sessions(1), delay([1])]);
  figures.onReport(two, asked[1]!.ticket, [hops(4), sessions(2)]);
  await first;
  figures.onWorkerGone(one);
  await setTimeout(1);
  const second = figures.gather(() => [two, heir]);
  figures.onReport(two, asked[2]!.ticket, [hops(5), sessions(2)]);
  figures.onReport(heir, asked[3]!.ticket, [hops(0), sessions(0)]);
  const { series } = await second;
  t.equal(valueOf(series, 'switchyard_hops_total'), 8);
  t.equal(valueOf(series, 'switchyard_sessions'), 2);
  t.ok(series.some(({ counts }) => counts?.[0] === 1));
});

t.test(
  'a worker that does not answer in time is shown with its last figures; one that dies is not waited for',
  async (t) => {
    const { figures, asked } = scene(20);
    const [one, mute] = [worker(), worker()];
    const first = figures.gather(() => [one, mute]);
    figures.onReport(one, asked[0]!.ticket, [hops(3)]);
    figures.onReport(mute, asked[1]!.ticket, [hops(4)]);
    await first;
    await setTimeout(1);
    const second = figures.gather(() => [one, mute]);
    figures.onReport(one, asked[2]!.ticket, [hops(5)]);
    const { series, silentCount } = await second;
    t.equal(silentCount, 1);
    t.equal(valueOf(series, 'switchyard_hops_total'), 9);
    const third = scene();
    const dying = third.figures.gather(() => [one]);
    third.figures.onWorkerGone(one);
    t.same(await dying, { series: [], silentCount: 0 });
  },
);

t.test('a request soon after another gets the same figures, and no worker is asked again', async (t) => {
  const { figures, asked } = scene(60_000, 60_000);
  const one = worker();
  const first = figures.gather(() => [one]);
  figures.onReport(one, asked[0]!.ticket, [hops(3)]);
  const gathered = await first;
  for (let scrape = 0; scrape < 10; scrape++) t.equal(await figures.gather(() => [one]), gathered);
  t.equal(asked.length, 1);
});
