// What is said about a backend that failed; all kinds of faults are in test/relay/errors-doc.test.ts.
import t from 'tap';
import {
  faultReason,
  httpStatusFault,
  initializeFault,
  isNotUnderstood,
  isReachFault,
  isShareFault,
  isUnauthorized,
  listRefusedFault,
  loggedReason,
  redirectFault,
  upstreamFault,
  type UnavailableBackend,
  unavailableMeta,
} from '../../src/http-client/upstream-fault.js';
import { limits } from '../../src/shared/limits.js';

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

t.test('the code of a refused `initialize` is logged, if it is one, and no caller is told it', async (t) => {
  const plain = loggedReason(upstreamFault('initialize-refused'));
  for (const [error, code] of [
    ['{"code":-32000,"message":"no"}', ' -32000'],
    ['{"code":"text"}', ''],
    ['{"code":1.5}', ''],
    ['"text"', ''],
    ['null', ''],
    [`{"code":1,"message":"${'x'.repeat(limits.upstreamRefusalBytesMax)}"}`, ''],
  ] as const) {
    const fault = initializeFault(Buffer.from(error));
    t.equal(loggedReason(fault), plain + code, error.slice(0, 40));
    t.equal(faultReason(fault), plain);
  }
});

t.test('a fault says whose it is: the origin’s, the subject’s share, the token’s, or what was asked', async (t) => {
  for (const [fault, judged] of [
    [upstreamFault('connection-refused'), 'reach'],
    [upstreamFault('tls-failed'), 'reach'],
    [upstreamFault('connection-lost'), ''],
    [upstreamFault('connections-share-used'), 'share'],
    [upstreamFault('backend-share-used'), 'share'],
    [upstreamFault('backend-busy'), ''],
    [httpStatusFault(401), 'unauthorized'],
    [httpStatusFault(403), ''],
    [httpStatusFault(404), 'not understood'],
    [httpStatusFault(429), ''],
    [httpStatusFault(499), 'not understood'],
    [httpStatusFault(500), ''],
    [{ ...upstreamFault('redirected'), detail: '401' }, ''],
  ] as const) {
    const judgements = [
      ...[isReachFault(fault) && 'reach', isShareFault(fault) && 'share'],
      ...[isUnauthorized(fault) && 'unauthorized', isNotUnderstood(fault) && 'not understood'],
    ];
    t.equal(judgements.filter(Boolean).join(), judged, faultReason(fault));
  }
  t.equal(faultReason(listRefusedFault('tools/list')), 'tools/list refused');
});
