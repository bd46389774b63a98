// The circuit of one origin: what opens it and what does not, its probes, and that no request keeps it open. The backend is a script, and
// the test sets the clock.
import t, { type Test } from 'tap';
import {
  ENDPOINTS_MAX,
  ORIGIN_ANSWERED_MS,
  ORIGIN_PROBES_MAX,
  PROBE_ANSWER_MS_MAX,
  type OriginCircuit,
} from '../../../src/upstream/reach/backend-endpoints.js';
import { upstreamFault, type UpstreamFaultKind } from '../../../src/http-client/upstream-fault.js';
import { limits } from '../../../src/shared/limits.js';
import { ScriptedContext } from '../scripted-context.js';
import {
  PROBE_DELAY_MS_MIN,
  PROBE_DELAY_MS_MAX,
  ORIGIN_FORGOTTEN_MS,
} from '../../../src/upstream/reach/silence-ledger.js';

const ORIGIN = 'https://b.example:8443';
/** Deadlines fire up to one tick of the wheel late. */
const TICK_MS = 10;

class Scene {
  readonly context: ScriptedContext;
  readonly circuit: OriginCircuit;

  constructor(t: Test, origin = ORIGIN, context = new ScriptedContext(t)) {
    this.context = context;
    this.circuit = context.endpoints.of({ origin, path: '/mcp' }).circuit;
  }

  fail(kind: UpstreamFaultKind = 'connection-refused'): void {
    this.circuit.onFault(upstreamFault(kind));
  }

  answer(): void {
    this.circuit.onAnswer(this.context.nowMs());
  }

  get probes(): number {
    return this.context.http.calls.length;
  }

  /** Lets the longest delay before a probe pass, tick by tick. */
  passDelay(delayMs: number): void {
    for (let passedMs = 0; passedMs < delayMs; passedMs += TICK_MS) this.context.advance(TICK_MS);
  }
}

t.test('an unreachable origin opens the circuit, and everybody is told the kind of its fault', async (t) => {
  const kinds: UpstreamFaultKind[] = [
    'connection-refused',
    'connect-timeout',
    'name-not-resolved',
    'connect-failed',
    'tls-failed',
  ];
  for (const kind of kinds) {
    const scene = new Scene(t);
    t.equal(scene.circuit.fault, undefined);
    scene.fail(kind);
    t.equal(scene.circuit.state, 'open', kind);
    t.same(scene.circuit.fault, upstreamFault(kind, true), 'nothing was sent');
  }
});

t.test('everybody is told what the first one was told, and what the log was', async (t) => {
  const scene = new Scene(t);
  scene.circuit.onFault({ kind: 'proxy-failed', isUnsent: true, detail: '(HTTP 407)' });
  t.match(scene.circuit.fault, { kind: 'proxy-failed', detail: '(HTTP 407)' });
  const other = new Scene(t);
  other.circuit.onFault({ kind: 'tls-failed', isUnsent: true, logDetail: 'CERT_HAS_EXPIRED' });
  t.match(other.circuit.fault, { kind: 'tls-failed', logDetail: 'CERT_HAS_EXPIRED' });
});

t.test('a fault that comes with an answer, or concerns one request, does not open it', async (t) => {
  const kinds: UpstreamFaultKind[] = [
    'http-status',
    'answer-timeout',
    'answer-invalid',
    'answer-too-large',
    'answer-incomplete',
    'connection-lost',
    'initialize-refused',
    'session-lost',
    'request-invalid',
    'address-refused',
    'address-not-allowed',
    'backend-busy',
  ];
  for (const kind of kinds) {
    const scene = new Scene(t);
    scene.fail(kind);
    t.equal(scene.circuit.state, 'closed', kind);
  }
});

t.test('while the origin answers anybody, a failed connection does not open it', async (t) => {
  const scene = new Scene(t);
  scene.answer();
  scene.context.advance(ORIGIN_ANSWERED_MS - 1);
  scene.fail();
  t.equal(scene.circuit.state, 'closed', 'one caller may have used up all its connections');
  scene.context.advance(1);
  scene.fail();
  t.equal(scene.circuit.state, 'open');
});

t.test('the probe carries nothing of a caller, and any answer to it closes the circuit', async (t) => {
  for (const status of [200, 401, 404, 500]) {
    const scene = new Scene(t);
    scene.fail();
    t.equal(scene.probes, 0, 'not at once');
    scene.passDelay(PROBE_DELAY_MS_MIN + TICK_MS);
    t.equal(scene.circuit.state, 'half-open');
    t.ok(scene.circuit.fault, 'nobody waits for the probe');
    const { last } = scene.context.http;
    t.match(last.request, { subject: '', method: 'GET', target: { origin: ORIGIN, path: '/' }, body: undefined });
    last.head(status, 'text/html');
    t.equal(scene.circuit.state, 'closed', String(status));
    t.equal(scene.circuit.fault, undefined);
    t.ok(last.isAborted, 'its answer is not read');
    scene.passDelay(PROBE_DELAY_MS_MAX);
    t.equal(scene.probes, 1, 'and no more of them');
  }
});

t.test('a probe for which the gateway had no connection says nothing about the origin', async (t) => {
  for (const kind of ['connections-used', 'backend-busy'] as const) {
    const scene = new Scene(t);
    scene.fail('tls-failed');
    scene.passDelay(PROBE_DELAY_MS_MIN + TICK_MS);
    scene.context.http.last.fault(upstreamFault(kind, true));
    t.equal(scene.circuit.state, 'open', kind);
    t.same(scene.circuit.fault, upstreamFault('tls-failed', true), 'what is known stays known');
    scene.passDelay(PROBE_DELAY_MS_MAX + TICK_MS);
    t.equal(scene.probes, 2, 'and it is tried again');
  }
});

t.test('a probe that connects and gets no answer closes it: the path alone may be silent', async (t) => {
  const scene = new Scene(t);
  scene.fail();
  scene.passDelay(PROBE_DELAY_MS_MIN + TICK_MS);
  scene.passDelay(scene.context.options.connectTimeoutMs);
  t.equal(scene.circuit.state, 'half-open', 'it may still be connecting');
  scene.passDelay(PROBE_ANSWER_MS_MAX + TICK_MS);
  t.equal(scene.circuit.state, 'closed');
  t.ok(scene.context.http.last.isAborted);
});

t.test('a probe that is lost after it connected closes it', async (t) => {
  const scene = new Scene(t);
  scene.fail();
  scene.passDelay(PROBE_DELAY_MS_MIN + TICK_MS);
  scene.context.http.last.fault('connection-lost');
  t.equal(scene.circuit.state, 'closed');
});

t.test('probes go out one at a time, with a delay that doubles up to its bound', async (t) => {
  const scene = new Scene(t);
  scene.fail();
  for (let delayMs: number = PROBE_DELAY_MS_MIN, round = 1; round < 9; round += 1) {
    scene.circuit.onRequestRefused();
    scene.passDelay(delayMs - 2 * TICK_MS);
    t.equal(scene.probes, round - 1, `not before ${delayMs} ms`);
    scene.passDelay(3 * TICK_MS);
    t.equal(scene.probes, round);
    scene.fail();
    scene.fail('connect-timeout');
    t.equal(scene.circuit.state, 'half-open', "others' faults change nothing");
    scene.context.http.last.fault('name-not-resolved');
    t.equal(scene.circuit.state, 'open');
    t.equal(scene.circuit.fault?.kind, 'name-not-resolved', 'what the probe found is told');
    delayMs = Math.min(delayMs * 2, PROBE_DELAY_MS_MAX);
  }
});

t.test('jitter shortens a delay by up to half', async (t) => {
  const scene = new Scene(t);
  scene.context.random = 0.999;
  scene.fail();
  scene.passDelay(PROBE_DELAY_MS_MIN / 2 - TICK_MS);
  t.equal(scene.probes, 0);
  scene.passDelay(3 * TICK_MS);
  t.equal(scene.probes, 1);
});

t.test('any answer to anybody closes it at once, and ends its probe', async (t) => {
  const open = new Scene(t);
  open.fail();
  open.answer();
  t.equal(open.circuit.state, 'closed');
  open.passDelay(PROBE_DELAY_MS_MAX);
  t.equal(open.probes, 0);

  const halfOpen = new Scene(t);
  halfOpen.fail();
  halfOpen.passDelay(PROBE_DELAY_MS_MIN + TICK_MS);
  halfOpen.answer();
  t.equal(halfOpen.circuit.state, 'closed');
  t.ok(halfOpen.context.http.last.isAborted);
});

t.test('an origin that flaps is probed less and less often, until it answers somebody', async (t) => {
  const scene = new Scene(t);
  scene.fail();
  scene.passDelay(PROBE_DELAY_MS_MIN + TICK_MS);
  scene.context.http.last.fault('connection-lost');
  t.equal(scene.circuit.state, 'closed', 'reached, though nobody was answered');
  scene.fail();
  scene.passDelay(PROBE_DELAY_MS_MIN + TICK_MS);
  t.equal(scene.probes, 1, 'the delay goes on where it was');
  scene.passDelay(PROBE_DELAY_MS_MIN);
  t.equal(scene.probes, 2);
  scene.answer();
  scene.context.advance(ORIGIN_ANSWERED_MS);
  scene.fail();
  scene.passDelay(PROBE_DELAY_MS_MIN + TICK_MS);
  t.equal(scene.probes, 3, 'after an answer it begins anew');
});

t.test('an origin that nobody asks for is forgotten; one that is asked for is not', async (t) => {
  const forgotten = new Scene(t);
  forgotten.fail();
  const asked = new Scene(t);
  asked.fail();
  for (let passedMs = 0; passedMs <= ORIGIN_FORGOTTEN_MS + 2 * PROBE_DELAY_MS_MAX; passedMs += TICK_MS) {
    for (const { context } of [forgotten, asked]) {
      context.advance(TICK_MS);
      for (const call of context.http.calls.splice(0)) call.fault('connection-refused');
    }
    asked.circuit.onRequestRefused();
  }
  t.equal(forgotten.circuit.state, 'closed', 'the next need tries for real');
  t.not(asked.circuit.state, 'closed');
});

t.test('of very many origins that are down only some are probed at once, and each gets its turn', async (t) => {
  const context = new ScriptedContext(t);
  const count = ORIGIN_PROBES_MAX + 3;
  const scenes = Array.from({ length: count }, (_, index) => new Scene(t, `https://b${index}.example`, context));
  for (const scene of scenes) scene.fail();
  scenes[0]?.passDelay(PROBE_DELAY_MS_MIN + TICK_MS);
  t.equal(context.http.calls.length, ORIGIN_PROBES_MAX);
  for (const call of context.http.calls) call.head(404, '');
  scenes[0]?.passDelay(2 * PROBE_DELAY_MS_MIN + TICK_MS);
  t.equal(context.http.calls.length, count);
});

t.test('the oldest of too many origins is forgotten, and its probe ends', async (t) => {
  const context = new ScriptedContext(t);
  const scene = new Scene(t, ORIGIN, context);
  scene.fail();
  scene.passDelay(PROBE_DELAY_MS_MIN + TICK_MS);
  for (let index = 1; index < limits.upstreamOriginsMax; index += 1) {
    context.endpoints.of({ origin: `https://o${index}.example`, path: '/' });
  }
  t.equal(scene.circuit.state, 'half-open', 'there was room for so many');
  context.endpoints.of({ origin: 'https://one-more.example', path: '/' });
  t.equal(scene.circuit.state, 'closed');
  t.ok(context.http.last.isAborted);
});

t.test('the endpoints of one origin share its circuit, and each URL has one endpoint', async (t) => {
  const { endpoints } = new ScriptedContext(t);
  const one = endpoints.of({ origin: ORIGIN, path: '/a' });
  t.equal(endpoints.of({ origin: ORIGIN, path: '/a' }), one);
  const other = endpoints.of({ origin: ORIGIN, path: '/b' });
  t.not(other, one);
  t.equal(other.circuit, one.circuit);
  t.not(endpoints.of({ origin: 'https://b.example', path: '/a' }).circuit, one.circuit, 'the port is a part of it');
  for (let index = 2; index < ENDPOINTS_MAX; index += 1) endpoints.of({ origin: ORIGIN, path: `/${index}` });
  t.equal(endpoints.of({ origin: ORIGIN, path: '/b' }), other);
  endpoints.of({ origin: ORIGIN, path: '/one-more' });
  t.not(endpoints.of({ origin: ORIGIN, path: '/a' }), one, 'the oldest is forgotten');
});

t.test('stop ends probes and does not wait for them', async (t) => {
  const scene = new Scene(t);
  scene.fail();
  scene.passDelay(PROBE_DELAY_MS_MIN + TICK_MS);
  scene.context.endpoints.stop();
  t.ok(scene.context.http.last.isAborted);
  t.equal(scene.circuit.state, 'closed');
});
