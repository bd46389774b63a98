// Callbacks of requests in flight that finish other requests: each request is still called once, none is skipped, and the loop ends.
import t from 'tap';
import {
  ScansInProgress,
  RequestInFlight,
  RequestsInFlight,
  SlowRequests,
  VISITED_AT_ONCE_MAX,
} from '../../../src/streams/in-flight/requests-in-flight.js';
import { DeadlineWheel } from '../../../src/fair/deadline-wheel.js';
import { limits } from '../../../src/shared/limits.js';
import { createAccounts } from '../../support/shares.js';
import { until } from '../../support/until.js';

const SLOW_MS = 4_000;
const TOLD_MAX = 10;

class Scene {
  readonly deadlines: DeadlineWheel;
  readonly slow: SlowRequests;
  readonly account = createAccounts().of('ada');
  readonly told: string[] = [];
  #nowMs = 1_000;

  constructor(t: { teardown(end: () => void): unknown }) {
    this.deadlines = new DeadlineWheel(10, () => this.#nowMs);
    t.teardown(() => this.deadlines.stop());
    this.slow = new SlowRequests(this.deadlines, SLOW_MS);
  }

  session(): RequestsInFlight {
    return new RequestsInFlight(this.account, this.slow);
  }

  pass(ms: number): void {
    this.#nowMs += ms;
    this.deadlines.tick();
  }

  /** Advances the clock until the slow requests have been called, once each. */
  waitUntilSlow(): void {
    while (this.told.length === 0) this.pass(10);
  }
}

class Work extends RequestInFlight {
  readonly id = { bytes: Buffer.from('1'), start: 0, end: 1 };
  readonly isCancellable = false;
  onTold = (): void => undefined;
  mayWait = false;
  readonly #name: string;
  readonly #told: string[];

  constructor(name: string, scene: Scene) {
    super();
    this.#name = name;
    this.#told = scene.told;
  }

  override abandonedTaskId(): string {
    return 'a list';
  }

  override onSlow(): void {
    this.#tell();
  }

  override onSessionHandedOver(): void {
    this.#tell();
  }

  override giveUp(): void {
    this.#tell();
  }

  override get mayEndLater(): boolean {
    return this.mayWait;
  }

  endWithSession(): void {
    this.#tell();
  }

  #tell(): void {
    this.#told.push(this.#name);
    if (this.#told.filter((name) => name === this.#name).length > TOLD_MAX) throw new Error('told for ever');
    this.onTold();
  }
}

function begun(scene: Scene, requests: RequestsInFlight, ...names: string[]): Work[] {
  return names.map((name) => {
    const work = new Work(name, scene);
    requests.begin(work);
    return work;
  });
}

t.test('the callback of a slow request may finish the next request, or itself and all others', async (t) => {
  for (const [ended, told] of [
    [[1], ['a', 'c']],
    [
      [0, 1],
      ['a', 'c'],
    ],
    [[2, 1, 0], ['a']],
  ] as const) {
    for (const tell of ['slow', 'abandoned'] as const) {
      const scene = new Scene(t);
      const requests = scene.session();
      const works = begun(scene, requests, 'a', 'b', 'c');
      works[0]!.onTold = () => {
        for (const index of ended) requests.finish(works[index]!);
      };
      if (tell === 'slow') scene.waitUntilSlow();
      else requests.giveUpAbandoned('a list');
      t.same(scene.told, told, tell);
    }
  }
});

t.test('the callback of a slow request may finish requests of other sessions, and begin one', async (t) => {
  const scene = new Scene(t);
  const sessions = [scene.session(), scene.session(), scene.session()] as const;
  const [a, b] = sessions.map((session, index) => begun(scene, session, 'abc'[index]!)[0]!);
  a!.onTold = () => {
    sessions[0].finish(a!);
    sessions[1].finish(b!);
    begun(scene, sessions[1], 'd');
  };
  scene.waitUntilSlow();
  t.same(scene.told, ['a', 'c'], 'the new one is not slow yet');
  scene.told.length = 0;
  scene.waitUntilSlow();
  t.same(scene.told, ['c'], 'again with the next turn');
});

t.test('a request is slow after the configured time, or at most a quarter of it later', async (t) => {
  for (const afterMs of [0, 10, SLOW_MS / 8, SLOW_MS / 4]) {
    const scene = new Scene(t);
    begun(scene, scene.session(), 'earlier');
    scene.pass(afterMs);
    begun(scene, scene.session(), 'a');
    let ms = 0;
    for (; !scene.told.includes('a'); ms += 10) scene.pass(10);
    t.ok(ms >= SLOW_MS && ms <= 1.25 * SLOW_MS + 20, `${ms} ms after a start ${afterMs} ms into a turn`);
  }
});

t.test('a slow request is noticed however often others begin meanwhile', async (t) => {
  const scene = new Scene(t);
  begun(scene, scene.session(), 'a');
  for (let ms = 0; ms < 2 * SLOW_MS; ms += 10) {
    scene.pass(10);
    const quick = scene.session();
    for (const work of begun(scene, quick, 'quick')) quick.finish(work);
  }
  t.ok(scene.told.includes('a'));
  t.notOk(scene.told.includes('quick'));
});

t.test('the end of a session ends at once what cannot wait and the first of the rest, and then the rest', async (t) => {
  const atOnce = VISITED_AT_ONCE_MAX;
  const scene = new Scene(t);
  const requests = scene.session();
  const names = Array.from({ length: atOnce + 50 }, (_, n) => `w${n}`);
  const works = begun(scene, requests, ...names, 'list');
  for (const work of works.slice(0, -1)) work.mayWait = true;
  requests.endAll('ada');
  t.same(scene.told, ['list', ...names.slice(0, atOnce)]);
  t.equal(requests.count, 50, 'the others count until they have ended');
  // As if the backend of this request had answered.
  requests.finish(works[atOnce + 5]!);
  await until(() => requests.isEmpty, 'the others');
  t.same(scene.told, ['list', ...names.filter((_, n) => n !== atOnce + 5)]);
  t.equal(scene.account.requests.used, 0);
});

t.test('the end of a process ends all requests at once', async (t) => {
  const scene = new Scene(t);
  const requests = scene.session();
  const names = Array.from({ length: VISITED_AT_ONCE_MAX + 50 }, (_, n) => `w${n}`);
  for (const work of begun(scene, requests, ...names)) work.mayWait = true;
  requests.endAll(undefined);
  t.same(scene.told, names);
  t.ok(requests.isEmpty);
});

t.test('each request hears once that another process continues its session', async (t) => {
  const scene = new Scene(t);
  const requests = scene.session();
  const [, b] = begun(scene, requests, 'a', 'b', 'c');
  requests.finish(b!);
  requests.retire();
  t.same(scene.told, ['a', 'c']);
});

t.test(
  'a cancellation waits for messages that arrived before it and are still being parsed, for no others',
  async (t) => {
    const readings = new ScansInProgress();
    const tried: string[] = [];
    const wait = (name: string): void =>
      readings.deferCancellation(() => {
        tried.push(name);
        return false;
      });
    readings.end(readings.begin());
    t.ok(readings.isEmpty);
    wait('too late');
    const earlier = readings.begin();
    t.notOk(readings.isEmpty);
    wait('in time');
    const later = readings.begin();
    readings.end(later);
    t.same(tried, [], 'a message that came after it cannot be meant');
    readings.end(earlier);
    readings.end(readings.begin());
    t.same(tried, ['in time']);
  },
);

t.test('a cancellation whose messages are all parsed takes no place of another', async (t) => {
  const readings = new ScansInProgress();
  for (let count = 0; count < limits.sessionRequestsInFlightMax; count += 1) {
    const reading = readings.begin();
    readings.deferCancellation(() => false);
    readings.end(reading);
  }
  const reading = readings.begin();
  let isTried = false;
  readings.deferCancellation(() => (isTried = true));
  readings.end(reading);
  t.ok(isTried);
});
