import t from 'tap';
import { ChangeOutcome } from '../../../src/control-plane/common/change.js';

function waiting(msMax: number, left: number | undefined): ChangeOutcome {
  const outcome = new ChangeOutcome(msMax);
  outcome.configsLeft = left;
  return outcome;
}

t.test('a wait for a publication ends when that is done, or when the time is over', async (t) => {
  const short = waiting(1, 7);
  await short.waitFor(new Promise(() => {}));
  t.equal(short.unpublished, 7);
  const unknown = waiting(1, undefined);
  await unknown.waitFor(new Promise(() => {}));
  t.equal(unknown.unpublished, 1, 'it is not known yet whom it concerns');
  const ample = waiting(3_600_000, 7);
  await ample.waitFor(Promise.resolve());
  t.equal(ample.unpublished, 0);
  await t.rejects(waiting(3_600_000, 7).waitFor(Promise.reject(new Error('the store'))), /the store/);
});
