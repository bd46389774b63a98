import t from 'tap';
import { Reloads } from '../../src/primary/run-primary.js';
import { until } from '../support/until.js';

/** Reloads that each run until the test finishes them. */
class Held {
  readonly #waiting: (() => void)[] = [];
  begun = 0;
  readonly reloads = new Reloads(() => {
    this.begun++;
    return new Promise((resolve) => this.#waiting.push(resolve));
  });

  async finish(): Promise<void> {
    await until(() => this.#waiting.length > 0, 'a reload to be under way');
    this.#waiting.shift()?.();
  }
}

t.test('requests during a reload cause one more reload after it, and only one', async (t) => {
  const held = new Held();
  held.reloads.request();
  t.equal(held.begun, 1);
  for (let request = 0; request < 5; request++) held.reloads.request();
  t.equal(held.begun, 1, 'never two at once');
  await held.finish();
  await until(() => held.begun === 2, 'the one after it');
  await held.finish();
  held.reloads.request();
  await until(() => held.begun === 3, 'another one, asked for later');
  await held.finish();
  t.equal(held.begun, 3);
});

t.test('no reload begins when the program ends', async (t) => {
  const held = new Held();
  held.reloads.request();
  held.reloads.request();
  held.reloads.end();
  t.ok(held.reloads.isOver);
  await held.finish();
  held.reloads.request();
  t.equal(held.begun, 1);
});
