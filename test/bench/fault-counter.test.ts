import t from 'tap';
import { faultCount, FaultCounter } from '../../bench/fault-counter.js';
import type { Step } from '../../bench/load-plan.js';

const step: Step = { method: 'POST', path: '/x', body: '{}', session: 'carries', expectedBody: 'right' };
const clean = { errors: 0, non2xx: 0, connections: 2, requests: { sent: 2 } };

t.test('right answers are no faults, nor is one request in flight on each connection', async (t) => {
  const faults = new FaultCounter();
  faults.onAnswer();
  faults.checkAnswer(step, 200, 'right');
  faults.checkAnswer({ ...step, expectedBody: undefined }, 200, 'anything');
  const count = faults.count({ ...clean, requests: { sent: 3 } });
  t.equal(faultCount(count), 0);
  t.equal(count.sample, undefined);
});

t.test('a wrong body is a fault, and the first one is reported', async (t) => {
  const faults = new FaultCounter();
  faults.checkAnswer(step, 200, 'wrong');
  faults.checkAnswer(step, 200, 'worse');
  t.same(faults.count(clean), {
    errors: 0,
    non2xx: 0,
    lost: 0,
    wrongBodies: 2,
    sample: 'POST /x was answered 200 with wrong, not right',
  });
});

t.test('a refused request counts once, by its status', async (t) => {
  const faults = new FaultCounter();
  faults.checkAnswer(step, 503, 'busy');
  const count = faults.count({ ...clean, non2xx: 1 });
  t.equal(faultCount(count), 1);
  t.equal(count.sample, 'POST /x was answered 503 with busy, not right');
});

t.test('requests whose connection ended before the answer are lost', async (t) => {
  const faults = new FaultCounter();
  faults.onAnswer();
  t.equal(faults.count({ ...clean, requests: { sent: 5 } }).lost, 2);
});

t.test('connection errors count, with the first message', async (t) => {
  const faults = new FaultCounter();
  faults.onError(new Error('refused'));
  faults.onError('later');
  const count = faults.count({ ...clean, errors: 2 });
  t.equal(faultCount(count), 2);
  t.equal(count.sample, 'refused');
});

t.test('where a part is expected, any answer that contains it is right', async (t) => {
  const faults = new FaultCounter();
  const partStep: Step = { ...step, expectedBody: undefined, expectedPart: 'ight' };
  faults.checkAnswer(partStep, 200, 'bright');
  t.equal(faults.count(clean).wrongBodies, 0);
  faults.checkAnswer(partStep, 200, 'wrong');
  t.match(faults.count(clean), { wrongBodies: 1, sample: 'POST /x was answered 200 with wrong, not ight' });
});

t.test('only the beginning and the end of a long body are reported', async (t) => {
  const faults = new FaultCounter();
  faults.checkAnswer(step, 200, `${'x'.repeat(500_000)}${'y'.repeat(500_000)}`);
  t.match(faults.count(clean).sample, /x{300} … y{300} \(1000000 characters\), not right$/);
});
