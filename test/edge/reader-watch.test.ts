// The watch over a slow caller; the test sets the clock.
import t, { type Test } from 'tap';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { ReaderWatch, SLOW_READER_TRY_MS } from '../../src/edge/edge-exchange.js';

const TRY_MS = SLOW_READER_TRY_MS;
/** How many tries a caller that takes nothing has. */
const TRIES = 4;

interface Scene {
  readonly watch: ReaderWatch;
  tries: number;
  stalls: number;
  /** What the next try does and returns. */
  tryMore: () => boolean;
  readonly pass: (ms: number) => void;
}

function start(t: Test): Scene {
  let nowMs = 1_000;
  const realNow = performance.now.bind(performance);
  performance.now = () => nowMs;
  t.teardown(() => (performance.now = realNow));
  const wheel = new DeadlineWheel(TRY_MS / 10, () => nowMs);
  t.teardown(() => wheel.stop());
  const scene: Scene = {
    watch: new ReaderWatch(
      wheel,
      TRIES * TRY_MS,
      () => {
        scene.tries += 1;
        return scene.tryMore();
      },
      () => (scene.stalls += 1),
    ),
    tries: 0,
    stalls: 0,
    tryMore: () => false,
    pass: (ms) => {
      for (const endMs = nowMs + ms; nowMs < endMs;) {
        nowMs += TRY_MS / 10;
        wheel.tick();
      }
    },
  };
  return scene;
}

t.test('a caller that takes nothing is tried again and again, and cut off once, when its time is over', async (t) => {
  const scene = start(t);
  scene.pass((TRIES - 1) * TRY_MS);
  t.ok(scene.tries >= TRIES - 2, `${scene.tries} tries`);
  t.equal(scene.stalls, 0);
  scene.pass(3 * TRY_MS);
  t.equal(scene.stalls, 1);
  const { tries } = scene;
  scene.pass(10 * TRIES * TRY_MS);
  t.same([scene.stalls, scene.tries], [1, tries], 'and no more is tried');
});

t.test('a caller that takes something gets its full time again', async (t) => {
  const scene = start(t);
  scene.tryMore = () => true;
  scene.pass(5 * TRIES * TRY_MS);
  t.equal(scene.stalls, 0, 'taken when tried');
  scene.tryMore = () => false;
  for (let round = 0; round < 5; round++) {
    scene.pass((TRIES - 2) * TRY_MS);
    scene.watch.noteProgress();
  }
  t.equal(scene.stalls, 0, 'taken by itself');
});

t.test('a caller that has taken everything is left alone until it is slow again, with its full time', async (t) => {
  const scene = start(t);
  scene.pass((TRIES - 1) * TRY_MS);
  scene.watch.stop();
  const { tries } = scene;
  scene.pass(5 * TRIES * TRY_MS);
  t.same([scene.stalls, scene.tries], [0, tries]);
  scene.watch.start();
  scene.pass((TRIES - 1) * TRY_MS);
  t.equal(scene.stalls, 0);
  t.ok(scene.tries > tries);
  scene.watch.start();
  scene.pass(3 * TRY_MS);
  t.equal(scene.stalls, 1, 'to be slow once more is not to begin anew');
});

t.test('a try that delivers the last of the answer ends the watch', async (t) => {
  const scene = start(t);
  scene.tryMore = () => {
    scene.watch.stop();
    return false;
  };
  scene.pass(5 * TRIES * TRY_MS);
  t.same([scene.tries, scene.stalls], [1, 0]);
});
