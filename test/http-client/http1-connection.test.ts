// When a connection is reused, and when a request is sent again: never a request that may have been executed, and never on a
// connection whose next response could belong to another request.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import type { TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import { plainRequest, type UpstreamCall, type UpstreamHandler } from '../../src/http-client/http-upstream.js';
import { Names } from '../../src/http-client/names/names.js';
import { Http1Upstream } from '../../src/http-client/http1-upstream.js';
import type { UpstreamFault } from '../../src/http-client/upstream-fault.js';
import { createCertificates, type Certificates } from '../support/certificates.js';
import { inParallel } from '../support/in-parallel.js';
import { startRawBackend, type RawBackend, type RawBackendOptions, type RawHandler } from '../support/raw-backend.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';
import { UPSTREAM_CLOSED_IN_ROW_MAX } from '../../src/http-client/origin-pool.js';
import { connectionBounds } from '../../src/http-client/connection-bounds.js';

const MIB = 1024 * 1024;
/** More than the kernel accepts at once. */
const LARGE = Buffer.alloc(16 * MIB, 'x');
const LOST = { kind: 'connection-lost', isUnsent: false };

class Listener implements UpstreamHandler {
  call!: UpstreamCall;
  status = 0;
  text = '';
  fault: UpstreamFault | undefined;
  isOver = false;
  whenHead = (): void => {};
  whenEnd = (): void => {};

  onHead(status: number): void {
    this.status = status;
    this.whenHead();
  }

  onData(chunk: Buffer): void {
    this.text += chunk.toString();
  }

  onEnd(): void {
    this.isOver = true;
    this.whenEnd();
  }

  onFault(fault: UpstreamFault): void {
    this.fault = fault;
    this.isOver = true;
  }

  async over(): Promise<this> {
    await until(() => this.isOver, 'the end of a call');
    return this;
  }
}

interface Scene {
  readonly upstream: Http1Upstream;
  readonly backend: RawBackend;
  readonly send: (body?: Buffer) => Listener;
}

async function start(t: Test, handler: RawHandler, options: RawBackendOptions = {}): Promise<Scene> {
  const backend = await startRawBackend(handler, options);
  const upstream = new Http1Upstream({ connectTimeoutMs: 10_000, names: new Names() });
  t.teardown(async () => {
    await upstream.close();
    await backend.close();
  });
  const target = { origin: backend.origin, path: '/mcp' };
  const send = (body: Buffer = Buffer.from('{}')): Listener => {
    const listener = new Listener();
    listener.call = upstream.dispatch(plainRequest('alice', target, 'POST', [], body), listener);
    return listener;
  };
  return { upstream, backend, send };
}

t.test('a connection with bytes left over behind its answer is not used again', async (t) => {
  const { backend, send } = await start(t, (request) => {
    const answer = (text: string): string => `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
    request.bytes(answer('"mine"') + (request.sequenceNumber === 0 ? answer('"foreign"') : ''));
  });
  t.equal((await send().over()).text, '"mine"');
  t.equal((await send().over()).text, '"mine"');
  t.equal(backend.connections, 2);
});

t.test('a connection that is still sending when its answer is complete is not used again', async (t) => {
  const { backend, send } = await start(
    t,
    (request) => {
      if (request.sequenceNumber === 0) request.connection.pause();
      request.json('{}');
    },
    { readsBodies: false },
  );
  const early = await send(LARGE).over();
  t.match(early, { status: 200, fault: undefined });
  t.equal(early.call.isSent, false);
  t.equal((await send().over()).status, 200);
  t.equal(backend.connections, 2);
});

t.test('a call that is given up before it is written leaves its connection to the next call', async (t) => {
  const { backend, send } = await start(t, (request) => request.json('{}'));
  await send().over();
  const { call } = send();
  call.pause();
  call.abort();
  t.equal((await send().over()).status, 200);
  t.equal(backend.connections, 1);
});

t.test('a call that is paused only until it is written is answered', async (t) => {
  const { send } = await start(t, (request) => request.json('{}'));
  for (const connection of ['new', 'kept']) {
    const listener = send();
    listener.call.pause();
    listener.call.resume();
    t.equal((await listener.over()).status, 200, connection);
  }
});

/** Answers every request but the first of a connection, which `then` handles. */
function second(then: RawHandler): RawHandler {
  return async (request) => {
    if (request.sequenceNumber === 1) await then(request);
    else request.json('{}');
  };
}

t.test('a request that a kept connection took only a part of is sent once more, whole, on a new one', async (t) => {
  for (const isPaused of [false, true]) {
    const { backend, send } = await start(
      t,
      second((request) => {
        request.connection.pause();
        setImmediate(() => request.reset());
      }),
      { readsBodies: false },
    );
    await send().over();
    const listener = send(LARGE);
    // The caller is slow, so that a write notices the end of the connection.
    if (isPaused) listener.call.pause();
    await backend.request(2);
    listener.call.resume();
    t.match(await listener.over(), { status: 200, fault: undefined }, isPaused ? 'paused' : 'reading');
    t.equal(backend.requests.length, 3);
    t.equal(backend.requests[2]!.connectionNumber, 2);
    t.equal(backend.requests[2]!.headers['content-length'], String(LARGE.length));
  }
});

t.test('a request on a new connection that breaks is answered with that fault', async (t) => {
  const { backend, send } = await start(
    t,
    (request) => {
      request.connection.pause();
      setImmediate(() => request.reset());
    },
    { readsBodies: false },
  );
  t.same((await send(LARGE).over()).fault, LOST);
  t.equal(backend.requests.length, 1);
});

t.test('a request whose answer has begun is never sent again, however its connection breaks', async (t) => {
  for (const isPaused of [true, false]) {
    const heads: Listener[] = [];
    const { backend, send } = await start(
      t,
      second(async (request) => {
        request.connection.pause();
        request.bytes('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{"');
        await until(() => heads.length > 0, 'the head at the caller');
        request.reset();
      }),
      { readsBodies: false },
    );
    await send().over();
    const listener = send(LARGE);
    // With a slow caller, the end of the connection is noticed by a write.
    listener.whenHead = () => {
      heads.push(listener);
      if (isPaused) listener.call.pause();
    };
    t.same((await listener.over()).fault, LOST, isPaused ? 'paused' : 'reading');
    t.equal(backend.requests.length, 2);
    t.equal(backend.connections, 1);
  }
});

t.test('a request that was written whole is never sent again', async (t) => {
  for (const end of ['destroy', 'reset'] as const) {
    const { backend, send } = await start(
      t,
      second((request) => request[end]()),
    );
    await send().over();
    t.same((await send().over()).fault, LOST, end);
    t.equal(backend.requests.length, 2);
  }
});

t.test('a call right after an answer meets no connection that is about to close', async (t) => {
  for (let round = 0; round < 20; round += 1) {
    const { backend, send } = await start(t, (request) => {
      request.json('{}');
      request.destroy();
    });
    const first = send();
    let next: Listener | undefined;
    first.whenEnd = () => (next = send());
    await first.over();
    t.match(await next!.over(), { status: 200, fault: undefined });
    t.equal(backend.requests.length, 2);
  }
});

/** Sweeps run when the test calls them: on a busy machine two of them may pass during a single call. */
function sweepsInHand(t: Test): () => void {
  const sweeps: (() => void)[] = [];
  const startInterval = globalThis.setInterval;
  const value = (onTick: () => void, delayMs: number): NodeJS.Timeout => {
    if (delayMs !== connectionBounds.upstreamSweepMs) return startInterval(onTick, delayMs);
    sweeps.push(onTick);
    return startInterval(() => {}, delayMs);
  };
  t.intercept(globalThis, 'setInterval', { value });
  return () => sweeps.forEach((sweep) => sweep());
}

/** Answers the first request of each connection, and closes the connection during the next one. */
function closingAfterFirst(): RawHandler {
  const used = new Set<number>();
  return (request) => {
    if (used.has(request.connectionNumber)) return request.destroy();
    used.add(request.connectionNumber);
    request.json('{}');
  };
}

t.test('a backend that closes after each answer loses two calls, until that is known, and then none', async (t) => {
  const sweep = sweepsInHand(t);
  const { backend, send } = await start(t, closingAfterFirst());
  const faults: (UpstreamFault | undefined)[] = [];
  for (let call = 0; call < 100; call += 1) faults.push((await send().over()).fault);
  t.same(faults, [undefined, LOST, undefined, LOST, ...Array<undefined>(96).fill(undefined)]);
  t.equal(backend.connections, 98, 'each that was answered had a connection of its own');

  backend.handler = (request) => request.json('{}');
  const perCall = async (): Promise<number> => {
    const before = backend.connections;
    for (let call = 0; call < 3; call += 1) t.equal((await send().over()).fault, undefined);
    return backend.connections - before;
  };
  t.equal(await perCall(), 3);
  sweep();
  t.equal(await perCall(), 3, 'a connection that lasts from one sweep to the next may still be closed');
  sweep();
  t.equal(await perCall(), 0, 'one that lasts longer is kept: the backend is trusted again');
});

t.test('a backend that closes after each answer is recognized for all who call it at once', async (t) => {
  const LANES = 8;
  sweepsInHand(t);
  const { backend, send } = await start(t, closingAfterFirst());
  const lost: number[] = [];
  await inParallel([...Array(200).keys()], LANES, async (index) => {
    if ((await send().over()).fault !== undefined) lost.push(index);
  });
  // All losses before the one that makes it known may be in one lane; the last may come together with one in every lane.
  const lostMax = LANES + UPSTREAM_CLOSED_IN_ROW_MAX - 1;
  t.ok(lost.length >= UPSTREAM_CLOSED_IN_ROW_MAX && lost.length <= lostMax, `${lost.length} calls were lost`);
  t.ok(Math.max(...lost) < 3 * LANES, `among the first: ${lost.join()}`);
  t.equal(backend.connections, 200 - lost.length, 'each that was answered had a connection of its own');
});

t.test(
  'a call right after an answer whose connection closes at once is not lost, nor are those that follow',
  async (t) => {
    const { backend, send } = await start(t, (request) => {
      request.json('{}');
      request.destroy();
    });
    for (let call = 0; call < 100; call += 1) t.equal((await send().over()).fault, undefined);
    t.equal(backend.connections, 100);
  },
);

t.test('a connection is kept for as long as the backend announces', async (t) => {
  // Only the look at what is idle runs on an interval.
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const announcing = await start(t, (request) => request.json('{}', { headers: { 'keep-alive': 'timeout=60' } }));
  const silent = await start(t, (request) => request.json('{}'));
  await announcing.send().over();
  await silent.send().over();
  mock.timers.tick(connectionBounds.upstreamConnectionIdleMs + connectionBounds.upstreamSweepMs);
  await until(() => silent.backend.openConnections === 0, 'the end of the connection of which nothing was said');
  t.equal(announcing.backend.openConnections, 1);
  await announcing.send().over();
  t.equal(announcing.backend.connections, 1);
});

async function startTls(t: Test, { server }: Certificates, handler: RawHandler): Promise<RawBackend> {
  const tls = { key: server.privateKey, cert: server.certificate };
  const backend = await startRawBackend(handler, { tls });
  t.teardown(() => backend.close());
  return backend;
}

/** Calls these origins, one after the other, from a process that trusts the authorities; returns the outcome of each. */
async function callAll(
  t: Test,
  certificates: readonly Certificates[],
  origins: readonly string[],
): Promise<readonly (number | string)[]> {
  const moduleUrl = new URL('../../src/http-client/index.js', import.meta.url).href;
  const directory = createScratchDirectory(t);
  const authoritiesPath = join(directory, 'authorities.pem');
  writeFileSync(authoritiesPath, certificates.map(({ authority }) => authority.certificate).join('\n'));
  const path = join(directory, 'caller.mjs');
  writeFileSync(
    path,
    `const [, , moduleUrl, ...origins] = process.argv;
    const { Http1Upstream, Names } = await import(moduleUrl);
    const upstream = new Http1Upstream({ connectTimeoutMs: 10_000, names: new Names() });
    const outcomes = [];
    for (const origin of origins) {
      const target = { origin, path: '/mcp' };
      const request = { subject: 'alice', target, method: 'POST', headers: [], body: Buffer.from('{}') };
      outcomes.push(await new Promise((resolve) => {
        let status = 0;
        upstream.dispatch(request, {
          onHead: (code) => (status = code),
          onData() {},
          onEnd: () => resolve(status),
          onFault: ({ kind }) => resolve(kind),
        });
      }));
    }
    await upstream.close();
    process.send(outcomes);`,
  );
  // Node reads additional authorities only at startup.
  const child = fork(path, [moduleUrl, ...origins], { env: { ...process.env, NODE_EXTRA_CA_CERTS: authoritiesPath } });
  const [outcomes] = (await once(child, 'message')) as [readonly (number | string)[]];
  await once(child, 'exit');
  return outcomes;
}

t.test('a certificate of another name is refused, by name and by address', async (t) => {
  const certificates = ['IP:127.0.0.1', 'DNS:localhost', 'DNS:other.example'].map((name) =>
    createCertificates(t, name),
  );
  const backends = await Promise.all(certificates.map((each) => startTls(t, each, (request) => request.json('{}'))));
  const origins = backends.flatMap(({ origin }) => [origin, origin.replace('127.0.0.1', 'localhost')]);
  t.same(await callAll(t, certificates, origins), [
    200,
    // The name resolves to the certificate's address, which is not enough.
    'tls-failed',
    'tls-failed',
    200,
    'tls-failed',
    'tls-failed',
  ]);
  t.same(
    backends.map(({ requests }) => requests.length),
    [1, 1, 0],
    'nothing was sent to the others',
  );
});

t.test('the next connection to an origin resumes its TLS session', async (t) => {
  const certificates = createCertificates(t);
  const resumed: boolean[] = [];
  const { origin } = await startTls(t, certificates, (request) => {
    resumed.push((request.connection as TLSSocket).isSessionReused());
    request.json('{}', { headers: { connection: 'close' } });
  });
  t.same(await callAll(t, [certificates], [origin, origin, origin]), [200, 200, 200]);
  t.same(resumed, [false, true, true]);
});
