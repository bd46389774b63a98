// The memory of large messages: waiting in turn by subject, refusal after a while, and that no byte of room is ever lost.
import t, { type Test } from 'tap';
import { Accounts } from '../../src/fair/share.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { limits } from '../../src/shared/limits.js';
import { MessageMemory, type MessageReservation } from '../../src/fair/message-memory.js';
import { withReserve, type ShareBounds } from '../../src/fair/share.js';
import { shareOptions } from '../support/shares.js';
import { shareTable } from '../../src/relay/relay-options.js';
import { Random } from '../support/random.js';

class Scene {
  nowMs = 0;
  readonly accounts: Accounts;
  readonly memory: MessageMemory;
  readonly #deadlines: DeadlineWheel;
  /** What the waiters were told, in order. */
  readonly heard: string[] = [];

  constructor(t: Test, answerBytes: ShareBounds) {
    this.#deadlines = new DeadlineWheel(100, () => this.nowMs);
    t.teardown(() => this.#deadlines.stop());
    this.accounts = new Accounts({ ...shareTable(shareOptions()), answerBytes });
    this.memory = new MessageMemory(this.accounts, this.#deadlines, 'answerBytes');
  }

  hold(subject: string, name = subject, onRefused: () => void = () => undefined): MessageReservation {
    return this.memory.createReservation(subject, {
      onRoom: () => void this.heard.push(name),
      onNoRoom: (bound) => {
        this.heard.push(`${name}: ${bound}`);
        onRefused();
      },
    });
  }

  pass(ms: number): void {
    this.nowMs += ms;
    this.#deadlines.tick();
  }
}

t.test('there is room until the share is used up; released room goes to those who wait', async (t) => {
  const scene = new Scene(t, { subjectMax: 60, totalMax: 100 });
  const [ada, bob, cem] = [scene.hold('ada'), scene.hold('bob'), scene.hold('cem')];
  t.equal(ada.grow(50), 'room');
  t.equal(ada.grow(40), 'room', 'what it holds already');
  t.equal(bob.grow(50), 'room');
  t.equal(cem.grow(10), 'wait');
  t.ok(cem.isWaiting);
  t.same(scene.heard, []);
  ada.release();
  t.same(scene.heard, ['cem']);
  t.notOk(cem.isWaiting);
  t.equal(scene.accounts.used('answerBytes'), 60);
  bob.release();
  cem.release();
  cem.release();
  t.equal(scene.accounts.size, 0);
});

t.test('a subject that uses all of its share waits for itself, and delays nobody else', async (t) => {
  const scene = new Scene(t, { subjectMax: 50, totalMax: 100 });
  const first = scene.hold('ada', 'first');
  first.grow(50);
  const more = ['second', 'third'].map((name) => scene.hold('ada', name));
  for (const hold of more) t.equal(hold.grow(30), 'wait');
  t.equal(scene.hold('bob').grow(50), 'room');
  first.release();
  t.same(scene.heard, ['second'], 'the third has no room beside it');
  more[0]?.release();
  t.same(scene.heard, ['second', 'third']);
});

t.test('waiting subjects take turns, in whatever order they arrived', async (t) => {
  const scene = new Scene(t, { subjectMax: 100, totalMax: 100 });
  const all = scene.hold('zoe');
  all.grow(100);
  const waiting = ['ada 1', 'ada 2', 'ada 3', 'bob 1', 'cem 1'].map((name) => {
    const hold = scene.hold(name.slice(0, 3), name);
    t.equal(hold.grow(50), 'wait');
    return hold;
  });
  all.release();
  t.same(scene.heard, ['ada 1', 'bob 1']);
  t.equal(scene.hold('dan').grow(1), 'wait', 'nor does somebody small pass them');
  waiting[0]?.release();
  t.same(scene.heard, ['ada 1', 'bob 1', 'cem 1']);
  waiting[3]?.release();
  t.same(scene.heard.slice(3), ['ada 2'], 'dan came last');
});

t.test('a message that waits too long is refused, and the bound is named', async (t) => {
  const scene = new Scene(t, { subjectMax: 60, totalMax: 100 });
  const ada = scene.hold('ada');
  ada.grow(60);
  scene.hold('bob').grow(40);
  const [second, cem] = [scene.hold('ada', 'second'), scene.hold('cem')];
  t.equal(second.grow(10), 'wait');
  t.equal(cem.grow(10), 'wait');
  scene.pass(limits.messageWaitMsMax - 200);
  t.same(scene.heard, []);
  scene.pass(400);
  t.same(scene.heard.toSorted(), ['cem: totalMax', 'second: subjectMax']);
  ada.release();
  t.equal(scene.heard.length, 2, 'and hears nothing more');
  t.equal(scene.hold('dan').grow(60), 'room', 'nobody is waited for who is gone');
});

t.test('a message that can never have room is refused at once', async (t) => {
  const scene = new Scene(t, { subjectMax: 60, totalMax: 100 });
  t.equal(scene.hold('ada').grow(61), 'subjectMax');
  t.equal(scene.accounts.size, 0);
});

t.test('of messages that hold some room and wait for more, one gives up and the others continue', async (t) => {
  const scene = new Scene(t, { subjectMax: 90, totalMax: 90 });
  const holds: MessageReservation[] = [];
  for (const name of ['a', 'b', 'c'])
    holds.push(scene.hold('ada', name, () => holds[scene.heard.length - 1]?.release()));
  for (const hold of holds) t.equal(hold.grow(30), 'room');
  for (const hold of holds) t.equal(hold.grow(40), 'wait');
  scene.pass(limits.messageWaitMsMax + 200);
  t.same(scene.heard, ['a: subjectMax', 'b', 'c'], 'the first is refused and gives back, the others have room');
});

t.test('leaving the queue makes room for the next', async (t) => {
  const scene = new Scene(t, { subjectMax: 100, totalMax: 100 });
  const all = scene.hold('zoe');
  all.grow(80);
  const [large, small] = [scene.hold('ada'), scene.hold('bob')];
  large.grow(90);
  small.grow(15);
  const little = scene.hold('zoe', 'little');
  little.take(5);
  little.release();
  t.same(scene.heard, [], 'the large one has its turn');
  large.release();
  t.same(scene.heard, ['bob']);
});

t.test('a later message waits although there is room, while others of its subject wait', async (t) => {
  const scene = new Scene(t, { subjectMax: 10, totalMax: 100 });
  const first = scene.hold('ada', 'first');
  first.grow(8);
  t.equal(scene.hold('ada', 'second').grow(5), 'wait');
  t.equal(scene.hold('ada', 'third').grow(1), 'wait');
  t.equal(scene.hold('bob').grow(10), 'room', 'nobody else does');
  first.release();
  t.same(scene.heard, ['second', 'third']);
});

t.test(
  'a message that waits for others has room when they give it back, also with a small one of its own behind it',
  async (t) => {
    const scene = new Scene(t, { subjectMax: 36, totalMax: 40 });
    const [ada, bob] = [scene.hold('ada'), scene.hold('bob')];
    ada.grow(3);
    bob.grow(35);
    t.equal(scene.hold('ada', 'large').grow(20), 'wait');
    t.equal(scene.hold('ada', 'small').grow(1), 'wait');
    bob.release();
    t.same(scene.heard, ['large', 'small']);
  },
);

t.test('a later message waits behind the one whose turn it is, even when that is alone', async (t) => {
  const scene = new Scene(t, { subjectMax: 60, totalMax: 100 });
  const [ada, bob, little] = [scene.hold('ada'), scene.hold('bob'), scene.hold('little')];
  ada.grow(60);
  bob.grow(30);
  little.grow(5);
  t.equal(scene.hold('cem').grow(20), 'wait');
  little.release();
  t.same(scene.heard, [], 'it is his turn now, and there is not enough');
  t.equal(scene.hold('dan').grow(5), 'wait');
  bob.release();
  t.same(scene.heard, ['cem', 'dan']);
});

t.test('a subject that holds nothing is not delayed by itself', async (t) => {
  const scene = new Scene(t, { subjectMax: 60, totalMax: 100 });
  const [bob, cem] = [scene.hold('bob'), scene.hold('cem')];
  bob.grow(60);
  cem.grow(30);
  t.equal(scene.hold('ada', 'first').grow(20), 'wait');
  t.equal(scene.hold('ada', 'second').grow(5), 'wait', 'there would be room, but not before the first');
  bob.release();
  t.same(scene.heard, ['first', 'second']);
});

t.test('two subjects that take all they can, and wait for more, leave room for the messages of others', async (t) => {
  const scene = new Scene(t, withReserve({ subjectMax: 500, totalMax: 1_000 }));
  for (const subject of ['ada', 'bob', 'ada', 'bob']) while (scene.hold(subject).grow(50) === 'room');
  for (const subject of ['cem', 'dan', 'eve']) {
    const hold = scene.hold(subject);
    t.equal(hold.grow(5), 'room', `at once, for ${subject}`);
    t.equal(hold.grow(6, 12), 'room', 'and for a little more, if not for all that it wishes');
    t.ok(hold.reservedBytes < 12);
  }
  t.same(scene.heard, []);
});

t.test('a message that only what is reserved would have room for is refused at once', async (t) => {
  const scene = new Scene(t, withReserve({ subjectMax: 95, totalMax: 100 }));
  t.equal(scene.hold('ada').grow(89), 'subjectMax');
  t.equal(scene.hold('ada').grow(88), 'room');
});

t.test('room that comes back in whatever way wakes those who wait for it', async (t) => {
  const scene = new Scene(t, { subjectMax: 60, totalMax: 100 });
  const { answerBytes } = scene.accounts.of('ada');
  answerBytes.take(60);
  t.equal(scene.hold('ada').grow(10), 'wait');
  t.equal(scene.hold('bob').grow(50), 'wait');
  answerBytes.give(20);
  t.same(scene.heard, ['bob', 'ada']);
});

t.test('optional room is taken as far as the share goes', async (t) => {
  const scene = new Scene(t, { subjectMax: 50, totalMax: 100 });
  const hold = scene.hold('ada');
  t.equal(hold.grow(10, 80), 'room');
  t.equal(hold.reservedBytes, 50);
});

t.test('10,000 random steps keep the bounds, lose nothing, and leave nobody waiting without a reason', async (t) => {
  for (const kept of [0, 20]) await checkRandomSteps(t, { subjectMax: 60, totalMax: 100, reserved: kept });
});

async function checkRandomSteps(t: Test, bounds: ShareBounds): Promise<void> {
  const random = new Random(5);
  const scene = new Scene(t, bounds);
  const holds: MessageReservation[] = [];
  const wrong: string[] = [];
  for (let step = 0; step < 10_000; step += 1) {
    const hold = random.chance(0.5) && holds.length > 0 ? random.pick(holds) : undefined;
    if (hold === undefined) {
      const fresh = scene.hold(random.pick(['a', 'b', 'c', 'd']), String(step));
      holds.push(fresh);
      fresh.grow(1 + random.below(60));
    } else {
      hold.release();
      holds.splice(holds.indexOf(hold), 1);
    }
    if (scene.accounts.used('answerBytes') > 100) wrong.push(`${step}: above the total`);
    if (random.chance(0.02)) scene.pass(1_000);
  }
  for (const hold of holds) hold.release();
  t.same(wrong.slice(0, 5), []);
  t.equal(scene.accounts.size, 0);
  t.equal(scene.hold('e').grow(60), 'room');
}
