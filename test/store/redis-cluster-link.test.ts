// A link to the nodes of a cluster, each of which replies as the test says.
import t, { type Test } from 'tap';
import type { Redis } from 'ioredis';
import { RedisClusterLink } from '../../src/store/redis-cluster-link.js';
import { redisSlotOf, SLOT_COUNT } from '../../src/store/redis-location.js';
import { FakeRedis, slotsIn } from '../support/fake-redis.js';
import { until } from '../support/until.js';

const KEY = Buffer.from('alice');
const SLOT = redisSlotOf(KEY);

interface Node {
  readonly redis: FakeRedis;
  readonly host: string;
  readonly port: number;
}

interface Scene {
  readonly link: RedisClusterLink;
  /** The first has the slots from 0 up to `SLOT`, the second the others. */
  readonly nodes: readonly [Node, Node];
  readonly events: string[];
  /** The value of `KEY`, or why there is none. */
  readonly get: () => Promise<string>;
}

/** @param first the first slot of the second node. */
async function scene(t: Test, first = SLOT + 1): Promise<Scene> {
  const startNode = async (): Promise<Node> => {
    const redis = new FakeRedis();
    const { location } = await redis.start(t);
    return { redis, ...(location as { readonly host: string; readonly port: number }) };
  };
  const [one, other] = [await startNode(), await startNode()];
  one.redis.slotsReply = slotsIn([0, SLOT, one.host, one.port], [first, SLOT_COUNT - 1, other.host, other.port]);
  const events: string[] = [];
  const handlers = {
    onLive: () => events.push('live'),
    onChanged: (keys: readonly Buffer[]) => events.push(`changed: ${keys.join(' ')}`),
    onFlushed: () => events.push('flushed'),
    onPublished: (message: string) => events.push(`published: ${message}`),
    onSubscriptionRefused: (reason: string) => events.push(`refused: ${reason}`),
    onLost: (reason: string) => events.push(`lost: ${reason}`),
  };
  const options = {
    ...({
      kind: 'redis',
      username: undefined,
      password: undefined,
      tls: { mode: 'plain-text' },
      staleGraceMs: 0,
    } as const),
    location: { nodes: [{ host: one.host, port: one.port }] },
  };
  const link = new RedisClusterLink(options, handlers, { includesOwnChanges: true });
  t.teardown(() => link.end());
  await link.open();
  const read = async (data: Redis): Promise<string | null> => data.get(KEY);
  const get = async (): Promise<string> => String(await link.run(KEY, read).catch((error: Error) => error.message));
  return { link, nodes: [one, other], events, get };
}

const valueOf = (text: string): Buffer => Buffer.from(`$${text.length}\r\n${text}\r\n`);
const redirection = (kind: 'MOVED' | 'ASK', host: string, port: number): Buffer =>
  Buffer.from(`-${kind} ${SLOT} ${host}:${port}\r\n`);

t.test('what changes at any node, and what is published there, is told', async (t) => {
  const { nodes, events } = await scene(t);
  t.same(events, ['live']);
  for (const [told, reply] of [
    ['flushed', '*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n*-1\r\n'],
    ['changed: alice', '*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n*1\r\n$5\r\nalice\r\n'],
    ['published: news', '*3\r\n$7\r\nmessage\r\n$3\r\nown\r\n$4\r\nnews\r\n'],
  ] as const)
    for (const { redis } of nodes) {
      events.length = 0;
      redis.say('changes', reply);
      await until(() => events.length > 0, told);
      t.same(events, [told]);
    }
});

t.test('the loss of one node is that of the cluster, which is told once, by the name of the node', async (t) => {
  const { link, nodes, events } = await scene(t);
  const [one, other] = nodes;
  t.equal(link.masters.length, 2);
  other.redis.endAll();
  await until(() => events.length > 1, 'the loss');
  await until(() => one.redis.connectionCount === 0, 'the end of the connections to the other node');
  t.same(events, ['live', `lost: 127.0.0.1:${other.port}: Redis closed the connection`]);
  await t.rejects(link.run(KEY, async (data) => data.get(KEY)));
  t.equal(events.length, 2);
});

t.test('a link that its owner ends has no connection left, and says nothing of it', async (t) => {
  const { link, nodes, events } = await scene(t);
  link.end();
  for (const { redis } of nodes) await until(() => redis.connectionCount === 0, 'the end of the connections');
  t.same(events, ['live']);
});

t.test('a cluster in which a slot is at no node is not used', async (t) => {
  const { events } = await scene(t, SLOT + 2);
  t.same(events, ['lost: some slots of the cluster are assigned to no node']);
});

t.test('a cluster that is down is lost', async (t) => {
  const { nodes, events, get } = await scene(t);
  nodes[0].redis.reply = Buffer.from('-CLUSTERDOWN The cluster is down\r\n');
  t.equal(await get(), 'CLUSTERDOWN The cluster is down');
  t.same(events, ['live', 'lost: CLUSTERDOWN The cluster is down']);
});

t.test('where a slot has moved to is remembered, and where it is just being moved to is not', async (t) => {
  for (const [kind, gets] of [
    ['MOVED', [1, 2]],
    ['ASK', [2, 2]],
  ] as const) {
    const { nodes, events, get } = await scene(t);
    const [one, other] = nodes;
    one.redis.reply = redirection(kind, other.host, other.port);
    other.redis.reply = valueOf('here');
    for (let time = 1; time <= 2; time++) t.equal(await get(), 'here', kind);
    t.same([one.redis.gets, other.redis.gets], gets, kind);
    t.equal(other.redis.askings, kind === 'ASK' ? 2 : 0, 'a node that is just getting a slot wants to hear ASKING');
    t.same(events, ['live']);
  }
});

t.test('a redirection without a host means the one that sent it', async (t) => {
  const { nodes, get } = await scene(t);
  nodes[0].redis.reply = redirection('MOVED', '', nodes[1].port);
  nodes[1].redis.reply = valueOf('here');
  t.equal(await get(), 'here');
});

t.test('a key that is sent from node to node is looked for three times, and the link stays', async (t) => {
  const { nodes, events, get } = await scene(t);
  const [one, other] = nodes;
  one.redis.reply = redirection('ASK', other.host, other.port);
  other.redis.reply = redirection('MOVED', one.host, one.port);
  t.match(await get(), /^ASK /);
  t.same([one.redis.gets, other.redis.gets], [2, 1]);
  t.same(events, ['live']);
});

t.test('a redirection to a node that is not known ends the link, so that the next one finds it', async (t) => {
  const { nodes, events, get } = await scene(t);
  nodes[0].redis.reply = redirection('MOVED', 'new.example', 1);
  t.equal(await get(), 'the slots of the cluster are elsewhere now');
  t.same(events, ['live', 'lost: the slots of the cluster are elsewhere now']);
});

t.test('any other refusal is that of the command alone', async (t) => {
  const { nodes, events, get } = await scene(t);
  nodes[0].redis.reply = Buffer.from('-NOPERM no\r\n');
  t.equal(await get(), 'NOPERM no');
  t.equal(nodes[0].redis.gets, 1);
  t.same(events, ['live']);
});
