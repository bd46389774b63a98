// Ids that are put to a client for backends' requests. Another process of the same session reads them; what the client changes
// of one, or makes up, means nothing to it.
import { createHmac } from 'node:crypto';
import t, { type Test } from 'tap';
import { AskedIds } from '../../src/relay/asked-ids.js';
import { limits } from '../../src/shared/limits.js';
import { UpstreamSession } from '../../src/upstream/upstream-session.js';
import { ScriptedContext } from '../upstream/scripted-context.js';
import { backendOf, virtualHostOf } from './virtual-host.js';

const SESSION_ID = 'a-session';
const VIRTUAL_HOST = virtualHostOf({ one: {}, two: {} });
const INTRODUCTION = { clientInfo: Buffer.from('{}'), capabilities: Buffer.from('{}') };

/** Open, as a process has it that goes on with another's. */
function upstreamOf(t: Test, name: string, sessionId: string): UpstreamSession {
  const backend = backendOf(VIRTUAL_HOST, name);
  const memory = { tryKeepText: () => 0, drop: () => undefined };
  const upstream = new UpstreamSession(new ScriptedContext(t), 'alice', backend, INTRODUCTION, memory);
  upstream.restore({
    sessionId,
    protocolVersion: '2025-11-25',
    capabilities: 0,
    experimental: undefined,
    instructions: undefined,
  });
  return upstream;
}

function textOf(id: Buffer): string {
  return JSON.parse(id.toString()) as string;
}

function taken(upstreams: readonly UpstreamSession[], text: string): string | undefined {
  const asked = new AskedIds(SESSION_ID).takeOthers(Buffer.from(JSON.stringify(text)), upstreams);
  return asked && `${asked.upstream.backend.name} ${asked.backendId.toString()}${asked.asksForTask ? ' task' : ''}`;
}

t.test('another process finds whom an answer is for, and what was asked', async (t) => {
  const upstreams = [upstreamOf(t, 'one', 'S-1'), upstreamOf(t, 'two', 'S-2')] as const;
  const ids = new AskedIds(SESSION_ID);
  for (const [upstream, backendId, asksForTask, expected] of [
    [upstreams[0], '0', false, 'one 0'],
    [upstreams[1], '"a:\\u0041"', false, 'two "a:\\u0041"'],
    [upstreams[0], '1.50e1', true, 'one 1.50e1 task'],
  ] as const) {
    const id = ids.next({ upstream, backendId: Buffer.from(backendId), asksForTask });
    t.equal(taken(upstreams, textOf(id)), expected);
    t.equal(ids.takeOthers(id, upstreams), undefined, 'who has asked knows what is open itself');
  }
});

t.test('whatever a client changes of an id breaks its seal', async (t) => {
  const one = upstreamOf(t, 'one', 'S-1');
  const upstreams = [one, upstreamOf(t, 'two', 'S-1')];
  const id = textOf(new AskedIds(SESSION_ID).next({ upstream: one, backendId: Buffer.from('12'), asksForTask: false }));
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
    t.equal(taken(upstreams, text), undefined, what);
  }
  t.equal(taken([upstreamOf(t, 'one', 'S-2')], id), undefined, 'asked in a session before');
  const foreign = new AskedIds('b-session').next({ upstream: one, backendId: Buffer.from('12'), asksForTask: false });
  t.equal(taken(upstreams, textOf(foreign)), undefined, 'asked of another client');
});

t.test('a client has no key: neither its own session nor a session without a name is one', async (t) => {
  const forged = (key: string, rest: string): string => {
    const seal = createHmac('sha256', key).update(`${SESSION_ID} 1.AAAA${rest}`).digest();
    return `1.AAAA${seal.toString('base64url', 0, 12)}${rest}`;
  };
  t.equal(taken([upstreamOf(t, 'one', 'S-1')], forged('S-1', ':one:1')), 'one 1', 'so it is made');
  t.equal(taken([upstreamOf(t, 'one', 'S-1')], forged(SESSION_ID, ':one:1')), undefined);
  t.equal(taken([upstreamOf(t, 'one', '')], forged('', ':one:1')), undefined);
  for (const rest of [':one:{"a":1}', ':one:1,"x":2', ':one:', ':one:null', `:one:"${'x'.repeat(2_000)}"`]) {
    t.equal(taken([upstreamOf(t, 'one', 'S-1')], forged('S-1', rest)), undefined, 'not even with the key');
  }
});

t.test('an id is taken once, and so many are remembered', async (t) => {
  const one = upstreamOf(t, 'one', 'S-1');
  const [asking, answering] = [new AskedIds(SESSION_ID), new AskedIds(SESSION_ID)];
  const ids = Array.from({ length: limits.answeredIdsKeptMax + 1 }, (_, number) =>
    asking.next({ upstream: one, backendId: Buffer.from(`${number}`), asksForTask: false }),
  );
  const isTaken = (id: Buffer): boolean => answering.takeOthers(id, [one]) !== undefined;
  t.ok(ids.slice(0, -1).every(isTaken));
  t.notOk(ids.slice(0, -1).some(isTaken), 'once');
  t.ok(isTaken(ids.at(-1)!));
  t.notOk(isTaken(ids[1]!), 'of one more the oldest is forgotten, and no other');
});
