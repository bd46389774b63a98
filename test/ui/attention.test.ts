// What the overview lists as concerns, and in which order.
import t from 'tap';
import type { Composition, Server, Version } from '../../ui/api/types.js';
import type { LiveReading } from '../../ui/api/view-types.js';
import { calmWords, concernsOf } from '../../ui/model/attention.js';

const version: Version = {
  app: { name: 'switchyard', version: '1' },
  store: { kind: 'redis', reachable: true },
  unpublishedChanges: 0,
};
const active = { status: 'active', enabled: true, reachable: true, lastError: null } as const;

function serverOf(name: string, members: Partial<Server>): Server {
  return { id: `id-${name}`, name, ...active, ...members } as unknown as Server;
}

function compositionOf(name: string, missingTools: Composition['missingTools']): Composition {
  return { id: `id-${name}`, name, missingTools } as unknown as Composition;
}

t.test('when all is well there are no concerns', async (t) => {
  t.same(concernsOf(version, [serverOf('a', {}), serverOf('b', { enabled: false, status: 'inactive' })], []), []);
});

t.test('each concern has its reason and the page that fixes it, and the worst is first', async (t) => {
  const servers = [
    serverOf('flaky', { reachable: false, lastError: 'no response in time' }),
    serverOf('gone', { status: 'inactive', reachable: false, lastError: 'connection refused' }),
    serverOf('new', { status: 'inactive', reachable: false }),
  ];
  const missing = [
    { server: 'gone', tool: 'read' },
    { server: 'gone', tool: 'list' },
  ];
  const concerns = concernsOf({ ...version, unpublishedChanges: 2 }, servers, [
    compositionOf('desk', missing),
    compositionOf('whole', []),
  ]);
  t.match(concerns, [
    { what: '2 changes are not published to everybody', page: '/compose' },
    { what: /^gone is inactive/, why: 'connection refused', page: '/servers/id-gone' },
    { what: /^new is inactive/, why: 'it was never reached', page: '/servers/id-new' },
    { what: /^desk refers to tools/, why: /^read of gone and 1 more/, page: '/compose/id-desk' },
    { what: /^flaky did not respond/, why: 'no response in time', page: '/servers/id-flaky' },
  ]);
  t.equal(concerns.length, 5);
});

t.test('many servers that are out are one concern, with their reason if they have the same', async (t) => {
  const gone = { status: 'inactive', reachable: false, lastError: 'it refuses connections' } as const;
  const many = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => serverOf(name, gone));
  t.match(concernsOf(version, many, []), [
    {
      what: /^6 servers are inactive/,
      why: 'it refuses connections: a, b, c and 3 more',
      page: '/servers?status=inactive',
    },
  ]);
  const others = [...many, serverOf('g', { ...gone, lastError: 'no response in time' })];
  t.match(concernsOf(version, others, []), [
    { what: /^7 servers/, why: 'it refuses connections (6 of them): a, b, c and 4 more' },
  ]);
  t.equal(concernsOf(version, many.slice(1), []).length, 5, 'a few are told one by one');
});

t.test('without a store that is the only concern', async (t) => {
  const lost = { ...version, store: { kind: 'redis', reachable: false }, unpublishedChanges: null } as const;
  t.match(concernsOf(lost, [], []), [{ what: 'The store cannot be reached', page: '' }]);
});

const calm: LiveReading = {
  ...{ at: '', isReady: true, obstacles: [], degraded: [], sessions: 1, streams: 0, requestsInFlight: 0 },
  ...{ requestsPerSecond: 10, failuresPerSecond: 0.5, refusalsPerSecond: 0, callsPerSecond: 9 },
  ...{ callP50Ms: 1, callP99Ms: 2, gatewayP99Ms: 1, backends: [] },
  workers: [{ slot: 0, state: 'listening', health: 'ok', sessions: 1, requestsInFlight: 0, cpuShare: 0, rssBytes: 1 }],
};

t.test('current faults of the dataplane are concerns, described even without addresses', async (t) => {
  const watched = { reading: calm, fault: '', isUnnamed: false };
  t.same(concernsOf(version, [], [], watched), []);
  t.same(concernsOf(version, [], [], { ...watched, reading: undefined, fault: 'x', isUnnamed: true }), []);
  t.match(concernsOf(version, [], [], { ...watched, fault: 'it does not answer' }), [{ why: 'it does not answer' }]);
  const [first] = calm.workers;
  const reading: LiveReading = {
    ...{ ...calm, failuresPerSecond: 4, isReady: false },
    obstacles: [
      { code: 'store-unreachable', message: '' },
      { code: 'unheard-of', message: 'words of its own' },
    ],
    degraded: [{ code: 'worker-absent', message: '' }],
    workers: [{ ...first!, health: 'silent', slot: 3 }],
  };
  t.match(concernsOf(version, [], [], { ...watched, reading }), [
    { what: /not ready/, why: 'it cannot read user configs' },
    { what: /not ready/, why: 'words of its own' },
    { what: /does not respond: process 3/ },
    { what: /fail/, why: /^40 of 100/, page: '/explain' },
    { what: /with reduced capacity/, why: 'a process of the gateway is not listening' },
  ]);
});

t.test('all is well only where the dataplane was asked, too', async (t) => {
  const watched = { reading: calm, fault: '', isUnnamed: false };
  t.match(calmWords(watched), { isWell: true, words: /respond to the control plane, and everything is published\.$/ });
  const unheard = { ...watched, reading: undefined };
  t.match(calmWords(unheard), { isWell: false, words: /has not reported yet\.$/ });
  t.match(calmWords({ ...unheard, fault: 'x', isUnnamed: true }), { isWell: false, words: /is not known here/ });
});
