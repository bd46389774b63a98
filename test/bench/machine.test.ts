import t from 'tap';
import { refuseBusyBaseline } from '../../bench/machine.js';

t.test('a baseline is measured on a quiet machine or not at all', async (t) => {
  t.doesNotThrow(() => refuseBusyBaseline({ loadAverageBefore: 0.49 }));
  t.throws(() => refuseBusyBaseline({ loadAverageBefore: 0.5 }), /no baseline is taken at a load average of 0.5/);
});
