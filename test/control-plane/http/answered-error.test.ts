import t from 'tap';
import { ControlPlaneFault } from '../../../src/control-plane/common/control-plane-fault.js';
import { describeViolation, faultOf } from '../../../src/control-plane/http/answered-error.js';
import { RecordStoreFault } from '../../../src/store/record-store.js';

t.test('a member at fault is named as its sender wrote it', async (t) => {
  const violation = { keyword: 'type', schemaPath: '', params: { type: 'string' } };
  for (const [instancePath, member] of [
    ['/headers/x~1y', 'headers.x/y'],
    ['/headers/x~01', 'headers.x~1'],
    ['', 'the body'],
  ] as const)
    t.equal(describeViolation({ ...violation, instancePath }, 'body'), `${member} must be a string`);
});

t.test('each kind of fault has its words', async (t) => {
  const words = (keyword: string, params: object, message?: string): string =>
    describeViolation(
      { keyword, schemaPath: '', instancePath: '/a', params: { ...params }, ...(message && { message }) },
      'querystring',
    );
  t.equal(words('required', { missingProperty: 'b' }), 'a.b is missing');
  t.equal(
    words('additionalProperties', { additionalProperty: 'b' }),
    'a.b is not a known member: remove it or correct its name',
  );
  t.equal(words('enum', { allowedValues: ['x', 'y'] }), 'a must be one of x, y');
  t.equal(words('maximum', {}, 'must be <= 9'), 'a must be <= 9');
  t.equal(words('maximum', {}), 'a is not valid');
  const types = {
    string: 'a string',
    array: 'an array',
    object: 'an object',
    boolean: 'true or false',
    integer: 'a whole number',
    number: 'number',
  };
  for (const [type, said] of Object.entries(types)) t.equal(words('type', { type }), `a must be ${said}`);
  t.equal(words('type', { type: ['null', 'string'] }), 'a must be null or a string');
});

t.test(
  'an error of the HTTP library is the caller’s fault if its status says so, and in words for people',
  async (t) => {
    const errorOf = (code: string, statusCode?: number): Error => Object.assign(new Error('m'), { code, statusCode });
    for (const [code, status, fault, message] of [
      ['FST_ERR_CTP_BODY_TOO_LARGE', 413, 'body-too-large', 'Request body too large'],
      ['FST_ERR_CTP_INVALID_CONTENT_LENGTH', 400, 'invalid', 'The length of the body differs from content-length'],
      ['FST_ERR_NOT_FOUND', 404, 'not-found', 'm'],
      ['FST_ERR_MAX_PARAM_LENGTH', 414, 'path-too-long', 'The path is too long'],
      ['FST_ERR_X', 499, 'invalid', 'm'],
    ] as const) {
      const { code: found, status: foundStatus, message: said } = faultOf(errorOf(code, status)) ?? {};
      t.same([found, foundStatus, said], [fault, status, message]);
    }
    for (const error of [
      errorOf('FST_ERR_X', 399),
      errorOf('FST_ERR_X', 500),
      errorOf('FST_ERR_X'),
      errorOf('E_FST_', 400),
      new Error('m'),
      'm',
    ])
      t.equal(faultOf(error), undefined);
    const validation = [{ keyword: 'type', schemaPath: '', instancePath: '', params: { type: 'object' } }];
    const invalid = Object.assign(errorOf('FST_ERR_VALIDATION', 400), { validation });
    t.match(faultOf(invalid), { status: 422, message: 'the body must be an object' });
    t.match(faultOf(Object.assign(invalid, { validationContext: 'querystring' })), {
      message: 'the querystring must be an object',
    });
    const known = new ControlPlaneFault('not-found', 'n');
    t.equal(faultOf(known), known);
    t.match(faultOf(new RecordStoreFault('down')), { code: 'store-failed', why: 'down' });
  },
);
