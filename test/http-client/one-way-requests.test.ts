// Messages to backends whose responses nobody waits for: when they are sent a second time.
import t, { type Test } from 'tap';
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { limits } from '../../src/shared/limits.js';
import { plainRequest } from '../../src/http-client/http-upstream.js';
import { OneWayRequests } from '../../src/http-client/one-way-requests.js';
import { upstreamFault } from '../../src/http-client/upstream-fault.js';
import { backendOf, virtualHostOf } from '../relay/virtual-host.js';
import { ScriptedContext } from '../upstream/scripted-context.js';
import { ScriptedUpstream } from '../upstream/scripted-upstream.js';

const { target } = backendOf(virtualHostOf({ b: { url: 'https://b.example/mcp' } }), 'b');

class Scene {
  readonly context: ScriptedContext;
  readonly other = new ScriptedUpstream();
  readonly outcomes: boolean[] = [];
  readonly notices: OneWayRequests;

  constructor(t: Test, hasOther = false) {
    this.context = new ScriptedContext(t);
    const { http, deadlines } = this.context;
    this.notices = new OneWayRequests(http, deadlines, hasOther ? this.other : undefined);
  }

  send(method: 'POST' | 'DELETE'): this {
    const message = method === 'POST' ? { body: Buffer.from('{"jsonrpc":"2.0","method":"n"}') } : undefined;
    this.notices.send('alice', target, method, [], message, (isTaken) => this.outcomes.push(isTaken));
    return this;
  }

  get sent(): readonly string[] {
    return this.context.http.summary;
  }
}

t.test('a DELETE whose connection is lost is sent a second time, and not a third', async (t) => {
  const scene = new Scene(t).send('DELETE');
  const { http } = scene.context;
  http.last.fault('connection-lost');
  t.same(scene.sent, ['DELETE', 'DELETE']);
  t.same(scene.outcomes, [], 'it is not over');
  http.last.empty();
  t.same(scene.outcomes, [true]);
  scene.send('DELETE');
  http.last.fault('connection-lost');
  http.last.fault('connection-lost');
  t.same(scene.sent, ['DELETE', 'DELETE', 'DELETE', 'DELETE']);
  t.same(scene.outcomes, [true, false]);
});

t.test('its requests have the hidden class of all others', async (t) => {
  setFlagsFromString('--allow-natives-syntax');
  const haveSameClass = runInThisContext('(one, other) => %HaveSameMap(one, other)') as (...pair: object[]) => boolean;
  const { http } = new Scene(t).send('POST').send('DELETE').context;
  for (const { request } of http.calls) {
    t.ok(haveSameClass(request, plainRequest('alice', target, 'GET', [], Buffer.from('x'))), request.method);
  }
});

t.test('a redirect to the same path with a slash is followed once, whatever is sent', async (t) => {
  for (const method of ['POST', 'DELETE'] as const) {
    const scene = new Scene(t).send(method);
    const { http } = scene.context;
    http.last.head(307, '', '', 0, '/mcp/');
    t.same([http.last.request.target.path, http.last.request.method, scene.outcomes], ['/mcp/', method, []]);
    t.equal(http.last.text, http.call(0).text, 'the same body');
    http.last.head(308, '', '', 0, '/mcp').end();
    t.same([http.calls.length, scene.outcomes], [2, [true]], 'no chain of redirects');
  }
});

t.test('a redirect to any other place is not followed: the headers may hold credentials', async (t) => {
  for (const location of ['/other', 'https://other.example/mcp/', '']) {
    const scene = new Scene(t).send('DELETE');
    scene.context.http.last.head(307, '', '', 0, location).end();
    t.same([scene.sent, scene.outcomes], [['DELETE'], [true]], location);
  }
});

t.test('a message answered with a stream was taken, however long the stream stays open', async (t) => {
  const scene = new Scene(t).send('POST');
  const call = scene.context.http.last;
  call.head(200, 'text/event-stream');
  t.same([scene.outcomes, call.isAborted], [[true], true]);
  scene.context.advance(2 * limits.oneWayRequestMsMax);
  t.same(scene.outcomes, [true], 'it is told once');
});

t.test('the session id of an answer is told, and its cookies only if the message was accepted', async (t) => {
  const { context, notices } = new Scene(t);
  for (const [status, cookies] of [
    [202, 'a=1'],
    [299, 'a=1'],
    [300, ''],
    [404, ''],
  ] as const) {
    const told: string[] = [];
    notices.send('alice', target, 'POST', [], undefined, undefined, (...headers) => told.push(...headers));
    context.http.last.head(status, '', 's-1', 0, 'a=1').end();
    t.same(told, ['s-1', cookies], `${status}`);
  }
});

t.test('any other answer is read to its end, so that its connection serves the next request', async (t) => {
  for (const [status, contentType] of [
    [202, ''],
    [200, 'application/json'],
    [400, 'text/event-stream'],
  ] as const) {
    const scene = new Scene(t).send('POST');
    const call = scene.context.http.last;
    call.head(status, contentType);
    t.same([scene.outcomes, call.isAborted], [[], false], `${status} ${contentType}`);
    call.end();
    t.same(scene.outcomes, [true], 'the backend has responded');
  }
});

t.test('a message whose answer never ends was taken if its head says so', async (t) => {
  const scene = new Scene(t).send('POST');
  scene.context.http.last.head(202, '');
  scene.context.advance(2 * limits.oneWayRequestMsMax);
  t.same(scene.outcomes, [true]);
});

t.test('the second try ends when the time for both is over', async (t) => {
  const scene = new Scene(t).send('DELETE');
  scene.context.http.last.fault('connection-lost');
  scene.context.advance(2 * limits.oneWayRequestMsMax);
  t.equal(scene.context.http.last.isAborted, true);
  t.same(scene.outcomes, [false]);
});

t.test('a message that the backend may have processed, or has refused, is not sent again', async (t) => {
  const scene = new Scene(t).send('POST');
  scene.context.http.last.fault('connection-lost');
  scene.send('DELETE').context.http.last.fault('connection-refused');
  scene.send('DELETE').context.http.last.empty(404);
  t.same(scene.sent, ['n', 'DELETE', 'DELETE']);
  t.same(scene.outcomes, [false, false, true]);
});

t.test('a message that was never sent takes another way, where there is one', async (t) => {
  const scene = new Scene(t, true).send('POST');
  scene.context.http.last.fault(upstreamFault('backend-busy', true));
  t.same(scene.other.summary, ['n']);
  scene.other.last.empty();
  t.same(scene.outcomes, [true]);
  scene.send('POST').context.http.last.fault('connection-lost');
  t.equal(scene.other.calls.length, 1, 'this one may have been taken');
  t.same(scene.outcomes, [true, false]);
});

t.test('whoever waits for the messages under way goes on as soon as the last is over', async (t) => {
  const scene = new Scene(t).send('POST').send('DELETE');
  let isSettled = false;
  const settled = scene.notices.whenSettled(60_000).then(() => (isSettled = true));
  const [first, last] = scene.context.http.calls;
  first?.empty();
  await new Promise(setImmediate);
  t.notOk(isSettled);
  last?.empty();
  await settled;
});
