// What happens in a thread for tasks between them ends no process.
import t from 'tap';
import { TaskThread } from '../../src/user-config/task-thread.js';
import { until } from '../support/until.js';

t.test('a thread that dies between tasks harms nobody, and the next task has another one', async (t) => {
  let endedCount = 0;
  const watch = (worker: { once(event: 'exit', onExit: () => void): void }): void =>
    worker.once('exit', () => (endedCount += 1));
  process.on('worker', watch);
  t.teardown(() => process.off('worker', watch));
  const thread = new TaskThread<Int32Array, string>(new URL('./late-thrower.js', import.meta.url), {
    atomics: 'disabled',
  });
  t.teardown(() => thread.close());
  for (const round of [1, 2, 3]) {
    const answered = new Int32Array(new SharedArrayBuffer(4));
    t.equal(await thread.run(answered), 'done');
    Atomics.store(answered, 0, 1);
    await until(() => endedCount === round, 'the thread has died');
  }
});
