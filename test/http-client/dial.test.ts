// How a host becomes a socket: names over a real name server, addresses in turn, and addresses that are never connected to.
// Sockets that neither connect nor fail are simulated: no address of this machine behaves like that.
import { plainRequest } from '../../src/http-client/http-upstream.js';
import { connect, Socket } from 'node:net';
import t, { type Test } from 'tap';
import { connectionBounds } from '../../src/http-client/connection-bounds.js';
import { Names, NAME_KEPT_MS_MIN, NAME_STALE_AFTER_MS } from '../../src/http-client/names/names.js';
import { Dial, NEXT_ADDRESS_MS } from '../../src/http-client/dial.js';
import { Http1Upstream } from '../../src/http-client/http1-upstream.js';
import { hasten } from '../support/hasten.js';
import { startNameServer, type NameRecord, type NameServer } from '../support/name-server.js';
import { startRawBackend, type RawBackend } from '../support/raw-backend.js';
import { REFUSED_HOSTS, REFUSED_NAMES } from '../support/refused-hosts.js';
import { until } from '../support/until.js';

interface Scene {
  readonly nameServer: NameServer;
  readonly names: Names;
  readonly upstream: Http1Upstream;
  readonly backend: RawBackend;
  /** Lets time pass for what is known of names. */
  pass(ms: number): void;
  /** The backend's origin, but with this host. */
  originAt(host: string): string;
  /** The response's status, or the kind of the fault. */
  outcomeOf(origin: string, subject?: string): Promise<number | string>;
}

async function start(
  t: Test,
  records: Record<string, NameRecord>,
  connectTimeoutMs = 10_000,
  allowedNetworks?: readonly string[],
): Promise<Scene> {
  const backend = await startRawBackend((request) => request.json('{}'));
  const nameServer = await startNameServer(records);
  let passedMs = 0;
  const nowMs = (): number => performance.now() + passedMs;
  const names = new Names({ nameServers: [nameServer.address], allowedNetworks, nowMs });
  const upstream = new Http1Upstream({ connectTimeoutMs, names });
  t.teardown(async () => {
    await upstream.close();
    names.close();
    nameServer.close();
    await backend.close();
  });
  return {
    nameServer,
    names,
    upstream,
    backend,
    pass: (ms) => (passedMs += ms),
    originAt: (host) => backend.origin.replace('127.0.0.1', host),
    outcomeOf: (origin, subject = 'alice') =>
      new Promise((resolve) => {
        const target = { origin, path: '/mcp' };
        const request = plainRequest(subject, target, 'DELETE', []);
        upstream.dispatch(request, {
          onHead: resolve,
          onData: () => {},
          onEnd: () => {},
          onFault: ({ kind }) => resolve(kind),
        });
      }),
  };
}

t.test('a backend whose name server is silent blocks no other backend', async (t) => {
  const scene = await start(t, {
    'silent.test': 'server-failure',
    ...Object.fromEntries(Array.from({ length: 5 }, (_, index) => [`b${index}.test`, { addresses: ['127.0.0.1'] }])),
  });
  // It is silent for as long as the test says.
  scene.nameServer.isHeld = ({ name }) => name === 'silent.test';
  const kinds: (number | string)[] = [];
  const silent = Promise.all(
    Array.from({ length: 50 }, async () => kinds.push(await scene.outcomeOf(scene.originAt('silent.test'), 'mallory'))),
  );
  for (let index = 0; index < 5; index += 1) {
    t.equal(await scene.outcomeOf(scene.originAt(`b${index}.test`)), 200);
  }
  t.same(kinds, [], 'while the other name was still waited for');
  scene.nameServer.isHeld = () => false;
  scene.nameServer.release(() => true);
  await silent;
  t.same(new Set(kinds), new Set(['name-not-resolved']));
});

t.test('a look-up ends when the time for connecting is over', async (t) => {
  const scene = await start(t, { 'silent.test': 'silent' }, 50);
  t.equal(await scene.outcomeOf(scene.originAt('silent.test')), 'name-not-resolved');
  t.equal(scene.names.knownOutcome('silent.test'), undefined, 'though the name server is still waited for');
});

t.test('a look-up that timed out in the queue says nothing about the host', async (t) => {
  const nameServer = await startNameServer({ 'silent.test': 'silent', 'good.test': { addresses: ['127.0.0.1'] } });
  const names = new Names({ nameServers: [nameServer.address], lookUpsPerSubjectMax: 1 });
  const upstream = new Http1Upstream({ connectTimeoutMs: 50, names });
  t.teardown(async () => {
    await upstream.close();
    nameServer.close();
  });
  const kindOf = (host: string): Promise<string> =>
    new Promise((resolve) => {
      const target = { origin: `http://${host}`, path: '/mcp' };
      const request = plainRequest('mallory', target, 'GET', []);
      const onFault = ({ kind }: { kind: string }): void => resolve(kind);
      upstream.dispatch(request, { onHead: () => {}, onData: () => {}, onEnd: () => resolve('end'), onFault });
    });
  t.same(await Promise.all([kindOf('silent.test'), kindOf('good.test')]), ['name-not-resolved', 'connections-used']);
});

t.test('addresses are checked before they are connected to, however they are written', async (t) => {
  const scene = await start(t, { ...REFUSED_NAMES, 'honest.test': { addresses: ['127.0.0.1'] } });
  const refused = [
    ...REFUSED_HOSTS.map((host) => new URL(`http://${host}`).origin),
    ...['https://[fe80::1]:8443', 'http://[::ffff:169.254.1.1]', 'http://0.0.0.0:1', 'http://0xa9fea9fe'],
    ...Object.keys(REFUSED_NAMES).map((name) => scene.originAt(name)),
    scene.originAt('two-faced.test').replace('http:', 'https:'),
  ];
  for (const origin of refused) t.equal(await scene.outcomeOf(origin), 'address-refused', origin);
  t.equal(scene.backend.connections, 0);
  t.equal(await scene.outcomeOf(scene.originAt('honest.test')), 200);
  t.equal(await scene.outcomeOf(scene.originAt('localhost')), 200);
});

t.test(
  'where networks are configured, only these are connected to, and what is always refused stays refused',
  async (t) => {
    const records = {
      'inside.test': { addresses: ['127.0.0.1'] },
      'outside.test': { addresses: ['127.0.1.1'] },
      'two-faced.test': { addresses: ['127.0.0.1', '192.0.2.7'] },
      'metadata.test': { addresses: ['169.254.169.254'] },
    };
    const scene = await start(t, records, 10_000, ['127.0.0.0/24', '169.254.0.0/16', '2001:db8::/32']);
    t.equal(await scene.outcomeOf(scene.originAt('inside.test')), 200);
    t.equal(await scene.outcomeOf(scene.backend.origin), 200);
    const outside = ['outside.test', 'two-faced.test', '127.0.1.1', '[::1]', '0x7f000101'];
    for (const host of outside) t.equal(await scene.outcomeOf(scene.originAt(host)), 'address-not-allowed', host);
    for (const host of ['metadata.test', '169.254.169.254']) {
      t.equal(await scene.outcomeOf(scene.originAt(host)), 'address-refused', host);
    }
  },
);

t.test('a connected socket is handed over without listeners of the dial', async (t) => {
  const { names, backend } = await start(t, {});
  const plan = {
    ...{ host: '127.0.0.1', subject: 'alice', isTls: false },
    open: (host: string) => connect({ host, port: Number(new URL(backend.origin).port) }),
  };
  const socket = await new Promise<Socket>(
    (resolve, reject) => new Dial(names, plan, { onSocket: resolve, onFault: reject }),
  );
  t.teardown(() => socket.destroy());
  for (const event of ['connect', 'error']) t.equal(socket.listenerCount(event), 0, event);
});

t.test('a name that newly resolves to a refused address is refused at its next connection', async (t) => {
  const scene = await start(t, { 'rebound.test': { addresses: ['127.0.0.1'], ttl: 0 } });
  const origin = scene.originAt('rebound.test');
  t.equal(await scene.outcomeOf(origin), 200);
  scene.nameServer.records['rebound.test'] = { addresses: ['169.254.169.254'], ttl: 0 };
  scene.pass(NAME_KEPT_MS_MIN);
  await until(async () => {
    scene.backend.closeConnections();
    return (await scene.outcomeOf(origin)) === 'address-refused';
  }, 'the next connection after the name was looked up again');
});

t.test('a kept connection is given up when its host moves, though it is never idle for long', async (t) => {
  t.teardown(hasten(connectionBounds.upstreamSweepMs, 10));
  const scene = await start(t, { 'moving.test': { addresses: ['127.0.0.1'], ttl: 0 } });
  const origin = scene.originAt('moving.test');
  t.equal(await scene.outcomeOf(origin), 200);
  scene.nameServer.records['moving.test'] = { addresses: ['127.0.0.2'], ttl: 0 };
  scene.pass(NAME_KEPT_MS_MIN);
  // Nothing listens at the new address.
  await until(async () => (await scene.outcomeOf(origin)) === 'connection-refused', 'a connection to the new address');
  t.equal(scene.backend.connections, 1, 'the old one served until then');
  await until(() => scene.backend.openConnections === 0, 'its end');
});

t.test('while the name server is silent, kept connections and known addresses serve', async (t) => {
  t.teardown(hasten(NAME_STALE_AFTER_MS, 10));
  const scene = await start(t, { 'known.test': { addresses: ['127.0.0.1'], ttl: 0 } });
  const origin = scene.originAt('known.test');
  t.equal(await scene.outcomeOf(origin), 200);
  scene.nameServer.isSilent = true;
  scene.nameServer.records['known.test'] = 'silent';
  scene.pass(NAME_KEPT_MS_MIN);
  await until(() => scene.names.knownOutcome('known.test') === undefined, 'the end of what the records say');
  scene.backend.closeConnections();
  t.equal(await scene.outcomeOf(origin), 200);
});

/** Sockets of a dial, by address: they connect or fail when the test says so. */
class Sockets {
  readonly opened: string[] = [];
  readonly openedAtMs: number[] = [];
  readonly #sockets = new Map<string, Socket>();

  open(address: string): Socket {
    const socket = new Socket();
    this.opened.push(address);
    this.openedAtMs.push(performance.now());
    this.#sockets.set(address, socket);
    return socket;
  }

  socket(address: string): Socket {
    return this.#sockets.get(address)!;
  }

  fail(address: string, code: string): void {
    this.socket(address).destroy(Object.assign(new Error(code), { code, syscall: 'connect' }));
  }
}

interface DialScene {
  readonly sockets: Sockets;
  readonly dial: Dial;
  readonly outcomes: string[];
}

/** A dial of a name with these addresses; the dial chooses their order. */
async function dialTo(t: Test, addresses: readonly string[]): Promise<DialScene> {
  const nameServer = await startNameServer({ 'several.test': { addresses } });
  const names = new Names({ nameServers: [nameServer.address] });
  t.teardown(() => {
    dial.abandon();
    names.close();
    nameServer.close();
  });
  const sockets = new Sockets();
  const outcomes: string[] = [];
  const dial = new Dial(
    names,
    { host: 'several.test', subject: 'alice', isTls: false, open: (address) => sockets.open(address) },
    {
      onSocket: (_socket, address) => outcomes.push(address),
      onFault: (kind) => outcomes.push(kind),
    },
  );
  await until(() => sockets.opened.length > 0, 'the first attempt');
  return { sockets, dial, outcomes };
}

const ADDRESSES = ['192.0.2.1', '192.0.2.2', '2001:db8::1'];

t.test('a slow address has the next one tried beside it, and the first that connects is taken', async (t) => {
  const insteadMs = 20;
  t.teardown(hasten(NEXT_ADDRESS_MS, insteadMs));
  const { sockets, outcomes } = await dialTo(t, ADDRESSES);
  t.equal(sockets.opened[0], '2001:db8::1', 'IPv6 first');
  await until(() => sockets.opened.length > 1, 'the second attempt');
  const [firstAtMs = 0, secondAtMs = 0] = sockets.openedAtMs;
  t.ok(secondAtMs - firstAtMs > insteadMs / 2, 'not at once');
  t.equal(sockets.socket('2001:db8::1').destroyed, false, 'the first goes on');
  sockets.socket('2001:db8::1').emit('connect');
  t.same(outcomes, ['2001:db8::1']);
  t.equal(sockets.socket('2001:db8::1').destroyed, false);
  t.equal(sockets.socket(sockets.opened[1]!).destroyed, true, 'the other is closed');
  sockets.socket(sockets.opened[1]!).emit('connect');
  t.same(outcomes, ['2001:db8::1']);
});

t.test('after a failed address the next is tried at once, and the last failure ends the dial', async (t) => {
  const { sockets, outcomes } = await dialTo(t, ADDRESSES);
  sockets.fail('2001:db8::1', 'ENETUNREACH');
  // On a busy machine further attempts may have begun already, because the first was slow.
  await until(() => sockets.opened.length > 1, 'the second attempt');
  sockets.fail(sockets.opened[1]!, 'ECONNREFUSED');
  await until(() => sockets.opened.length > 2, 'the third attempt');
  t.same(outcomes, []);
  sockets.fail(sockets.opened[2]!, 'EHOSTUNREACH');
  await until(() => outcomes.length > 0, 'the fault');
  t.same(outcomes, ['connection-refused'], 'who was reached says more');
  t.equal(new Set(sockets.opened).size, 3, 'each was tried once');
});

t.test('a late failure of an earlier address does not end the dial', async (t) => {
  t.teardown(hasten(NEXT_ADDRESS_MS, 1));
  const { sockets, outcomes } = await dialTo(t, ['192.0.2.1', '2001:db8::1']);
  await until(() => sockets.opened.length === 2, 'the second attempt');
  sockets.fail('2001:db8::1', 'ETIMEDOUT');
  await new Promise(setImmediate);
  t.same(outcomes, []);
  sockets.socket('192.0.2.1').emit('connect');
  t.same(outcomes, ['192.0.2.1']);
});

t.test('an abandoned dial closes its sockets, and reports nothing', async (t) => {
  t.teardown(hasten(NEXT_ADDRESS_MS, 20));
  const { sockets, dial, outcomes } = await dialTo(t, ADDRESSES);
  await until(() => sockets.opened.length >= 2, 'the second attempt');
  dial.abandon();
  dial.abandon();
  for (const address of sockets.opened) {
    t.equal(sockets.socket(address).destroyed, true);
    sockets.socket(address).emit('error', new Error('late'));
    sockets.socket(address).emit('connect');
  }
  t.same(outcomes, []);
});
