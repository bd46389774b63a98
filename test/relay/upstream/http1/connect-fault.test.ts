// What cannot be made to happen here over real sockets; the rest is in http1-upstream.test.ts.
import t from 'tap';
import { connectFaultKindOf } from '../../../../src/relay/upstream/http1/connect-fault.js';

function systemError(code: string, syscall = 'connect'): Error {
  return Object.assign(new Error(code), { code, syscall });
}

t.test('the kind of a failed attempt to connect', async (t) => {
  const kinds = {
    'connect-timeout': systemError('ETIMEDOUT'),
    'name-not-resolved': systemError('EAI_AGAIN', 'getaddrinfo'),
    'address-refused': systemError('ADDRESS_REFUSED', 'getaddrinfo'),
    'connect-failed': systemError('EHOSTUNREACH'),
    'connection-refused': new AggregateError([systemError('EADDRNOTAVAIL'), systemError('ECONNREFUSED')]),
  };
  for (const [kind, error] of Object.entries(kinds)) {
    t.equal(connectFaultKindOf(error, false), kind);
    t.equal(connectFaultKindOf(error, true), kind, 'with TLS as well');
  }
  const unreachable = new AggregateError([systemError('ENETUNREACH'), systemError('EHOSTUNREACH')]);
  t.equal(connectFaultKindOf(unreachable, true), 'connect-failed');
  t.equal(connectFaultKindOf(systemError('ECONNRESET', 'read'), true), 'tls-failed');
});
