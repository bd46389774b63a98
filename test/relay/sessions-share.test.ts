// The shares of sessions, of their memory and of requests in flight, as a caller meets them: a refusal names the share that is full,
// what is given back can be used again, and a subject with a full share affects no other.
import t, { type Test } from 'tap';
import type { ShareOptions } from '../../src/config/dataplane-options.js';
import { refusals, type Refusal } from '../../src/shared/refusals.js';
import { SESSION_BYTES_EACH } from '../../src/fair/load-shedder.js';
import { UPSTREAM_SESSION_BYTES_EACH } from '../../src/session/session-memory.js';

import type { RecordedExchange } from '../support/recorded-exchange.js';
import { initializeResult, RelayScene } from './relay-scene.js';
import type { ScriptedCall } from '../upstream/scripted-upstream.js';
import { virtualHostOf } from './virtual-host.js';

const CLIENT_INFO = { name: 'c', version: '1' };

const INITIALIZE = (clientInfo: object, capabilities: object): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities, clientInfo },
  });

class Scene extends RelayScene {
  readonly #opened = new Set<ScriptedCall>();

  constructor(t: Test, shares: Partial<ShareOptions>) {
    super(t, virtualHostOf({ one: {} }), shares);
  }

  /** Asks for a session, and lets its backend answer the handshake, if there is one. */
  openAs(subject: string, clientInfo: object = CLIENT_INFO, capabilities: object = {}): RecordedExchange {
    const exchange = this.initializeAs(subject, clientInfo, capabilities);
    this.finishOpening();
    return exchange;
  }

  initializeAs(subject: string, clientInfo: object = CLIENT_INFO, capabilities: object = {}): RecordedExchange {
    return this.requestAs(subject, { body: Buffer.from(INITIALIZE(clientInfo, capabilities)), sessionId: '' });
  }

  finishOpening(): void {
    for (const call of this.http.calls.filter(({ summary }) => summary === 'initialize')) {
      if (this.#opened.has(call)) continue;
      this.#opened.add(call);
      call.json(initializeResult, 'upstream-session');
      this.http.last.empty();
    }
  }
}

function sessionOf(exchange: RecordedExchange): string {
  return exchange.answer?.sessionId ?? '';
}

function refusedWith(t: Test, exchange: RecordedExchange, refusal: Refusal, why: string): void {
  t.equal(exchange.answer?.status, refusal.status, why);
  t.equal(exchange.answer?.body.toString(), refusal.body, why);
  t.same(exchange.answer?.headers, refusal.headers, `${why}: when to try again`);
}

t.test('a subject that has all its sessions gets 429, and another one gets a session', async (t) => {
  const scene = new Scene(t, { subjectSessionsMax: 2 });
  t.equal(scene.openAs('ada').answer?.status, 200);
  const second = scene.openAs('ada');
  t.equal(second.answer?.status, 200);
  refusedWith(t, scene.openAs('ada'), refusals.subjectSessionsFull, 'the third');
  t.equal(scene.openAs('bob').answer?.status, 200);
  scene.requestAs('ada', { method: 'DELETE', sessionId: second.answer?.sessionId ?? '' });
  t.equal(scene.openAs('ada').answer?.status, 200, 'an ended one makes room');
});

t.test('when all subjects together have all sessions, a further one gets 503', async (t) => {
  const scene = new Scene(t, { sessionsMax: 2 });
  scene.openAs('ada');
  scene.openAs('bob');
  refusedWith(t, scene.openAs('cem'), refusals.sessionsFull, 'the third');
  t.equal(scene.accounts.used('sessions'), 2);
});

t.test('the memory of sessions counts backends, clientInfo and capabilities', async (t) => {
  const each = SESSION_BYTES_EACH + UPSTREAM_SESSION_BYTES_EACH;
  // The last eighth is for subjects that hold less than any session takes here.
  const sessionBytesMax = Math.ceil(((3 * each + 500) * 8) / 7);
  const scene = new Scene(t, { subjectSessionBytesMax: 2 * each + 5_000, sessionBytesMax });
  t.equal(scene.openAs('ada').answer?.status, 200);
  const wordy = { name: 'c'.repeat(5_000), version: '1' };
  refusedWith(t, scene.openAs('ada', wordy), refusals.subjectSessionBytesFull, 'a wordy second');
  const capable = { experimental: { x: 'x'.repeat(5_000) } };
  refusedWith(t, scene.openAs('ada', CLIENT_INFO, capable), refusals.subjectSessionBytesFull, 'a capable one');
  t.equal(scene.openAs('ada').answer?.status, 200, 'a terse second');
  t.equal(scene.openAs('bob').answer?.status, 200);
  refusedWith(t, scene.openAs('cem'), refusals.sessionBytesFull, 'the fourth');
});

t.test('nothing is counted any more when all sessions are over', async (t) => {
  const scene = new Scene(t, {});
  for (const subject of ['ada', 'bob', 'ada']) {
    const sessionId = sessionOf(scene.openAs(subject));
    scene.requestAs(subject, { method: 'DELETE', sessionId });
  }
  t.equal(scene.accounts.size, 0);
  t.equal(scene.accounts.used('sessionBytes'), 0);
  scene.openAs('ada');
  const stopped = scene.relay.stop();
  for (const call of scene.http.calls.filter(({ summary }) => summary === 'DELETE')) call.empty();
  await stopped;
  t.equal(scene.accounts.size, 0, 'also when the relay stops');
});

t.test(
  'initialize, calls and lists count as requests in flight, and are refused before a backend sees them',
  async (t) => {
    const scene = new Scene(t, { subjectRequestsInFlightMax: 2, requestsInFlightMax: 3 });
    const sessionId = sessionOf(scene.openAs('ada'));
    const post = (subject: string, session: string, method: string, params?: object): RecordedExchange =>
      scene.requestAs(subject, {
        sessionId: session,
        body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })),
      });
    const bob = sessionOf(scene.openAs('bob'));
    const call = (subject: string, session: string): RecordedExchange =>
      post(subject, session, 'tools/call', { name: 'one-t' });
    const first = call('ada', sessionId);
    post('ada', sessionId, 'tools/list');
    const sent = scene.http.calls.length;
    refusedWith(t, call('ada', sessionId), refusals.subjectRequestsFull, 'a third call');
    refusedWith(t, post('ada', sessionId, 'tools/list'), refusals.subjectRequestsFull, 'a list');
    refusedWith(t, scene.initializeAs('ada'), refusals.subjectRequestsFull, 'an initialize');
    t.equal(scene.http.calls.length, sent, 'no backend has heard of them');
    t.equal(post('ada', sessionId, 'ping').answer?.status, 200, 'what needs no backend is answered');
    t.equal(call('bob', bob).answer, undefined, 'another subject is served');
    refusedWith(t, call('bob', bob), refusals.requestsFull, 'until all have what there is');
    refusedWith(t, scene.initializeAs('cem'), refusals.requestsFull, 'for whoever comes');
    scene.http.calls[sent - 2]?.json('{"jsonrpc":"2.0","id":1,"result":{}}');
    t.equal(first.answer?.status, 200);
    t.equal(call('ada', sessionId).answer, undefined, 'an answer makes room');
  },
);

t.test(
  'an initialize counts until it is answered, and a session that ends gives back what was in flight',
  async (t) => {
    const scene = new Scene(t, { subjectRequestsInFlightMax: 1 });
    scene.initializeAs('ada');
    refusedWith(t, scene.initializeAs('ada'), refusals.subjectRequestsFull, 'the second at once');
    scene.finishOpening();
    const sessionId = sessionOf(scene.openAs('ada'));
    scene.requestAs('ada', {
      sessionId,
      body: Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one-t"}}'),
    });
    t.equal(scene.accounts.used('requests'), 1);
    scene.requestAs('ada', { method: 'DELETE', sessionId });
    t.equal(scene.accounts.used('requests'), 0);
  },
);
