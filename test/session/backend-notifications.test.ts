// What becomes of notifications of backends on their way to the client.
import t, { type Test } from 'tap';
import { readBackendMessage } from '../../src/mcp/json-rpc.js';
import { adaptedForClient } from '../../src/session/backend-notifications.js';
import { Session } from '../../src/session/session.js';
import { SlowRequests } from '../../src/streams/in-flight/requests-in-flight.js';
import { OWN_INTRODUCTION } from '../../src/upstream/session/client-introduction.js';
import { limits } from '../../src/shared/limits.js';
import type { BackendConfig } from '../../src/user-config/user-config-schema.js';
import { createAccounts } from '../support/shares.js';
import { RecordedExchange } from '../support/recorded-exchange.js';
import { RelayScene } from '../relay/relay-scene.js';
import { ScriptedContext } from '../upstream/scripted-context.js';
import { REQUEST_ID } from '../upstream/scripted-upstream.js';
import { backendOf, virtualHostOf } from '../relay/virtual-host.js';
import { NO_METADATA } from '../../src/http-client/http-upstream.js';

const RELATED = '"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}';
const INTRODUCTION = JSON.stringify({
  jsonrpc: '2.0',
  id: REQUEST_ID,
  result: { protocolVersion: '2025-11-25', capabilities: { tools: {}, resources: {}, tasks: { list: {} } } },
});

type Backends = Readonly<Record<string, Partial<BackendConfig>>>;

/** What the client of a session hears of a notification of a backend with tasks; `undefined` for nothing. */
function hearing(
  t: Test,
  backends: Backends,
  subscribed: readonly string[] = [],
): (name: string, method: string, params: string) => string | undefined {
  const context = new ScriptedContext(t);
  const { deadlines, answers } = context;
  const identity = {
    id: 's',
    subject: 'alice',
    virtualHostId: 'vh',
    protocolVersion: '2025-11-25',
    era: 'legacy' as const,
    introduction: OWN_INTRODUCTION,
  };
  const means = { slowRequests: new SlowRequests(deadlines, answers.slowAnswerMs), answers };
  const session = new Session(context, identity, createAccounts().of('alice'), means);
  const virtualHost = virtualHostOf(backends);
  session.applyConfig(virtualHost, new RecordedExchange({}).request);
  for (const uri of subscribed) session.subscriptions.add('b', uri);
  return (name, method, params) => {
    const upstream = session.upstreams.of(backendOf(virtualHost, name));
    if (upstream.state !== 'open') {
      upstream.whenOpen(NO_METADATA, () => undefined);
      context.http.last.json(INTRODUCTION, name);
      context.http.last.empty();
    }
    const bytes = Buffer.from(`{"jsonrpc":"2.0","method":"notifications/${method}","params":{${params}}}`);
    const parts = adaptedForClient(session, upstream, bytes, readBackendMessage(bytes)!);
    return (
      parts &&
      Buffer.concat(parts)
        .toString()
        .replace(/^.*?"params":{/, '')
        .slice(0, -2)
    );
  };
}

t.test('the URI and the task id of an updated resource are rewritten, in either order', async (t) => {
  const hear = hearing(t, { b: {} });
  const told = RELATED.replace('"t"', '"b-t"');
  t.equal(hear('b', 'resources/updated', `"uri":"x:1",${RELATED}`), `"uri":"b+x:1",${told}`);
  t.equal(hear('b', 'resources/updated', `${RELATED},"uri":"x:1"`), `${told},"uri":"b+x:1"`);
  t.equal(hear('b', 'resources/updated', '"uri":"x:1"'), '"uri":"b+x:1"');
});

t.test('an update with a URI longer than any in a list is dropped', async (t) => {
  const hear = hearing(t, { b: {} });
  const uri = (length: number): string => `"uri":"${'x'.repeat(length)}"`;
  t.type(hear('b', 'resources/updated', uri(limits.uriBytesMax)), 'string');
  t.equal(hear('b', 'resources/updated', uri(limits.uriBytesMax + 1)), undefined);
});

t.test('an update of a part of a subscribed resource is told only if the allow-list grants the part', async (t) => {
  const updated = (uri: string): [string, string, string] => ['b', 'resources/updated', `"uri":"${uri}"`];
  // An entry may be the name of the resource that was subscribed to.
  const named = hearing(t, { b: { allowed_resource_names: ['the log'] } }, ['x:log']);
  t.equal(named(...updated('x:log')), '"uri":"b+x:log"');
  t.equal(named(...updated('x:log/secret')), undefined);
  t.equal(named(...updated('x:logs-of-others')), undefined);
  const templated = hearing(t, { b: { allowed_resource_names: ['the log', 'x:log/{part}'] } }, ['x:log']);
  t.equal(templated(...updated('x:log/1')), '"uri":"b+x:log/1"');
  t.equal(hearing(t, { b: {} }, ['x:log'])(...updated('x:log/1')), '"uri":"b+x:log/1"');
  const hidden = hearing(t, { b: { exposes: ['tools'] } }, ['x:log']);
  t.equal(hidden(...updated('x:log')), undefined, 'no resource of the backend is exposed any more');
});

t.test('a backend that exposes no tools has no tasks, and its task notifications are dropped', async (t) => {
  const hear = hearing(t, { b: { exposes: ['resources'] }, c: {} });
  t.equal(hear('b', 'tasks/status', '"taskId":"t"'), undefined);
  t.equal(hear('c', 'tasks/status', '"taskId":"t"'), '"taskId":"c-t"');
});

t.test('a notification about a task that would lead to another backend is dropped', async (t) => {
  const hear = hearing(t, { a: {}, 'a-b': {} });
  t.equal(hear('a', 'tasks/status', '"taskId":"b-1"'), undefined);
  t.equal(hear('a', 'resources/updated', `"uri":"x:1",${RELATED.replace('"t"', '"b-1"')}`), undefined);
  t.equal(hear('a', 'tasks/status', '"taskId":"b1"'), '"taskId":"a-b1"');
  t.equal(hear('a-b', 'tasks/status', '"taskId":"b-1"'), '"taskId":"a-b-b-1"');
});

t.test('a call that creates such a task is answered with an error', async (t) => {
  const scene = new RelayScene(t, virtualHostOf({ a: {}, 'a-b': {} })).open({}, INTRODUCTION);
  for (const [id, said] of [
    ['b-1', /"Backend \\"a\\" failed: ambiguous task id/],
    ['b1', /"taskId":"a-b1"/],
  ] as const) {
    const exchange = scene.post('tools/call', { name: 'a-x', task: {} }, 7);
    scene.http.last.json(`{"jsonrpc":"2.0","id":7,"result":{"task":{"taskId":"${id}","status":"working"}}}`);
    t.match(exchange.answer?.body.toString(), said);
  }
});

t.test('the tasks capability of a backend that exposes no tools is hidden from clients', async (t) => {
  for (const [exposes, tasks] of [
    [['resources'], undefined],
    [['tools'], { list: {} }],
  ] as const) {
    const scene = new RelayScene(t, virtualHostOf({ b: { exposes: [...exposes] } }));
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }));
    const exchange = scene.request({ body, sessionId: '' });
    scene.http.last.json(INTRODUCTION, 'upstream-session');
    scene.http.last.empty();
    const { result } = JSON.parse(exchange.answer?.body.toString() ?? '') as {
      result: { capabilities: { tasks?: object } };
    };
    t.strictSame(result.capabilities.tasks, tasks, exposes[0]);
    const list = scene.post('tasks/list', {}, 1);
    if (tasks === undefined) t.match(list.answer?.body.toString(), /"code":-32601/, 'nobody has any');
    else t.equal(list.answer, undefined, 'the backend is asked');
  }
});
