import t from 'tap';
import { limits, perSubject } from '../../../src/shared/limits.js';
import { RequestsAwaitingOwner } from '../../../src/worker/hop/hops.js';
import { until } from '../../support/until.js';

t.test('a request is passed on again after a short wait, as long as it has not waited too long', async (t) => {
  const waits = new RequestsAwaitingOwner();
  let times = 0;
  t.equal(
    waits.tryWait('alice', performance.now(), () => (times += 1)),
    true,
  );
  t.equal(times, 0, 'not at once');
  await until(() => times === 1, 'the next try');
  const longAgoMs = performance.now() - limits.ownerWaitMsMax;
  t.equal(
    waits.tryWait('alice', longAgoMs, () => t.fail('it has waited for long enough')),
    false,
  );
});

t.test('one subject has its share of the places, and gets them back', async (t) => {
  const waits = new RequestsAwaitingOwner();
  let times = 0;
  const wait = (subject: string): boolean => waits.tryWait(subject, performance.now(), () => (times += 1));
  for (let count = 0; count < perSubject(limits.waitingMax); count++) if (!wait('mallory')) t.fail('there is room');
  t.equal(wait('mallory'), false);
  t.equal(wait('alice'), true);
  await until(() => times === perSubject(limits.waitingMax) + 1, 'all to be passed on');
  t.equal(wait('mallory'), true);
  const subjects = limits.waitingMax / perSubject(limits.waitingMax);
  for (let subject = 1; subject < subjects; subject++) {
    for (let count = 0; count < perSubject(limits.waitingMax); count++) wait(`tenant ${subject}`);
  }
  while (wait('mallory'));
  t.equal(wait('somebody else'), true, 'a few subjects do not take all of them');
  for (let subject = 0; subject < limits.waitingMax; subject++) wait(`small ${subject}`);
  t.equal(wait('one more'), false, 'all together have a bound, too');
});
