// Sessions whose clients only listen: when they are checked against the config, how many at once, and what becomes of them.
import t, { type Test } from 'tap';
import { ConfigPoll, LISTEN_CONFIGS_AT_ONCE_MAX, LISTEN_CONFIG_MS } from '../../src/session/config-poll.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import type { CurrentHost, ReadHost } from '../../src/user-config/user-configs.js';
import { RecordedExchange } from '../support/recorded-exchange.js';
import { until } from '../support/until.js';
import { virtualHostOf } from '../relay/virtual-host.js';

class Scene {
  readonly rounds: ConfigPoll;
  readonly asked: string[] = [];
  /** What each session was told, in order. */
  readonly told: (CurrentHost | 'stream ended')[] = [];
  read: (subject: string) => CurrentHost | Promise<CurrentHost> = () => 'unknown';
  readonly #deadlines: DeadlineWheel;
  #nowMs = 0;

  constructor(t: Test) {
    this.#deadlines = new DeadlineWheel(100, () => this.#nowMs);
    t.teardown(() => this.#deadlines.stop());
    const readHost: ReadHost = (subject, virtualHostId) => {
      this.asked.push(`${subject} ${virtualHostId}`);
      return this.read(subject);
    };
    this.rounds = new ConfigPoll(this.#deadlines, readHost);
  }

  open(subject: string): RecordedExchange {
    const exchange = new RecordedExchange({ method: 'GET' });
    const identity = { subject, virtualHostId: 'v' } as Parameters<ConfigPoll['add']>[0]['identity'];
    this.rounds.add(
      {
        identity,
        isEnded: false,
        virtualHost: undefined,
        applyConfig: (host) => {
          this.told.push(host);
          return host;
        },
        endStream: () => this.told.push('stream ended'),
      },
      exchange,
    );
    exchange.openStream();
    return exchange;
  }

  /** Advances the clock by a whole round, in which every session is checked. */
  goRound(): void {
    this.#nowMs += LISTEN_CONFIG_MS + 200;
    this.#deadlines.tick();
  }
}

t.test('every stream is checked in a round, and again in the next', async (t) => {
  const scene = new Scene(t);
  scene.open('ada');
  scene.open('bob');
  t.same(scene.asked, [], 'not at once');
  scene.goRound();
  await until(() => scene.asked.length === 2, 'a look at each');
  t.same(scene.asked, ['ada v', 'bob v']);
  await until(() => {
    scene.goRound();
    return scene.asked.length >= 4;
  }, 'another round');
});

t.test('a session obeys the config that was read; a config that cannot be read changes nothing', async (t) => {
  const scene = new Scene(t);
  const host = virtualHostOf({ b: {} });
  scene.open('ada');
  for (const now of ['unknown', host, 'gone'] as const) {
    scene.read = () => now;
    const count = scene.asked.length;
    await until(() => {
      scene.goRound();
      return scene.asked.length > count + 1;
    }, 'two looks');
  }
  const [first, ...others] = scene.told;
  t.equal(first, host);
  t.equal(others.at(-1), 'stream ended');
  t.same(new Set(scene.told), new Set([host, 'stream ended']));
});

t.test('a closed stream is not checked, and hears nothing of a read that was under way', async (t) => {
  const scene = new Scene(t);
  scene.open('ada').end();
  let settle: (host: CurrentHost) => void = () => undefined;
  scene.read = () => new Promise((resolve) => (settle = resolve));
  const bob = scene.open('bob');
  scene.goRound();
  await until(() => scene.asked.length > 0, 'a look');
  t.same(scene.asked, ['bob v']);
  bob.end();
  t.equal(scene.rounds.count, 0);
  settle('gone');
  await new Promise((resolve) => setImmediate(resolve));
  t.same(scene.told, []);
  scene.goRound();
  t.same(scene.asked, ['bob v'], 'nor is anybody else');
  scene.open('cid');
  await until(() => {
    scene.goRound();
    return scene.asked.includes('cid v');
  }, 'a look at who comes after');
});

t.test('a thousand sessions are read a few at a time, over many turns', async (t) => {
  const scene = new Scene(t);
  let [readingCount, readingMax, turnCount] = [0, 0, 0];
  scene.read = async (): Promise<CurrentHost> => {
    readingCount += 1;
    readingMax = Math.max(readingMax, readingCount);
    await new Promise((resolve) => setImmediate(resolve));
    readingCount -= 1;
    return 'unknown';
  };
  for (let index = 0; index < 1_000; index += 1) scene.open(`of ${index}`);
  scene.goRound();
  await until(() => scene.asked.length === 1_000, 'all of them');
  t.equal(readingMax, LISTEN_CONFIGS_AT_ONCE_MAX);
  await until(() => readingCount === 0, 'the last');
  // Reads that answer at once must let others have their turn, too.
  scene.read = () => {
    const endMs = performance.now() + 1;
    while (performance.now() < endMs);
    return 'unknown';
  };
  await until(() => {
    scene.goRound();
    return scene.asked.length > 1_000;
  }, 'the next round');
  await until(() => {
    turnCount += 1;
    return scene.asked.length === 2_000;
  }, 'all of that');
  t.ok(turnCount > 10, `${turnCount} turns of others`);
});
