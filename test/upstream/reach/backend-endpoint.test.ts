// Silence at one endpoint, as the sessions of several subjects meet it: each is held back only by its own experience.
import t, { type Test } from 'tap';
import { type BackendEndpoint } from '../../../src/upstream/reach/backend-endpoints.js';
import { SILENCE_SUBJECTS_MAX } from '../../../src/upstream/reach/silence-ledger.js';
import { upstreamFault } from '../../../src/http-client/upstream-fault.js';
import { ScriptedContext } from '../scripted-context.js';
import {
  PROBE_DELAY_MS_MIN,
  PROBE_DELAY_MS_MAX,
  ORIGIN_FORGOTTEN_MS,
} from '../../../src/upstream/reach/silence-ledger.js';

const TIMEOUT_MS = 10_000;

class Scene {
  readonly context: ScriptedContext;
  readonly endpoint: BackendEndpoint;

  constructor(t: Test) {
    this.context = new ScriptedContext(t);
    this.endpoint = this.context.endpoints.of({ origin: 'https://b.example', path: '/mcp' });
  }

  admit(subject: string): string {
    return this.endpoint.admit(subject, this.context.nowMs());
  }

  answer(): void {
    this.endpoint.onAnswer(this.context.nowMs());
  }

  /** Opens for the subject and lets the whole timeout pass. */
  waitInVain(subject: string): boolean {
    const startedAtMs = this.context.nowMs();
    this.context.advance(TIMEOUT_MS);
    return this.endpoint.onOpenFault(subject, upstreamFault('answer-timeout'), startedAtMs, this.context.nowMs());
  }
}

t.test('a subject that waited in vain is refused for a while, then gets one try at a time; others pass', async (t) => {
  const scene = new Scene(t);
  t.equal(scene.admit('alice'), 'free');
  t.ok(scene.waitInVain('alice'), 'it is known here when to try again');
  t.equal(scene.admit('alice'), 'refused');
  t.equal(scene.admit('bob'), 'free', "alice's silence may be of her own making");
  scene.context.advance(PROBE_DELAY_MS_MIN);
  t.equal(scene.admit('alice'), 'trial');
  t.equal(scene.admit('alice'), 'refused', 'one at a time');
  t.equal(scene.admit('bob'), 'free');
});

t.test('one subject cannot make an endpoint look silent, however often it tries', async (t) => {
  const scene = new Scene(t);
  for (let tries = 0; tries < 20; tries += 1) {
    t.not(scene.admit('mallory'), 'refused');
    scene.waitInVain('mallory');
    scene.context.advance(PROBE_DELAY_MS_MAX);
    t.equal(scene.admit('bob'), 'free');
  }
});

t.test('where two subjects met silence, a third tries once without waiting for the delay', async (t) => {
  const scene = new Scene(t);
  scene.waitInVain('alice');
  scene.waitInVain('bob');
  t.equal(scene.admit('carol'), 'trial', 'never refused before it has tried itself');
  t.equal(scene.admit('carol'), 'refused');
  t.equal(scene.admit('dave'), 'trial');
  t.equal(scene.admit('erin'), 'trial', 'a trial under way is no third witness, and holds nobody up');
});

t.test('any answer to anybody ends the silence for all', async (t) => {
  const scene = new Scene(t);
  for (const subject of ['alice', 'bob']) scene.waitInVain(subject);
  scene.answer();
  for (const subject of ['alice', 'bob', 'carol']) t.equal(scene.admit(subject), 'free');
});

t.test('a wait during which the endpoint answered somebody else does not count as its silence', async (t) => {
  const scene = new Scene(t);
  const startedAtMs = scene.context.nowMs();
  scene.context.advance(TIMEOUT_MS / 2);
  scene.answer();
  scene.context.advance(TIMEOUT_MS / 2);
  const fault = upstreamFault('answer-timeout');
  t.notOk(scene.endpoint.onOpenFault('alice', fault, startedAtMs, scene.context.nowMs()));
  t.equal(scene.admit('alice'), 'free');
});

t.test('an answer at one URL closes the circuit of its origin, whose fault is known until then', async (t) => {
  const scene = new Scene(t);
  const fault = upstreamFault('connection-refused');
  scene.endpoint.circuit.onFault(fault);
  t.ok(scene.endpoint.onOpenFault('alice', fault, 0, scene.context.nowMs()), 'it is known here when to try again');
  t.equal(scene.admit('alice'), 'free', 'which is for the circuit to say');
  scene.answer();
  t.equal(scene.endpoint.circuit.state, 'closed');
  t.notOk(scene.endpoint.onOpenFault('alice', fault, 0, scene.context.nowMs()));
});

t.test('a fault that may concern one subject alone is not recorded for others', async (t) => {
  const scene = new Scene(t);
  for (const kind of ['http-status', 'answer-invalid', 'initialize-refused', 'connection-lost'] as const) {
    t.notOk(scene.endpoint.onOpenFault('alice', upstreamFault(kind), 0, scene.context.nowMs()), kind);
    t.equal(scene.admit('alice'), 'free');
    t.equal(scene.endpoint.circuit.state, 'closed');
  }
});

t.test('the delay between trials doubles up to its bound', async (t) => {
  const scene = new Scene(t);
  scene.waitInVain('alice');
  for (let delayMs: number = PROBE_DELAY_MS_MIN, tries = 0; tries < 8; tries += 1) {
    scene.context.advance(delayMs - 1);
    t.equal(scene.admit('alice'), 'refused', `not before ${delayMs} ms`);
    scene.context.advance(1);
    t.equal(scene.admit('alice'), 'trial');
    scene.waitInVain('alice');
    delayMs = Math.min(delayMs * 2, PROBE_DELAY_MS_MAX);
  }
});

t.test('a trial that was given up, or ended in another fault, makes room for the next', async (t) => {
  for (const end of ['given up', 'another fault'] as const) {
    const scene = new Scene(t);
    for (const subject of ['alice', 'bob']) scene.waitInVain(subject);
    const over = (subject: string): void => {
      if (end === 'given up') scene.endpoint.onTrialOver(subject);
      else scene.endpoint.onOpenFault(subject, upstreamFault('connection-lost'), 0, scene.context.nowMs());
    };
    scene.context.advance(PROBE_DELAY_MS_MIN);
    t.equal(scene.admit('alice'), 'trial');
    over('alice');
    t.equal(scene.admit('alice'), 'trial', end);
    t.equal(scene.admit('carol'), 'trial');
    over('carol');
    t.equal(scene.admit('carol'), 'trial', 'and it is no witness');
  }
});

t.test('a subject that has not met the silence itself is no witness once those who have are forgotten', async (t) => {
  const scene = new Scene(t);
  for (const subject of ['alice', 'bob']) scene.waitInVain(subject);
  scene.context.advance(ORIGIN_FORGOTTEN_MS - TIMEOUT_MS);
  for (const subject of ['carol', 'dave']) {
    t.equal(scene.admit(subject), 'trial');
    scene.endpoint.onTrialOver(subject);
  }
  scene.context.advance(TIMEOUT_MS + PROBE_DELAY_MS_MIN + 1);
  t.equal(scene.admit('erin'), 'free');
});

t.test('a silence that nobody met again is forgotten', async (t) => {
  const scene = new Scene(t);
  for (const subject of ['alice', 'bob']) scene.waitInVain(subject);
  scene.context.advance(ORIGIN_FORGOTTEN_MS + PROBE_DELAY_MS_MIN + 1);
  for (const subject of ['alice', 'bob', 'carol']) t.equal(scene.admit(subject), 'free');
});

t.test('with too many subjects the oldest is forgotten', async (t) => {
  const scene = new Scene(t);
  const subjects = Array.from({ length: SILENCE_SUBJECTS_MAX + 1 }, (_, index) => `s${index}`);
  const nowMs = scene.context.nowMs();
  for (const subject of subjects) scene.endpoint.onOpenFault(subject, upstreamFault('answer-timeout'), 0, nowMs);
  t.equal(scene.admit('s1'), 'refused');
  t.equal(scene.admit('s0'), 'trial', 'as somebody who has not met it yet');
});

t.test('once the modern era is refused, nothing is known of the sessions that the backend keeps', async (t) => {
  const { endpoint } = new Scene(t);
  t.notOk(endpoint.isSessionless, 'nobody has opened it');
  endpoint.onModernOpen(false);
  endpoint.onEraRefused('legacy', 0);
  t.ok(endpoint.isSessionless);
  endpoint.onEraRefused('modern', 0);
  t.notOk(endpoint.isSessionless);
});

t.test(
  'a backend that keeps a session for one caller is not taken for one without sessions because of another',
  async (t) => {
    const { endpoint } = new Scene(t);
    endpoint.onModernOpen(true);
    endpoint.onModernOpen(false);
    t.notOk(endpoint.isSessionless);
  },
);
