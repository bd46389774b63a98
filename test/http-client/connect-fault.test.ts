// Connection faults that real sockets cannot produce here; the rest is in http1-upstream.test.ts.
import t from 'tap';
import { connectFaultKindOf, mostTellingKind } from '../../src/http-client/dial.js';
import { isNotUnderstood } from '../../src/http-client/upstream-fault.js';

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

t.test(
  'a backend that understood nothing can be told from one that refuses the caller, or is in trouble',
  async (t) => {
    const fault = { kind: 'http-status', isUnsent: false } as const;
    for (const detail of ['400', '404', '405', '415']) t.ok(isNotUnderstood({ ...fault, detail }), detail);
    for (const detail of ['401', '403', '429', '500', '503']) t.notOk(isNotUnderstood({ ...fault, detail }), detail);
    t.notOk(isNotUnderstood({ kind: 'connection-lost', isUnsent: false }), 'nothing was said');
  },
);
