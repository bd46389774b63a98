// When the records of sessions are renewed: each session in use once per round, however many there are, come or go.
import t, { type Test } from 'tap';
import { RecordRenewal, type RenewedSession, SESSION_RENEWAL_STEP_MS } from '../../src/session/sessions.js';
import { DirectoryEntry } from '../../src/session/directory-entry.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';

const ROUND_MS = 10_000;

class Scene {
  readonly sessions = new Map<string, RenewedSession & { readonly entry: DirectoryEntry }>();
  readonly renewed: string[] = [];
  readonly #wheel: DeadlineWheel;
  #nowMs = 0;

  constructor(t: Test) {
    this.#wheel = new DeadlineWheel(10, () => this.#nowMs);
    t.teardown(() => this.#wheel.stop());
    void new RecordRenewal(this.#wheel, this.sessions, ROUND_MS);
  }

  add(id: string): void {
    const directory = { watch: () => undefined, renew: async () => this.renewed.push(id) > 0 };
    const begun = { version: 1, record: { upstreams: [] }, isStale: false };
    const session = { identity: { id } } as never;
    const entry = new DirectoryEntry(directory as never, session, {} as never, begun as never);
    this.sessions.set(id, { isBusy: false, entry });
  }

  advance(ms: number): void {
    this.#nowMs += ms;
    this.#wheel.tick();
  }
}

t.test('a session in use is renewed in each round while others come without end', async (t) => {
  const scene = new Scene(t);
  scene.add('long');
  for (let round = 1; round <= 4; round++) {
    for (let step = 0; step < ROUND_MS / SESSION_RENEWAL_STEP_MS + 1; step++) {
      for (const each of ['a', 'b', 'c']) scene.add(`short-${round}-${step}-${each}`);
      for (const each of ['a', 'b', 'c']) scene.sessions.delete(`short-${round}-${step - 1}-${each}`);
      scene.sessions.get('long')!.entry.onUsed();
      scene.advance(SESSION_RENEWAL_STEP_MS);
    }
    t.ok(scene.renewed.filter((id) => id === 'long').length >= round, `round ${round}`);
  }
});

t.test('many sessions are renewed a few at a time, and all within a round', async (t) => {
  const scene = new Scene(t);
  for (let number = 0; number < 10_000; number++) scene.add(String(number));
  let most = 0;
  for (let passedMs = 0; passedMs < ROUND_MS; passedMs += SESSION_RENEWAL_STEP_MS) {
    const before = scene.renewed.length;
    scene.advance(SESSION_RENEWAL_STEP_MS);
    most = Math.max(most, scene.renewed.length - before);
  }
  t.equal(new Set(scene.renewed).size, 10_000);
  t.equal(scene.renewed.length, 10_000, 'once each');
  t.ok(most <= 100, `${most} at once`);
  scene.advance(ROUND_MS / 2);
  t.ok(scene.renewed.length <= 10_500, 'nor is a pause made up for at once');
});

t.test('a session that nobody used is not renewed', async (t) => {
  const scene = new Scene(t);
  scene.add('idle');
  for (let step = 0; step < 300; step++) scene.advance(SESSION_RENEWAL_STEP_MS);
  t.same(scene.renewed, ['idle'], 'only for its beginning');
  scene.sessions.get('idle')!.entry.onUsed();
  t.equal(scene.renewed.length, 2, 'others learn at once that it is in use again');
});
