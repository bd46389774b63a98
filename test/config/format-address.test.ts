import t from 'tap';
import { formatAddress } from '../../src/config/values.js';

t.test('an IPv6 address is written in brackets', (t) => {
  t.equal(formatAddress({ host: '::1', port: 80 }), '[::1]:80');
  t.equal(formatAddress({ host: '127.0.0.1', port: 80 }), '127.0.0.1:80');
  t.end();
});
