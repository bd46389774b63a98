// No connection is made to a refused address, however it is written; a name is looked up by the guard. What the guard
// itself refuses is tested with it.
import t from 'tap';
import { createGuardedUpstream } from '../../../src/control-plane/mcp/guarded-upstream.js';
import { Http1Upstream } from '../../../src/relay/upstream/http1/http1-upstream.js';
import type { HttpUpstream } from '../../../src/relay/upstream/http-upstream.js';
import { createGuardedLookup } from '../../../src/shared/address-guard.js';
import { backendFor } from '../../support/deployment.js';
import { until } from '../../support/until.js';

/** A status, or the kind of the fault. */
function outcomeOf(upstream: HttpUpstream, origin: string): Promise<number | string> {
  return new Promise((resolve) => {
    const target = { origin, path: '/mcp' };
    const request = { subject: 'alice', target, method: 'DELETE', headers: [], body: undefined } as const;
    upstream.dispatch(request, {
      onHead: resolve,
      onData: () => {},
      onEnd: () => {},
      onFault: ({ kind }) => resolve(kind),
    });
  });
}

t.test('addresses are looked at before they are connected to', async (t) => {
  const upstream = createGuardedUpstream(5_000, { connectionsMax: 8, connectionsPerSubjectMax: 8 });
  t.teardown(() => upstream.close());
  const refused = [
    'http://169.254.169.254',
    'https://[fe80::1]:8443',
    'http://[::ffff:169.254.1.1]',
    'http://0.0.0.0:1',
  ];
  for (const origin of refused) t.equal(await outcomeOf(upstream, origin), 'address-refused', origin);
  const backend = await backendFor(t);
  t.equal(await outcomeOf(upstream, backend.raw.origin), 200);
  t.equal(await outcomeOf(upstream, backend.raw.origin.replace('127.0.0.1', 'localhost')), 200, 'names are looked up');
});

t.test('a name that comes to mean a refused address is refused at its next connection', async (t) => {
  const backend = await backendFor(t);
  let address = '127.0.0.1';
  const lookup = createGuardedLookup((_name, _options, callback) => callback(null, [{ address, family: 4 }]));
  const upstream = new Http1Upstream({ connectTimeoutMs: 5_000, lookup });
  t.teardown(() => upstream.close());
  const origin = backend.raw.origin.replace('127.0.0.1', 'rebound.example');
  t.equal(await outcomeOf(upstream, origin), 200);
  address = '169.254.169.254';
  backend.raw.closeConnections();
  await until(async () => (await outcomeOf(upstream, origin)) === 'address-refused', 'the next connection');
  t.equal(await outcomeOf(upstream, origin.replace('http:', 'https:')), 'address-refused', 'with TLS as well');
});
