import t from 'tap';
import { describeViolation } from '../../../src/control-plane/http/answered-error.js';

t.test('a member at fault is named as its sender wrote it', async (t) => {
  const violation = { keyword: 'type', schemaPath: '', params: { type: 'string' } };
  for (const [instancePath, member] of [
    ['/headers/x~1y', 'headers.x/y'],
    ['/headers/x~01', 'headers.x~1'],
    ['', 'the body'],
  ] as const)
    t.equal(describeViolation({ ...violation, instancePath }, 'body'), `${member} must be a string`);
});
