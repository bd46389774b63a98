// What a session keeps of its subscriptions, and for how long; that they reach backends is in test/spec/streams.rows.ts.
import t from 'tap';
import { Subscriptions } from '../../src/relay/subscriptions.js';
import { limits } from '../../src/shared/limits.js';
import { RelayScene } from './relay-scene.js';
import { REQUEST_ID } from './upstream/scripted-upstream.js';
import { virtualHostOf } from './virtual-host.js';

class Memory {
  heldBytes = 0;
  readonly bytesMax: number;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  keep(bytes: number): void {
    this.heldBytes += bytes;
  }

  drop(bytes: number): void {
    this.heldBytes -= bytes;
  }

  hasRoomFor(bytes: number): boolean {
    return this.heldBytes + bytes <= this.bytesMax;
  }
}

t.test('there is a bound for their number and one for their bytes', async (t) => {
  const many = new Subscriptions(new Memory(Infinity));
  for (let number = 0; number < limits.subscriptionsMax; number += 1) many.add('b', `a:${number}`);
  t.notOk(many.hasRoomFor('a:b'));
  const memory = new Memory(10_000);
  const few = new Subscriptions(memory);
  t.notOk(few.hasRoomFor('x'.repeat(5_000)));
  few.add('b', 'x'.repeat(5_000));
  t.equal(memory.heldBytes, 0, 'what has no room is not kept');
  t.ok(few.hasRoomFor('x'.repeat(1_000)));
});

t.test('those of a backend that has gone weigh nothing', async (t) => {
  const memory = new Memory(10_000);
  const subscriptions = new Subscriptions(memory);
  for (const uri of ['a:b', 'a:c']) subscriptions.add('one', uri);
  subscriptions.add('two', 'a:b');
  const three = memory.heldBytes;
  subscriptions.forget('one');
  t.equal(memory.heldBytes, three / 3);
  subscriptions.delete('two', 'a:b');
  t.equal(memory.heldBytes, 0);
});

t.test('one is one, however often it is made, and none when it has ended', async (t) => {
  const memory = new Memory(Infinity);
  const subscriptions = new Subscriptions(memory);
  subscriptions.add('b', 'a:b');
  const { heldBytes } = memory;
  subscriptions.add('b', 'a:b');
  subscriptions.delete('b', 'a:c');
  subscriptions.delete('c', 'a:b');
  t.equal(memory.heldBytes, heldBytes);
  for (let number = 1; number < limits.subscriptionsMax; number += 1) subscriptions.add('b', `a:${number}`);
  t.notOk(subscriptions.hasRoomFor('x'));
  subscriptions.delete('b', 'a:b');
  t.ok(subscriptions.hasRoomFor('x'));
  subscriptions.delete('b', 'a:b');
  subscriptions.add('b', 'a:b');
  t.notOk(subscriptions.hasRoomFor('x'), 'and not twice');
});

/** What a backend answers to `initialize`. */
function introduction(resources: object): string {
  const result = { protocolVersion: '2025-11-25', capabilities: { tools: {}, resources } };
  return JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result });
}

const DONE = JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result: {} });

t.test('a backend that has lost its session is told again, if it still takes subscriptions', async (t) => {
  for (const [resources, expected] of [
    [{ subscribe: true }, ['x:1', 'x:3']],
    [{}, []],
  ] as const) {
    const scene = new RelayScene(t, virtualHostOf({ b: {}, c: {} })).open({}, introduction({ subscribe: true }));
    const { http } = scene;
    for (const [method, uri] of [
      ['resources/subscribe', 'b+x:1'],
      ['resources/subscribe', 'b+x:2'],
      ['resources/subscribe', 'c+x:4'],
      ['resources/unsubscribe', 'b+x:2'],
      ['resources/subscribe', 'b+x:3'],
    ] as const) {
      const exchange = scene.post(method, { uri }, 7);
      http.last.json(DONE.replace(`"${REQUEST_ID}"`, '7'));
      t.match(exchange.answer?.body.toString(), /"result":{}/, `${method} ${uri}`);
    }
    const { length } = http.calls;
    scene.post('tools/call', { name: 'b-x' }, 8);
    http.last.empty(404);
    http.last.json(introduction(resources), 'second');
    http.last.empty();
    const texts = http.calls.slice(length).map(({ text }) => text);
    const told = texts.filter((text) => text.includes('resources/subscribe'));
    t.same(
      told.map((text) => (JSON.parse(text) as { params: { uri: string } }).params.uri),
      expected,
    );
  }
});
