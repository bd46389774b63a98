// What is said about a backend that failed; all kinds of faults are in test/relay/errors-doc.test.ts.
import t from 'tap';
import {
  faultReason,
  redirectFault,
  type UnavailableBackend,
  unavailableMeta,
} from '../../src/http-client/upstream-fault.js';

t.test('a redirect says where it leads as far as that may be told, and nothing where it leads nowhere', async (t) => {
  const from = { origin: 'https://backend.example', path: '/mcp' };
  const said = (location: string): string => faultReason(redirectFault(307, location, from));
  const nowhere = said('');
  t.equal(said('https://['), nowhere, 'what is no URL');
  for (const location of ['/mcp/', '/secret', 'https://other.example/mcp']) {
    t.not(said(location), nowhere, location);
    t.notMatch(said(location), /secret|other\.example/);
  }
});

t.test('backends that are missing from a result are told in the order of their names', async (t) => {
  const missing = (backend: string): UnavailableBackend => ({ backend, reason: 'no reason' });
  for (const names of [
    ['c', 'a', 'b'],
    ['a', 'b', 'c'],
    ['b', 'c', 'a'],
  ]) {
    const { _meta } = unavailableMeta(names.map(missing));
    t.same(_meta, { 'switchyard/unavailable': ['a', 'b', 'c'].map(missing) });
  }
  t.same(unavailableMeta([]), {});
});
