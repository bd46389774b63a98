// What the overview asks to be looked at, and in which order.
import t from 'tap';
import type { Composition, Server, Version } from '../../ui/api/types.js';
import { concernsOf } from '../../ui/model/attention.js';

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

t.test('when all is well nothing is asked for', async (t) => {
  t.same(concernsOf(version, [serverOf('a', {}), serverOf('b', { enabled: false, status: 'inactive' })], []), []);
});

t.test('each concern has its reason and the page that mends it, and the worst is first', async (t) => {
  const servers = [
    serverOf('flaky', { reachable: false, lastError: 'no answer in time' }),
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
    { what: /^desk names tools/, why: /^read of gone and 1 more/, page: '/compose/id-desk' },
    { what: /^flaky did not answer/, why: 'no answer in time', page: '/servers/id-flaky' },
  ]);
  t.equal(concerns.length, 5);
});

t.test('without a store that alone is said', async (t) => {
  const lost = { ...version, store: { kind: 'redis', reachable: false }, unpublishedChanges: null } as const;
  t.match(concernsOf(lost, [], []), [{ what: 'The store cannot be reached', page: '' }]);
});
