import t from 'tap';
import { heartbeatPeriodMs } from '../../src/process/channel.js';
import { HangWatch } from '../../src/primary/fleet.js';

const HANG_TIMEOUT_MS = 10_000;
const PERIOD_MS = 2_500;

/** A watch whose clock the test sets. */
class Watched {
  nowMs = 0;
  readonly hung: string[] = [];
  readonly watch: HangWatch<string>;

  constructor(hungAtOnceMax = 4) {
    this.watch = new HangWatch({
      hangTimeoutMs: HANG_TIMEOUT_MS,
      hungAtOnceMax,
      onHung: (worker) => this.hung.push(worker),
      nowMs: () => this.nowMs,
    });
  }

  /** Lets time pass as for a primary that is awake; the named workers send a heartbeat in each period. */
  pass(ms: number, ...speaking: readonly string[]): void {
    for (let leftMs = ms; leftMs > 0; leftMs -= PERIOD_MS) {
      this.nowMs += PERIOD_MS;
      for (const worker of speaking) this.watch.onHeartbeat(worker);
      this.watch.checkForHung();
    }
  }
}

t.test('a worker that is silent for the timeout hangs, and is reported once', async (t) => {
  const watched = new Watched();
  for (const worker of ['silent', 'speaking']) watched.watch.watch(worker);
  watched.pass(HANG_TIMEOUT_MS - PERIOD_MS, 'speaking');
  t.same(watched.hung, []);
  watched.pass(PERIOD_MS, 'speaking');
  t.same(watched.hung, ['silent']);
  watched.pass(3 * HANG_TIMEOUT_MS, 'speaking');
  t.same(watched.hung, ['silent']);
});

t.test('time that the primary slept through does not count', async (t) => {
  const watched = new Watched();
  watched.watch.watch('worker');
  watched.pass(HANG_TIMEOUT_MS / 2);
  for (const sleptMs of [3_600_000, HANG_TIMEOUT_MS]) {
    watched.nowMs += sleptMs;
    watched.watch.checkForHung();
    t.same(watched.hung, [], 'what the worker sent meanwhile has not been read yet');
    watched.watch.onHeartbeat('worker');
  }
  watched.pass(HANG_TIMEOUT_MS);
  t.same(watched.hung, ['worker'], 'and it is not forgiven for ever');
});

t.test('workers are given up a few at a time', async (t) => {
  const watched = new Watched(2);
  for (const worker of ['a', 'b', 'c', 'd', 'e']) watched.watch.watch(worker);
  watched.pass(HANG_TIMEOUT_MS);
  t.same(watched.hung, ['a', 'b']);
  watched.pass(PERIOD_MS, 'c');
  t.same(watched.hung, ['a', 'b', 'd', 'e'], 'who speaks again meanwhile is spared');
});

t.test('a worker that has left is not waited for, and no late message brings it back', async (t) => {
  const watched = new Watched();
  watched.watch.watch('gone');
  watched.watch.unwatch('gone');
  watched.watch.onHeartbeat('gone');
  watched.pass(2 * HANG_TIMEOUT_MS);
  t.same(watched.hung, []);
});

t.test('heartbeats come several times within the timeout, and never at a costly rate', async (t) => {
  t.same([10_000, 3_600_000, 1_000, 1].map(heartbeatPeriodMs), [2_500, 2_500, 250, 1]);
});
