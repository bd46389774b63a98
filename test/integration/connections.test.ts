// Names and connections in the whole program: a failing name server, name or subject does not affect the others.
import t from 'tap';
import { backendFor, startDeployment } from '../support/deployment.js';
import { EventReader } from '../support/event-reader.js';
import { rpc } from '../support/mcp-caller.js';
import { startNameServer } from '../support/name-server.js';
import { SpeakingBackend } from '../support/speaking-backend.js';
import { until } from '../support/until.js';
import { NAME_LOOK_UP_MS_MAX } from '../../src/http-client/names/names.js';

const nameServer = await startNameServer({
  'silent.test': 'silent',
  'metadata.test': { addresses: ['169.254.169.254'] },
  'good.test': { addresses: ['127.0.0.1'] },
});
t.teardown(() => nameServer.close());
const deployment = await startDeployment(t, {
  workerCount: 1,
  options: [
    ...['--name-servers', nameServer.address],
    ...['--upstream-connections', '8', '--upstream-connections-per-subject', '4'],
    ...['--name-look-ups', '4', '--name-look-ups-per-subject', '2'],
  ],
});

t.test('a name server that is silent about one backend leaves backends with other names alone', async (t) => {
  const good = await backendFor(t);
  const url = good.url.replace('127.0.0.1', 'good.test');
  const others = await deployment.caller({ silent: { url: 'http://silent.test/mcp' } });
  let isSilenceOver = false;
  const openings = Promise.all(
    Array.from({ length: 10 }, async () => {
      const session = await others.openSession();
      return session.list().finally(() => (isSilenceOver = true));
    }),
  );
  await until(() => nameServer.countOf('silent.test') > 0, 'the look-up');
  const session = await (await deployment.caller({ good: { url } })).openSession();
  t.match(rpc(await session.call('good-echo', '{"n":1}')), { result: { structuredContent: { n: 1 } } });
  t.notOk(isSilenceOver, 'while the silent one was waited for');
  await openings;
  t.equal(good.raw.requests[0]?.headers['host'], new URL(url).host);
});

t.test('a backend whose name means a metadata address is not connected to', async (t) => {
  for (const host of ['metadata.test', '169.254.169.254']) {
    const session = await (await deployment.caller({ bad: { url: `http://${host}/mcp` } })).openSession();
    const { error } = rpc(await session.call('bad-echo'));
    t.match(error?.message, /"bad" failed: link-local and cloud metadata addresses are refused/, host);
  }
});

t.test("one subject's hanging calls take its own share of the connections to a backend, and no more", async (t) => {
  const backend = await backendFor(t, {
    onCall: (call) => {
      if (call.name === 'hang') void call.takeOver();
    },
    tools: ['hang', 'echo'],
  });
  const attacker = await (await deployment.caller({ one: { url: backend.url } })).openSession();
  const hanging = Array.from({ length: 40 }, (_, id) => attacker.call('one-hang', '{}', { id: `"h${id}"` }));
  await until(() => backend.calls.length === 4, 'as many calls as the share allows');
  const victim = await deployment.caller({ one: { url: backend.url } });
  const session = await victim.openSession();
  for (let n = 0; n < 20; n += 1) {
    t.match(rpc(await session.call('one-echo', `{"n":${n}}`)), { result: { structuredContent: { n } } });
  }
  t.equal(backend.calls.filter(({ name }) => name === 'hang').length, 4);
  await attacker.delete();
  await Promise.all(hanging);
});

t.test("a session's stream is read even while calls use all connections of the share", async (t) => {
  const [speaking, calls] = [await SpeakingBackend.start(t, { onCall: (call) => void call.takeOver() }), 6];
  const session = await (await deployment.caller({ one: { url: speaking.backend.url } })).openSession();
  const hanging = Array.from({ length: calls }, (_, id) => session.call('one-hang', '{}', { id: `"h${id}"` }));
  await until(() => speaking.backend.calls.length === 4, 'as many calls as the share allows');
  const reader = await EventReader.open(session.caller, {
    ...{ method: 'GET', session: session.id, accept: 'text/event-stream' },
  });
  const stream = await speaking.stream();
  const message = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.0}}';
  await stream.event(message);
  t.equal(await reader.next(), message);
  t.equal(speaking.backend.calls.length, 4, 'the other calls still wait');
  await session.delete();
  await Promise.all(hanging);
});

t.test("one subject's look-ups of silent names take only its own share of the look-ups", async (t) => {
  const hosts = Array.from({ length: 6 }, (_, n) => `silent-${n}.test`);
  for (const host of hosts) nameServer.records[host] = 'silent';
  const backends = Object.fromEntries(hosts.map((host, n) => [`b${n}`, { url: `http://${host}/mcp` }]));
  const asked = (): string[] => hosts.filter((host) => nameServer.countOf(host) > 0);
  const attacker = await deployment.caller(backends);
  const beganMs = performance.now();
  const opening = attacker.openSession();
  await until(() => asked().length === 2, 'the look-ups that the share allows');
  const good = await backendFor(t);
  const url = good.url.replace('127.0.0.1', 'another-good.test');
  nameServer.records['another-good.test'] = { addresses: ['127.0.0.1'] };
  const session = await (await deployment.caller({ good: { url } })).openSession();
  t.match(rpc(await session.call('good-echo', '{"n":1}')), { result: { structuredContent: { n: 1 } } });
  t.ok(asked().length === 2 || performance.now() - beganMs >= NAME_LOOK_UP_MS_MAX, `${asked().length} at once`);
  await opening;
});
