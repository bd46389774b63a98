// The end of very many sessions at once: every backend that answers is told of all of its sessions, whatever the others do, and
// the sessions whose end could not be told are counted.
import t, { type Test } from 'tap';
import { OWN_INTRODUCTION } from '../../src/upstream/session/client-introduction.js';
import {
  UpstreamTerminations,
  type TerminationCount,
  TERMINATIONS_MAX,
  TERMINATIONS_PER_ORIGIN_MAX,
  TERMINATIONS_PER_ORIGIN_FIRST,
} from '../../src/session/upstream-terminations.js';
import { UpstreamSession } from '../../src/upstream/session/upstream-session.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { limits } from '../../src/shared/limits.js';
import { backendFor } from '../support/deployment.js';
import { until } from '../support/until.js';
import { ScriptedContext } from '../upstream/scripted-context.js';
import { REQUEST_ID, type ScriptedCall } from '../upstream/scripted-upstream.js';
import { backendOf, virtualHostOf } from '../relay/virtual-host.js';
import { WiredRelay } from '../relay/wired-relay.js';
import { NO_METADATA } from '../../src/http-client/http-upstream.js';

const RESULT = JSON.stringify({
  jsonrpc: '2.0',
  id: REQUEST_ID,
  result: { protocolVersion: '2025-11-25', capabilities: {} },
});
const WITHIN_MS = 60_000;
const WEIGHTLESS = { tryKeepText: () => 0, drop: () => undefined };

class Scene {
  readonly context: ScriptedContext;
  readonly #upstreams: UpstreamSession[] = [];
  /** By origin, what has been sent since the farewells began. */
  readonly #sent = new Map<string, ScriptedCall[]>();
  #sortedCount = 0;
  count: TerminationCount | undefined;
  #promise: Promise<void> = Promise.resolve();

  constructor(t: Test) {
    this.context = new ScriptedContext(t);
  }

  /** Opens sessions with one backend, whose ids count up. */
  open(name: string, count: number, sessionId = (index: number) => `${name}-${index}`): this {
    const backend = backendOf(virtualHostOf({ [name]: { url: `https://${name}.example/mcp` } }), name);
    for (let index = 0; index < count; index += 1) {
      const upstream = new UpstreamSession(this.context, 'alice', backend, OWN_INTRODUCTION, WEIGHTLESS);
      upstream.whenOpen(NO_METADATA, () => undefined);
      this.context.http.last.json(RESULT, sessionId(index));
      this.context.http.last.empty();
      this.#upstreams.push(upstream);
    }
    return this;
  }

  sendAll(): this {
    this.context.http.calls.length = 0;
    this.#promise = new UpstreamTerminations(this.#upstreams)
      .sendAll(this.context.deadlines, WITHIN_MS)
      .then((count) => {
        this.count = count;
      });
    return this;
  }

  async over(): Promise<TerminationCount | undefined> {
    await this.#promise;
    return this.count;
  }

  /** The requests that a backend was sent, in order. */
  sentTo(name: string): ScriptedCall[] {
    for (const { calls } = this.context.http; this.#sortedCount < calls.length; this.#sortedCount += 1) {
      const call = calls[this.#sortedCount] as ScriptedCall;
      const { origin } = call.request.target;
      this.#sent.set(origin, this.#sent.get(origin) ?? []);
      this.#sent.get(origin)?.push(call);
    }
    return this.#sent.get(`https://${name}.example`) ?? [];
  }
}

t.test('a backend is told of all its sessions, oldest first, more at once the longer it answers', async (t) => {
  const scene = new Scene(t).open('a', 2_000).sendAll();
  t.equal(scene.sentTo('a').length, TERMINATIONS_PER_ORIGIN_FIRST);
  let answered = 0;
  let underWayMax = 0;
  for (; answered < scene.sentTo('a').length; answered += 1) {
    underWayMax = Math.max(underWayMax, scene.sentTo('a').length - answered);
    // A refusal counts as an answer.
    scene.sentTo('a')[answered]?.empty(answered % 2 === 0 ? 200 : 404);
  }
  t.same(await scene.over(), { told: 2_000, untold: 0 });
  t.equal(underWayMax, TERMINATIONS_PER_ORIGIN_MAX);
  const ids = scene.sentTo('a').map((call) => call.header('mcp-session-id'));
  t.same(
    ids,
    Array.from({ length: 2_000 }, (_, index) => `a-${index}`),
  );
  t.ok(scene.sentTo('a').every(({ request }) => request.method === 'DELETE'));
});

t.test('a silent backend does not delay the others, and is told of fewer sessions at once', async (t) => {
  const scene = new Scene(t).open('silent', 500).open('good', 500).sendAll();
  t.equal(scene.sentTo('good').length, TERMINATIONS_PER_ORIGIN_FIRST, 'both have begun');
  for (let answered = 0; answered < scene.sentTo('good').length; answered += 1) {
    scene.sentTo('good')[answered]?.empty(200);
  }
  t.equal(scene.sentTo('good').length, 500);
  t.equal(scene.count, undefined);
  const firstSent = scene.sentTo('silent').length;
  t.equal(firstSent, TERMINATIONS_PER_ORIGIN_FIRST);
  scene.context.advance(limits.oneWayRequestMsMax + 100);
  t.equal(scene.sentTo('silent').length - firstSent, 1, 'one at a time by now');
  scene.context.advance(WITHIN_MS);
  t.same(await scene.over(), { told: 500, untold: 500 });
  const sentCount = scene.context.http.calls.length;
  scene.context.advance(limits.oneWayRequestMsMax + 100);
  t.equal(scene.context.http.calls.length, sentCount, 'after its time nothing is sent');
});

t.test('sessions of an unreachable backend are counted as untold, without a wait', async (t) => {
  const scene = new Scene(t).open('gone', 300).sendAll();
  for (let failed = 0; failed < scene.sentTo('gone').length; failed += 1) {
    scene.sentTo('gone')[failed]?.fault('connection-refused');
  }
  t.same(await scene.over(), { told: 0, untold: 300 });
});

t.test('a backend that answers again is told of more sessions at once again', async (t) => {
  const scene = new Scene(t).open('a', 300).sendAll();
  scene.context.advance(limits.oneWayRequestMsMax + 100);
  let answered = TERMINATIONS_PER_ORIGIN_FIRST;
  for (; answered < scene.sentTo('a').length; answered += 1) scene.sentTo('a')[answered]?.empty(200);
  t.same(await scene.over(), {
    told: 300 - TERMINATIONS_PER_ORIGIN_FIRST,
    untold: TERMINATIONS_PER_ORIGIN_FIRST,
  });
});

t.test('of very many backends some are told at once, and all in turn', async (t) => {
  const scene = new Scene(t);
  const names = Array.from({ length: 200 }, (_, index) => `b${index}`);
  for (const name of names) scene.open(name, TERMINATIONS_PER_ORIGIN_FIRST);
  scene.sendAll();
  const { calls } = scene.context.http;
  t.equal(calls.length, TERMINATIONS_MAX);
  const firstOnes = new Set(calls.slice(0, names.length).map(({ request }) => request.target.origin));
  t.equal(firstOnes.size, names.length, 'the first of each comes before the second of any');
  for (let answered = 0; answered < calls.length; answered += 1) calls[answered]?.empty(200);
  t.same(await scene.over(), { told: names.length * TERMINATIONS_PER_ORIGIN_FIRST, untold: 0 });
});

t.test('sessions without an id need no farewell, and neither does an empty set', async (t) => {
  const scene = new Scene(t).open('stateless', 3, () => '').sendAll();
  t.same(await scene.over(), { told: 0, untold: 0 });
  t.equal(scene.context.http.calls.length, 0);
  t.same(await new Scene(t).sendAll().over(), { told: 0, untold: 0 });
});

t.test('a relay that stops ends all sessions at a slow backend, while another stays silent', async (t) => {
  // More than may be told at once.
  const SESSIONS = TERMINATIONS_PER_ORIGIN_MAX + 50;
  const DELETE_MS = 20;
  const isDelete = ({ method }: { method: string }): boolean => method === 'DELETE';
  let underWayCount = 0;
  let underWayMax = 0;
  const slow = await backendFor(t, {
    withSessions: true,
    onRequest: async (request) => {
      if (!isDelete(request)) return false;
      underWayCount += 1;
      underWayMax = Math.max(underWayMax, underWayCount);
      await new Promise((resolve) => setTimeout(resolve, DELETE_MS));
      underWayCount -= 1;
      return false;
    },
  });
  const silent = await backendFor(t, { withSessions: true, onRequest: isDelete });
  let nowMs = 0;
  const deadlines = new DeadlineWheel(undefined, () => nowMs);
  t.teardown(() => deadlines.stop());
  const wired = new WiredRelay(t, {}, {}, { deadlines });
  const callers = Array.from({ length: SESSIONS }, (_, index) =>
    wired.caller({ slow: slow.url, silent: silent.url }, `subject ${index}`),
  );
  const waiting = [...callers];
  const openSome = async (): Promise<void> => {
    for (let caller = waiting.pop(); caller !== undefined; caller = waiting.pop()) await caller.open();
  };
  await Promise.all(Array.from({ length: 50 }, openSome));
  t.equal(slow.sessions.size, SESSIONS);
  const stopped = wired.relay.stop(WITHIN_MS);
  await until(() => slow.deletedSessions.length === SESSIONS, 'the slow backend to know of every end');
  // Both ends are in this process: its event loop passes on the last answers in a few turns.
  for (let turns = 0; turns < 50; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  nowMs += WITHIN_MS;
  deadlines.tick();
  const { told, untold } = await stopped;
  t.ok(underWayMax <= TERMINATIONS_PER_ORIGIN_MAX, `${underWayMax} at once`);
  t.equal(told, SESSIONS);
  t.equal(untold, SESSIONS);
  const lines = wired.logLines.filter((line) => line.includes('could be notified'));
  t.equal(lines.length, 1);
  t.match(JSON.parse(lines[0] ?? '{}'), { level: 40, told, untold });
});
