// What a worker answers an operator: no secrets, no session ids, and never more than fits.
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { upstreamFault } from '../../src/http-client/upstream-fault.js';
import { RecentRequests } from '../../src/observation/recent-requests.js';
import type { ViewQuestion } from '../../src/process/messages.js';
import type { Relay } from '../../src/relay/relay.js';
import { limits } from '../../src/shared/limits.js';
import { sessionHash, subjectHash } from '../../src/shared/logger.js';
import { VIEW_BACKENDS_MAX } from '../../src/worker/explanation.js';
import { WorkerFigures } from '../../src/worker/worker-figures.js';
import { WorkerViews } from '../../src/worker/worker-views.js';
import { logInto } from '../support/log-lines.js';

interface ToldSession {
  readonly session: string;
  readonly client: string;
  readonly backends: readonly object[];
}

function sessionOf(id: string, subject: string, changes: { clientInfo?: string; backends?: number } = {}): object {
  const { clientInfo = '{"name":"a","version":"1"}', backends = 1 } = changes;
  const names = Array.from({ length: backends }, (_, index) => `b${index}`);
  return {
    identity: {
      ...{ id, subject, virtualHostId: 'vh', protocolVersion: '2025-11-25' },
      introduction: { clientInfo: Buffer.from(clientInfo) },
    },
    ...{ beganAtMs: 10_000, usedAtMs: 67_400, isBusy: true },
    upstreams: {
      virtualHost: { backends: new Map(names.map((name) => [name, {}])) },
      findUsed: (name: string) =>
        name === 'b0'
          ? { state: 'failed', record: { era: 'legacy' }, fault: upstreamFault('answer-timeout') }
          : undefined,
    },
  };
}

function viewsOf(sessions: readonly object[], changes: object = {}, relayChanges: object = {}): WorkerViews {
  const relay = { sessions, sessionCount: sessions.length, nowMs: 70_000, origins: [], ...relayChanges };
  return new WorkerViews({
    relay: { lastFaultOf: () => undefined, ...relay } as unknown as Relay,
    slot: 1,
    readConfig: () => ({ kind: 'missing' }),
    keptConfig: () => undefined,
    recentRequests: undefined,
    figures: undefined,
    logger: logInto([]),
    ...changes,
  });
}

async function told<Answer>(views: WorkerViews, question: ViewQuestion): Promise<Answer> {
  return JSON.parse(await views.answer(question)) as Answer;
}

const ALL = { view: 'sessions', subject: '', session: '', firstSlot: 0, offset: 0, countMax: 100 } as const;
type Sessions = { readonly list: readonly ToldSession[]; readonly matching: number };

t.test('a session is shown with its times and backends, and neither its id nor its subject', async (t) => {
  const views = viewsOf([sessionOf('id-1', 'alice', { backends: 2 })]);
  const answer = await told<Sessions>(views, ALL);
  t.strictSame(answer, {
    list: [
      {
        session: sessionHash('id-1'),
        subject: subjectHash('alice'),
        virtualHost: 'vh',
        protocolVersion: '2025-11-25',
        client: 'a 1',
        ageS: 60,
        idleS: 3,
        isBusy: true,
        backends: [
          { name: 'b0', state: 'failed', era: 'legacy', reason: 'no response in time' },
          { name: 'b1', state: 'unused' },
        ],
      },
    ],
    matching: 1,
  });
});

t.test('a session whose virtual host has not been needed yet is shown without backends', async (t) => {
  const session = { ...sessionOf('id-1', 'alice'), upstreams: { virtualHost: undefined } };
  const answer = await told<Sessions>(viewsOf([session]), ALL);
  t.match(answer, { list: [{ session: sessionHash('id-1'), virtualHost: 'vh', backends: [] }], matching: 1 });
  t.equal(answer.list[0]?.backends.length, 0);
});

t.test('a session’s client is named in a few words, whatever it said of itself', async (t) => {
  for (const [clientInfo, name] of [
    ['{"name":"a"}', 'a'],
    ['{"name":1,"version":"2"}', '2'],
    ['null', ''],
    [`{"name":"${'x'.repeat(1_000)}"}`, 'x'.repeat(limits.quotedCharsMax)],
    [JSON.stringify({ name: 'x', more: 'y'.repeat(limits.readAtOnceBytesMax) }), ''],
  ] as const) {
    const answer = await told<Sessions>(viewsOf([sessionOf('1', 'alice', { clientInfo })]), ALL);
    t.equal(answer.list[0]?.client, name);
  }
  const many = await told<Sessions>(viewsOf([sessionOf('1', 'a', { backends: VIEW_BACKENDS_MAX + 1 })]), ALL);
  t.equal(many.list[0]?.backends.length, VIEW_BACKENDS_MAX);
});

t.test('sessions are found by subject and by hash, and are counted also where they are not listed', async (t) => {
  const owners = ['alice', 'bob', 'alice', 'alice', 'bob'];
  const views = viewsOf(owners.map((subject, index) => sessionOf(`id-${index}`, subject)));
  for (const [changes, ids, matching] of [
    [{}, [0, 1, 2, 3, 4], 5],
    [{ subject: 'alice' }, [0, 2, 3], 3],
    [{ session: sessionHash('id-3') }, [3], 1],
    [{ session: sessionHash('id-3'), subject: 'bob' }, [], 0],
    [{ subject: 'carol' }, [], 0],
    [{ countMax: 2 }, [0, 1], 5],
    [{ firstSlot: 1, offset: 3 }, [3, 4], 5],
    [{ firstSlot: 1, offset: 1, subject: 'alice', countMax: 1 }, [2], 3],
    [{ firstSlot: 0, offset: 3 }, [0, 1, 2, 3, 4], 5],
    [{ firstSlot: 2 }, [], 5],
  ] as const) {
    const answer = await told<Sessions>(views, { ...ALL, ...changes });
    const hashes = ids.map((id) => sessionHash(`id-${id}`));
    t.strictSame([answer.list.map(({ session }) => session), answer.matching], [hashes, matching]);
  }
});

t.test('the event loop has its turn while one of very many sessions is sought', async (t) => {
  const views = viewsOf(Array.from({ length: 20_000 }, (_, index) => sessionOf(`id-${index}`, 'alice')));
  let isAnswered = false;
  const answer = views.answer({ ...ALL, session: sessionHash('id-19999') }).then((text) => {
    isAnswered = true;
    return text;
  });
  await turn();
  t.equal(isAnswered, false);
  t.equal((JSON.parse(await answer) as Sessions).list.length, 1);
});

t.test('an answer has as many entries as fit, and says how many there are', async (t) => {
  const long = 'x'.repeat(10_000);
  const origins = Array.from({ length: 100 }, (_, index) => ({ origin: `https://${index}.${long}`, state: 'open' }));
  type Backends = { readonly list: readonly { origin: string; circuit: string }[]; readonly count: number };
  const { list, count } = await told<Backends>(viewsOf([], {}, { origins }), { view: 'backends' });
  t.equal(count, 100);
  t.ok(list.length > 20 && list.length < 30, `${list.length} entries`);
  t.match(list[0], { origin: origins[0]?.origin, circuit: 'open' });
  const sessions = Array.from({ length: 300 }, (_, index) => sessionOf(`${index}`, 'a', { backends: 100 }));
  const answer = await viewsOf(sessions).answer({ ...ALL, countMax: 1_000 });
  t.ok(answer.length < 300 * 1_024, `${answer.length} characters`);
  t.equal((JSON.parse(answer) as Sessions).matching, 300);
});

t.test('an answer that is too long all the same, or cannot be given, says so', async (t) => {
  const id = 'x'.repeat(600_000);
  const config = { virtualHosts: new Map([[id, {}]]) };
  const question = { view: 'explain', subject: 'alice', virtualHost: 'vh', tool: '' } as const;
  const long = viewsOf([], { readConfig: () => ({ kind: 'found', config }) });
  t.match(await told(long, question), { error: /would have 6\d\d\d\d\d characters; ask for less/ });
  const failing = viewsOf([], { readConfig: () => Promise.reject(new Error('the store is closed')) });
  t.strictSame(await told(failing, question), { error: 'the store is closed' });
});

t.test('a request is found by its id, with its times rounded and its subject hidden', async (t) => {
  const recentRequests = new RecentRequests(3);
  recentRequests.keep('r-1', 'alice', 'vh', 'tools/call', 'b', 'x', 'fault', 'answer-timeout', 200, 12.345, 10.06);
  recentRequests.keep('r-2', 'alice', 'vh', 'ping', '', '', 'whole', '', 200, 0.04, -1);
  const views = viewsOf([], { recentRequests });
  type Requests = { readonly list: readonly { endedAt: string }[]; readonly count: number };
  const first = await told<Requests>(views, { view: 'request', requestId: 'r-1' });
  const shown = { subject: subjectHash('alice'), detail: 'answer-timeout', durationMs: 12.3, backendMs: 10.1 };
  t.match(first, { list: [{ requestId: 'r-1', outcome: 'fault', status: 200, ...shown }], count: 1 });
  t.ok(Math.abs(Date.parse(first.list[0]?.endedAt ?? '') - Date.now()) < 600_000);
  const second = await told<Requests>(views, { view: 'request', requestId: 'r-2' });
  t.match(second.list, [{ durationMs: 0, detail: undefined, backendMs: undefined }]);
  t.notMatch(JSON.stringify([first, second]), /alice/);
  for (const sources of [{ recentRequests }, {}])
    t.strictSame(await told(viewsOf([], sources), { view: 'request', requestId: 'r-3' }), { list: [], count: 0 });
});

t.test('of a call that failed it is said what the same call would get now, and why', async (t) => {
  const recentRequests = new RecentRequests();
  const asked: string[] = [];
  const views = viewsOf([], {
    recentRequests,
    readConfig: (subject: string) => (asked.push(subject), { kind: 'failed', reason: 'no store' }),
  });
  for (const [tool, outcome, verdict] of [
    ['x', 'rpc-error', 'every request gets 500: no store'],
    ['x', 'fault', 'every request gets 500: no store'],
    ['x', 'ok', undefined],
    ['x', 'tool-error', undefined],
    ['', 'rpc-error', undefined],
  ] as const) {
    const requestId = `${tool} ${outcome}`;
    recentRequests.keep(requestId, 'alice', 'vh', 'tools/call', '', tool, outcome, -32_602, 200, 1, -1);
    t.match(await told(views, { view: 'request', requestId }), { list: [{ outcome, verdict }] });
  }
  t.strictSame(asked, ['alice', 'alice']);
});

t.test('a config that is used although its store is lost is shown as kept, and since when', async (t) => {
  const kept = { readAt: '2026-01-01T00:00:00.000Z', usedUntil: '2026-01-02T00:00:00.000Z' };
  const question = { view: 'explain', subject: 'alice', virtualHost: 'vh', tool: '' } as const;
  const asked: string[] = [];
  const keptConfig = (subject: string): typeof kept => {
    asked.push(subject);
    return kept;
  };
  const config = { virtualHosts: new Map() };
  for (const [read, answer] of [
    [
      { kind: 'found', config },
      { config: 'kept', kept },
    ],
    [{ kind: 'missing' }, { config: 'missing', kept }],
    [
      { kind: 'failed', reason: 'no store' },
      { config: 'failed', kept: undefined },
    ],
  ] as const) {
    t.match(await told(viewsOf([], { readConfig: () => read, keptConfig }), question), answer);
  }
  t.strictSame(asked, ['alice', 'alice']);
  t.match(await told(viewsOf([], { readConfig: () => Promise.resolve({ kind: 'found', config }) }), question), {
    ...{ config: 'read', kept: undefined },
  });
});

t.test('a worker says how it is, and how busy where figures are kept', async (t) => {
  const figures = new WorkerFigures();
  figures.requestsInFlight = 3;
  figures.streams = 2;
  const busy = await told<Record<string, unknown>>(viewsOf([{}, {}], { figures }), { view: 'worker' });
  t.match(busy, {
    ...{ version: String, uptimeS: Number, logLevel: 'trace', sessions: 2, requestsInFlight: 3, streams: 2 },
    memory: { rssBytes: Number, heapUsedBytes: Number, externalBytes: Number },
  });
  const other = await told<Record<string, unknown>>(viewsOf([]), { view: 'worker' });
  t.notOk('streams' in other || 'requestsInFlight' in other, 'nothing that is not known');
});
