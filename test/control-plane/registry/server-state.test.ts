import t from 'tap';
import type { ProbeResult } from '../../../src/control-plane/prober/prober.js';
import {
  type ServerRecord,
  type ServerStatus,
  type ServerList,
  serverListOf,
} from '../../../src/control-plane/records/server-record.js';
import {
  serverAfterProbe,
  type FailureTolerance,
  type StoredServer,
} from '../../../src/control-plane/registry/server-state.js';

const NOW = '2026-01-02T03:04:05.678Z';
function list(...items: readonly string[]): ServerList {
  const digests = new Map(items.map((item) => [item, `digest of ${item}`]));
  return { items: digests, digest: `digest of ${items.length}`, json: Buffer.from(JSON.stringify(items)) };
}

const reached: ProbeResult = {
  kind: 'reached',
  findings: {
    era: 'legacy',
    eras: ['legacy'],
    serverInfo: { name: 's' },
    capabilities: { tools: {} },
    lists: {
      tools: serverListOf(new Map([['a', { name: 'a', inputSchema: {} }]])),
      prompts: list('a', 'b'),
      resources: list('a', 'b', 'c'),
      templates: undefined,
    },
  },
};
const failed: ProbeResult = { kind: 'failed', reason: 'it refuses connections' };

function server(status: ServerStatus, failures: number): StoredServer {
  const record: ServerRecord = {
    id: '0'.repeat(32),
    name: 'demo',
    slug: 'demo',
    url: 'http://127.0.0.1:1/',
    description: '',
    tags: [],
    transport: 'STREAMABLEHTTP',
    status,
    enabled: true,
    reachable: status === 'active',
    toolCount: 7,
    capabilities: { old: {} },
    serverInfo: { name: 'old' },
    createdAt: 'created',
    updatedAt: 'updated',
    lastSeen: 'seen',
    lastRefreshAt: 'refreshed',
    lastError: null,
  };
  return { record, failures };
}

t.test('the state changes as in the table of the file header', async (t) => {
  const rows: readonly [ServerStatus, number, ProbeResult, FailureTolerance, ServerStatus, number][] = [
    ['active', 0, reached, 'at-once', 'active', 0],
    ['active', 2, reached, 'patient', 'active', 0],
    ['inactive', 3, reached, 'at-once', 'active', 0],
    ['inactive', 3, reached, 'patient', 'active', 0],
    ['active', 0, failed, 'at-once', 'inactive', 3],
    ['active', 0, failed, 'patient', 'active', 1],
    ['active', 1, failed, 'patient', 'active', 2],
    ['active', 2, failed, 'patient', 'inactive', 3],
    ['inactive', 3, failed, 'at-once', 'inactive', 3],
    ['inactive', 3, failed, 'patient', 'inactive', 3],
    ['inactive', 0, failed, 'patient', 'inactive', 1],
  ];
  for (const [status, failures, probe, judgement, statusAfter, failuresAfter] of rows) {
    const after = serverAfterProbe(server(status, failures), probe, judgement, NOW);
    const row = `${status} with ${failures}, ${probe.kind}, ${judgement}`;
    t.equal(after.record.status, statusAfter, row);
    t.equal(after.failures, failuresAfter, row);
    t.equal(after.record.reachable, probe.kind === 'reached', row);
  }
});

t.test('findings are recorded, and nothing that people entered is changed', async (t) => {
  const before = server('inactive', 3);
  const { record } = serverAfterProbe(before, reached, 'patient', NOW);
  t.same(record, {
    ...before.record,
    status: 'active',
    reachable: true,
    toolCount: 1,
    promptCount: 2,
    resourceCount: 3,
    era: 'legacy',
    eras: ['legacy'],
    capabilities: { tools: {} },
    serverInfo: { name: 's' },
    lastSeen: NOW,
    lastRefreshAt: NOW,
    lastError: null,
  });
});

t.test('a list that a server does not give stays as it was last read', async (t) => {
  const before = server('active', 0);
  const known = { ...before, record: { ...before.record, promptCount: 9, templateCount: 4 } };
  const after = serverAfterProbe({ ...known, listDigests: { prompts: 'p', templates: 't' } }, reached, 'patient', NOW);
  t.match(after.record, { promptCount: 2, resourceCount: 3, templateCount: 4 });
  t.equal(after.listDigests?.templates, 't');
  t.equal(after.listDigests?.prompts, 'digest of 2');
});

t.test('earlier findings outlive a failure', async (t) => {
  const before = server('active', 2);
  const { record } = serverAfterProbe(before, failed, 'patient', NOW);
  t.same(record, { ...before.record, status: 'inactive', reachable: false, lastError: 'it refuses connections' });
});
