import t from 'tap';
import { PublicationWait } from '../../../src/control-plane/compositions/publication-wait.js';

t.test('a wait for a publication ends when that is done, or when the time is over', async (t) => {
  const short = new PublicationWait(1);
  await short.for(new Promise(() => {}), { left: 7 });
  t.equal(short.left, 7);
  const unknown = new PublicationWait(1);
  await unknown.for(new Promise(() => {}), { left: undefined });
  t.equal(unknown.left, 1, 'it is not known yet whom it concerns');
  const ample = new PublicationWait(3_600_000);
  await ample.for(Promise.resolve(), { left: 7 });
  t.equal(ample.left, 0);
  await t.rejects(new PublicationWait(3_600_000).for(Promise.reject(new Error('the store')), { left: 7 }), /the store/);
});
