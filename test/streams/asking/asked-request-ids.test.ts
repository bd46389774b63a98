// The ids under which clients are asked for backends: another process of the same session can read them, and an id that the client
// changes or invents means nothing to it.
import { createHmac } from 'node:crypto';
import t, { type Test } from 'tap';
import { AskedRequestIds, ANSWERED_IDS_KEPT_MAX } from '../../../src/streams/asking/asked-request-ids.js';
import { UpstreamSession } from '../../../src/upstream/session/upstream-session.js';
import { ScriptedContext } from '../../upstream/scripted-context.js';
import { backendOf, virtualHostOf } from '../../relay/virtual-host.js';

const SESSION_ID = 'a-session';
const ANSWER_TIMEOUT_MS = 600_000;
const VIRTUAL_HOST = virtualHostOf({ one: {}, two: {} });
const INTRODUCTION = { clientInfo: Buffer.from('{}'), capabilities: Buffer.from('{}') };

/**
 * An upstream session restored from a record, as in a process that adopts the session.
 * @param sessionId `undefined`: it is lost.
 */
function upstreamOf(t: Test, name: string, sessionId: string | undefined): UpstreamSession {
  const backend = backendOf(VIRTUAL_HOST, name);
  const memory = { tryKeepText: () => 0, drop: () => undefined };
  const upstream = new UpstreamSession(new ScriptedContext(t), 'alice', backend, INTRODUCTION, memory);
  if (sessionId === undefined) return upstream;
  upstream.restore({
    era: 'legacy',
    sessionId,
    protocolVersion: '2025-11-25',
    capabilities: 0,
    named: undefined,
    instructions: undefined,
  });
  return upstream;
}

function textOf(id: Buffer): string {
  return JSON.parse(id.toString()) as string;
}

function idsOf(sessionId = SESSION_ID, secret = 'a-secret', nowMs = (): number => 0): AskedRequestIds {
  const ids = new AskedRequestIds(sessionId, ANSWER_TIMEOUT_MS, nowMs);
  ids.secret = secret;
  return ids;
}

function taken(upstreams: readonly UpstreamSession[], text: string, ids = idsOf()): string | undefined {
  const asked = ids.takeRequestOfOthers(Buffer.from(JSON.stringify(text)), upstreams);
  if (asked === undefined || asked === 'lost') return asked;
  return `${asked.upstream.backend.name} ${asked.backendId.toString()}${asked.asksForTask ? ' task' : ''}`;
}

t.test('another process finds which backend an answer is for, and what it asked', async (t) => {
  const upstreams = [upstreamOf(t, 'one', 'S-1'), upstreamOf(t, 'two', 'S-2')] as const;
  const ids = idsOf();
  for (const [upstream, backendId, asksForTask, expected] of [
    [upstreams[0], '0', false, 'one 0'],
    [upstreams[1], '"a:\\u0041"', false, 'two "a:\\u0041"'],
    [upstreams[0], '1.50e1', true, 'one 1.50e1 task'],
  ] as const) {
    const id = ids.issueId({ upstream, backendId: Buffer.from(backendId), asksForTask });
    t.equal(taken(upstreams, textOf(id)), expected);
    t.equal(ids.takeRequestOfOthers(id, upstreams), undefined, 'who has asked knows what is open itself');
  }
});

t.test('what a backend asks whose session is lost meanwhile has an id, and its answer reaches nobody', async (t) => {
  const lost = upstreamOf(t, 'one', undefined);
  const id = idsOf().issueId({ upstream: lost, backendId: Buffer.from('0'), asksForTask: false });
  t.equal(taken([lost], textOf(id)), 'lost');
});

t.test('any change that a client makes to an id breaks its seal', async (t) => {
  const one = upstreamOf(t, 'one', 'S-1');
  const upstreams = [one, upstreamOf(t, 'two', 'S-1')];
  const id = textOf(idsOf().issueId({ upstream: one, backendId: Buffer.from('12'), asksForTask: false }));
  t.equal(taken(upstreams, id), 'one 12');
  const [head = '', name = '', backendId = ''] = id.split(':');
  const seal = head.slice(-16);
  const unsealed = head.slice(0, -16);
  const other = (text: string): string => (text.startsWith('A') ? 'B' : 'A') + text.slice(1);
  const changed: Readonly<Record<string, string>> = {
    'another id': `${head}:${name}:13`,
    'the same id as a string': `${head}:${name}:"12"`,
    'another backend, in a session of the same name': `${head}:two:${backendId}`,
    'another process': `${unsealed.replace(/\..*/, (origin) => `.${other(origin.slice(1))}`)}${seal}:${name}:${backendId}`,
    'another number': `2${head.slice(1)}:${name}:${backendId}`,
    'asked for as a task': `${head.replace('.', 't.')}:${name}:${backendId}`,
    'another seal': `${unsealed}${other(seal)}:${name}:${backendId}`,
    'a shorter seal': `${head.slice(0, -1)}:${name}:${backendId}`,
    'no seal': `${unsealed}:${name}:${backendId}`,
    'a space behind it': `${id} `,
  };
  for (const [what, text] of Object.entries(changed)) {
    t.not(text, id, what);
    t.equal(taken(upstreams, text), /seal/.test(what) && text.length < id.length ? undefined : 'lost', what);
  }
  t.equal(taken([upstreamOf(t, 'one', 'S-2')], id), 'lost', 'asked in a session before');
  const foreign = idsOf('b-session').issueId({ upstream: one, backendId: Buffer.from('12'), asksForTask: false });
  t.equal(taken(upstreams, textOf(foreign)), 'lost', 'asked of another client');
  for (const text of ['', 'x', ':one:12', '1.AAAA']) t.equal(taken(upstreams, text), undefined, text);
});

t.test('a client cannot forge an id: neither its session id nor an empty upstream session id is a key', async (t) => {
  const forged = (key: string, rest: string): string => {
    const seal = createHmac('sha256', key).update(`${SESSION_ID} 1.AAAA${rest}`).digest();
    return `1.AAAA${seal.toString('base64url', 0, 12)}${rest}`;
  };
  t.equal(taken([upstreamOf(t, 'one', 'S-1')], forged('S-1', ':one:1')), 'one 1', 'so it is made');
  t.equal(taken([upstreamOf(t, 'one', 'S-1')], forged(SESSION_ID, ':one:1')), 'lost');
  t.equal(taken([upstreamOf(t, 'one', '')], forged('', ':one:1')), 'lost');
  for (const rest of [':one:{"a":1}', ':one:1,"x":2', ':one:', ':one:null', `:one:"${'x'.repeat(2_000)}"`]) {
    t.equal(taken([upstreamOf(t, 'one', 'S-1')], forged('S-1', rest)), undefined, 'not even with the key');
  }
});

t.test('an id is taken once; the number of remembered ids is bounded, and the oldest is forgotten', async (t) => {
  const one = upstreamOf(t, 'one', 'S-1');
  const [asking, answering] = [idsOf(), idsOf()];
  const ids = Array.from({ length: ANSWERED_IDS_KEPT_MAX + 1 }, (_, number) =>
    asking.issueId({ upstream: one, backendId: Buffer.from(`${number}`), asksForTask: false }),
  );
  const isTaken = (id: Buffer): boolean => typeof answering.takeRequestOfOthers(id, [one]) === 'object';
  t.ok(ids.slice(0, -1).every(isTaken));
  t.notOk(ids.slice(0, -1).some(isTaken), 'once');
  t.ok(isTaken(ids.at(-1)!));
  t.notOk(isTaken(ids[1]!), 'of one more the oldest is forgotten, and no other');
  t.ok(isTaken(ids[0]!));
});

t.test(
  'an id for a backend without sessions is sealed with the secret of the session, and expires with the answer timeout',
  async (t) => {
    const one = upstreamOf(t, 'one', '');
    const upstreams = [one, upstreamOf(t, 'two', '')];
    const id = textOf(idsOf().issueId({ upstream: one, backendId: Buffer.from('7'), asksForTask: true }));
    const at = (nowMs: number, secret?: string): AskedRequestIds => idsOf(SESSION_ID, secret, () => nowMs);
    t.equal(taken(upstreams, id, at(ANSWER_TIMEOUT_MS)), 'one 7 task');
    t.equal(taken(upstreams, id, at(ANSWER_TIMEOUT_MS + 1)), 'lost', 'too late');
    const askedAtMs = 7 * ANSWER_TIMEOUT_MS;
    const later = textOf(at(askedAtMs).issueId({ upstream: one, backendId: Buffer.from('8'), asksForTask: false }));
    t.equal(taken(upstreams, later, at(askedAtMs + ANSWER_TIMEOUT_MS)), 'one 8', 'its time is from when it was asked');
    t.equal(taken(upstreams, later, at(askedAtMs + ANSWER_TIMEOUT_MS + 1)), 'lost');
    t.equal(taken(upstreams, id.replace('~0', '~z'), at(0)), 'lost', 'another time breaks the seal');
    t.equal(taken(upstreams, id.replace('~0', ''), at(0)), 'lost', 'as none does');
    t.equal(taken(upstreams, id.replace(':one:', ':two:'), at(0)), 'lost', 'and another backend');
    t.equal(taken(upstreams, id, at(0, 'another')), 'lost');
    t.equal(taken([upstreamOf(t, 'one', 'S-1')], id, at(0)), 'lost', 'it has sessions now');
    const moved = upstreamOf(t, 'one', '');
    moved.reconfigure({ ...moved.backend, target: { ...moved.backend.target, path: '/elsewhere' } });
    t.equal(taken([moved], id, at(0)), 'lost', 'it is elsewhere now');
    const named = textOf(
      idsOf().issueId({ upstream: upstreamOf(t, 'one', 'S-1'), backendId: Buffer.from('7'), asksForTask: false }),
    );
    t.equal(taken(upstreams, named, at(0)), 'lost', 'it had sessions then');
    const open = textOf(at(0, '').issueId({ upstream: one, backendId: Buffer.from('7'), asksForTask: false }));
    t.equal(taken(upstreams, open, at(0, '')), 'lost', 'with no secret nothing is sealed');
    t.not(new AskedRequestIds(SESSION_ID, 1).secret, new AskedRequestIds(SESSION_ID, 1).secret);
  },
);
