// What a downstream session keeps: its owner, its upstream sessions as the config changes, and its requests in flight.
import t, { type Test } from 'tap';
import { NO_MIRROR, type ExchangeRequest } from '../../src/exchange/exchange.js';
import { RequestInFlight, SlowRequests } from '../../src/streams/in-flight/requests-in-flight.js';
import { OWN_INTRODUCTION } from '../../src/upstream/session/client-introduction.js';
import { Session } from '../../src/session/session.js';
import type { IdSpan } from '../../src/upstream/rpc/request-plan.js';
import type { UpstreamSession } from '../../src/upstream/session/upstream-session.js';
import { limits } from '../../src/shared/limits.js';
import type { CompiledVirtualHost } from '../../src/user-config/compiled-config.js';
import { nextConfigNumber, numberConfig } from '../../src/user-config/user-configs.js';
import { createAccounts } from '../support/shares.js';
import { ScriptedContext } from '../upstream/scripted-context.js';
import { REQUEST_ID } from '../upstream/scripted-upstream.js';
import { backendOf, virtualHostOf } from '../relay/virtual-host.js';
import { NO_METADATA } from '../../src/http-client/http-upstream.js';

const REQUEST: ExchangeRequest = {
  method: 'POST',
  sessionId: 's',
  lastEventId: '',
  requestId: '',
  traceparent: '',
  tracestate: '',
  acceptedTypes: 'both',
  passthroughHeaders: ['x-tenant', '7', 'x-trace', '1'],
  mirror: NO_MIRROR,
  body: Buffer.alloc(0),
};

function start(t: Test): { context: ScriptedContext; session: Session } {
  const context = new ScriptedContext(t);
  const identity = {
    id: 's',
    subject: 'alice',
    virtualHostId: 'vh',
    protocolVersion: '2025-11-25',
    era: 'legacy' as const,
    introduction: OWN_INTRODUCTION,
  };
  const slow = new SlowRequests(context.deadlines, context.answers.slowAnswerMs);
  return {
    context,
    session: new Session(context, identity, createAccounts().of('alice'), {
      slowRequests: slow,
      answers: context.answers,
    }),
  };
}

/** Opens the upstream session of a backend; its session id is its name. */
function open(
  context: ScriptedContext,
  session: Session,
  virtualHost: CompiledVirtualHost,
  name: string,
): UpstreamSession {
  const upstream = session.upstreams.of(backendOf(virtualHost, name));
  upstream.whenOpen(NO_METADATA, () => undefined);
  const result = { protocolVersion: '2025-11-25', capabilities: {} };
  context.http.last.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result }), name);
  context.http.last.empty();
  t.equal(upstream.state, 'open');
  return upstream;
}

/** A request, as far as a session sees it. */
class CountedRequest extends RequestInFlight {
  readonly id: IdSpan;
  readonly isCancellable: boolean;
  endCount = 0;

  constructor(id: string, isCancellable = true) {
    super();
    this.id = { bytes: Buffer.from(`[${id}]`), start: 1, end: 1 + id.length };
    this.isCancellable = isCancellable;
  }

  endWithSession(): void {
    this.endCount += 1;
  }
}

t.test('a session belongs to one subject at one virtual host', async (t) => {
  const { session } = start(t);
  t.ok(session.belongsTo('alice', 'vh'));
  t.notOk(session.belongsTo('bob', 'vh'));
  t.notOk(session.belongsTo('alice', 'vh2'));
  t.notOk(session.belongsTo('Alice', 'vh'));
});

t.test('there is one upstream session per backend, created on first use and not yet opened', async (t) => {
  const { context, session } = start(t);
  const virtualHost = virtualHostOf({ a: {}, b: {} });
  session.applyConfig(virtualHost, REQUEST);
  const upstream = session.upstreams.of(backendOf(virtualHost, 'a'));
  t.equal(session.upstreams.of(backendOf(virtualHost, 'a')), upstream);
  t.not(session.upstreams.of(backendOf(virtualHost, 'b')), upstream);
  t.equal(upstream.state, 'idle');
  t.same(context.http.summary, []);
});

t.test('a removed backend is closed, with the headers of the request that brought the new config', async (t) => {
  const { context, session } = start(t);
  const before = virtualHostOf({ a: { passthrough_headers: ['x-tenant'] }, b: {} });
  session.applyConfig(before, REQUEST);
  const a = open(context, session, before, 'a');
  const b = open(context, session, before, 'b');
  const sentCount = context.http.calls.length;
  const after = virtualHostOf({ b: {} });
  session.applyConfig(after, REQUEST);
  t.equal(a.state, 'closed');
  t.same(context.http.summary.slice(sentCount), ['DELETE']);
  t.equal(context.http.last.header('mcp-session-id'), 'a');
  t.equal(context.http.last.header('x-tenant'), '7', 'which the backend listed');
  t.equal(context.http.last.header('x-trace'), undefined, 'which it did not');
  t.equal(b.state, 'open', 'the others go on');
  t.equal(session.upstreams.of(backendOf(after, 'b')), b);
});

t.test('a moved backend is closed, and opened at its new place when it is needed', async (t) => {
  const url = 'https://b.example/mcp';
  const moves: Record<string, Parameters<typeof virtualHostOf>[0]> = {
    'another host': { b: { url: 'https://c.example/mcp' } },
    'another port': { b: { url: 'https://b.example:8443/mcp' } },
    'another path': { b: { url: 'https://b.example/mcp2' } },
    'another query': { b: { url: 'https://b.example/mcp?tenant=8' } },
    'an obstacle': { b: { url, transport: 'STDIO' } },
    'another transport': { b: { url, transport: 'SSE' } },
  };
  for (const [what, config] of Object.entries(moves)) {
    const { context, session } = start(t);
    const before = virtualHostOf({ b: { url } });
    session.applyConfig(before, REQUEST);
    const old = open(context, session, before, 'b');
    const after = virtualHostOf(config);
    session.applyConfig(after, REQUEST);
    t.equal(old.state, 'closed', what);
    t.equal(context.http.last.request.method, 'DELETE');
    t.equal(context.http.last.request.target.origin, 'https://b.example', 'the old place is told');
    const successor = session.upstreams.of(backendOf(after, 'b'));
    t.not(successor, old);
    t.equal(successor.state, 'idle');
    t.equal(successor.backend, backendOf(after, 'b'));
  }
});

t.test('a change of lists alone keeps the upstream session, and counts from now on', async (t) => {
  const { context, session } = start(t);
  const url = 'https://b.example/mcp';
  const before = virtualHostOf({ b: { url } });
  session.applyConfig(before, REQUEST);
  const upstream = open(context, session, before, 'b');
  const sentCount = context.http.calls.length;
  const after = virtualHostOf({ b: { url, allowed_tool_names: ['x'], passthrough_headers: ['x-tenant'] } });
  session.applyConfig(after, REQUEST);
  t.equal(upstream.state, 'open');
  t.equal(upstream.backend, backendOf(after, 'b'));
  t.equal(session.upstreams.of(backendOf(after, 'b')), upstream);
  t.equal(context.http.calls.length, sentCount, 'nothing is sent');
});

t.test('a request that was read with an older config does not bring that back', async (t) => {
  const { session } = start(t);
  const [older, newer] = [virtualHostOf({ a: {} }), virtualHostOf({ b: {} })];
  for (const host of [older, newer]) numberConfig({ virtualHosts: new Map([['vh', host]]) }, nextConfigNumber());
  t.equal(session.applyConfig(older, REQUEST), older);
  t.equal(session.applyConfig(newer, REQUEST), newer);
  t.equal(session.applyConfig(older, REQUEST), newer, 'it is served by the newer one');
  t.equal(session.virtualHost, newer);
});

t.test('a new backend is not opened before it is needed, and one that comes back is a new one', async (t) => {
  const { context, session } = start(t);
  const one = virtualHostOf({ a: {} });
  session.applyConfig(one, REQUEST);
  const a = open(context, session, one, 'a');
  const sentCount = context.http.calls.length;
  const both = virtualHostOf({ a: {}, b: {} });
  session.applyConfig(both, REQUEST);
  t.equal(context.http.calls.length, sentCount);
  t.equal(session.upstreams.of(backendOf(both, 'b')).state, 'idle');
  session.applyConfig(virtualHostOf({ b: {} }), REQUEST);
  session.applyConfig(both, REQUEST);
  t.not(session.upstreams.of(backendOf(both, 'a')), a);
});

t.test('the end closes every upstream session and ends every call, once', async (t) => {
  for (const request of [REQUEST, undefined]) {
    const { context, session } = start(t);
    const virtualHost = virtualHostOf({ a: { passthrough_headers: ['x-tenant'] }, b: {} });
    session.applyConfig(virtualHost, REQUEST);
    const upstreams = ['a', 'b'].map((name) => open(context, session, virtualHost, name));
    const calls = [new CountedRequest('1'), new CountedRequest('1')];
    // Both calls have one id, which a caller should not do; both are ended all the same.
    for (const call of calls) session.inFlight.begin(call);
    const sentCount = context.http.calls.length;
    session.end(request);
    session.end(request);
    t.ok(session.isEnded);
    t.same(
      calls.map((call) => call.endCount),
      [1, 1],
    );
    t.same(
      upstreams.map((upstream) => upstream.state),
      ['closed', 'closed'],
    );
    t.same(context.http.summary.slice(sentCount), ['DELETE', 'DELETE']);
    const expected = request === undefined ? undefined : '7';
    t.equal(context.http.call(sentCount).header('x-tenant'), expected, "the DELETE's headers, when there was one");
  }
});

t.test('requests are counted and found by their id, up to the limit', async (t) => {
  const { session } = start(t);
  t.notOk(session.isBusy);
  const count = limits.sessionRequestsInFlightMax;
  const requests = Array.from({ length: count }, (_, index) => new CountedRequest(`${index}`));
  for (const [index, request] of requests.entries()) {
    if (session.inFlight.isFull) t.fail(`full at ${index}`);
    session.inFlight.begin(request);
  }
  t.ok(session.isBusy);
  t.ok(session.inFlight.isFull);
  t.equal(session.inFlight.find('5'), requests[5]);
  t.equal(session.inFlight.find('"5'), undefined);
  session.finish(requests[5]!);
  session.finish(requests[5]!);
  t.equal(session.inFlight.find('5'), undefined);
  t.notOk(session.inFlight.isFull);
  for (const request of requests) session.finish(request);
  t.notOk(session.isBusy);
});

t.test('a session does not idle out while a backend is being opened', async (t) => {
  const { context, session } = start(t);
  const virtualHost = virtualHostOf({ a: {}, b: {} });
  session.applyConfig(virtualHost, REQUEST);
  open(context, session, virtualHost, 'a');
  t.notOk(session.isBusy);
  session.upstreams.of(backendOf(virtualHost, 'b')).whenOpen(NO_METADATA, () => undefined);
  t.ok(session.isBusy);
  context.http.last.empty(500);
  t.notOk(session.isBusy);
});

t.test('of two requests with one id the later one is found, until that is over', async (t) => {
  const { session } = start(t);
  const [earlier, later] = [new CountedRequest('1'), new CountedRequest('1')];
  session.inFlight.begin(earlier);
  session.inFlight.begin(later);
  t.equal(session.inFlight.find('1'), later);
  session.finish(later);
  t.equal(session.inFlight.find('1'), earlier);
  session.finish(earlier);
  t.equal(session.inFlight.find('1'), undefined);
  t.notOk(session.isBusy);
});

t.test('a request that cannot be cancelled does not hide one that can', async (t) => {
  const { session } = start(t);
  const [call, list] = [new CountedRequest('1'), new CountedRequest('1', false)];
  session.inFlight.begin(call);
  session.inFlight.begin(list);
  t.equal(session.inFlight.find('1'), call);
});
