// Connection faults that real sockets cannot produce here; the rest is in http1-upstream.test.ts.
import t from 'tap';
import { connectFaultKindOf, mostTellingKind } from '../../src/http-client/dial.js';

function systemError(code: string, syscall = 'connect'): Error {
  return Object.assign(new Error(code), { code, syscall });
}

t.test('the kind of a failed attempt to connect', async (t) => {
  const kinds = {
    'connect-timeout': systemError('ETIMEDOUT'),
    'connect-failed': systemError('EHOSTUNREACH'),
    'connection-refused': systemError('ECONNREFUSED'),
  };
  for (const [kind, error] of Object.entries(kinds)) {
    t.equal(connectFaultKindOf(error, false), kind);
    t.equal(connectFaultKindOf(error, true), kind, 'with TLS as well');
  }
  t.equal(connectFaultKindOf(systemError('ECONNRESET', 'read'), true), 'tls-failed');
});

t.test('of several addresses the one that was reached is reported', async (t) => {
  t.equal(mostTellingKind(['connect-failed', 'connection-refused', 'connect-failed']), 'connection-refused');
  t.equal(mostTellingKind(['connect-failed', 'connect-failed']), 'connect-failed');
});
