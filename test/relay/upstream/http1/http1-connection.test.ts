// When a connection is used again, and when a request is sent again: never a request that may have been executed, never a
// connection whose next answer could be somebody else's.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import type { UpstreamCall, UpstreamHandler } from '../../../../src/relay/upstream/http-upstream.js';
import { Http1Upstream } from '../../../../src/relay/upstream/http1/http1-upstream.js';
import type { UpstreamFault } from '../../../../src/relay/upstream/upstream-fault.js';
import { createCertificates, type Certificates } from '../../../support/certificates.js';
import { inParallel } from '../../../support/in-parallel.js';
import {
  startRawBackend,
  type RawBackend,
  type RawBackendOptions,
  type RawHandler,
} from '../../../support/raw-backend.js';
import { createScratchDirectory } from '../../../support/scratch-directory.js';
import { until } from '../../../support/until.js';

const MIB = 1024 * 1024;
/** More than the kernel takes at once. */
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
  const upstream = new Http1Upstream({ connectTimeoutMs: 10_000 });
  t.teardown(async () => {
    await upstream.close();
    await backend.close();
  });
  const target = { origin: backend.origin, path: '/mcp' };
  const send = (body: Buffer = Buffer.from('{}')): Listener => {
    const listener = new Listener();
    listener.call = upstream.dispatch({ subject: 'alice', target, method: 'POST', headers: [], body }, listener);
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

/** Answers the first request; what comes of the second is the test's. */
function second(then: RawHandler): RawHandler {
  return async (request) => {
    if (request.sequenceNumber === 1) await then(request);
    else request.json('{}');
  };
}

t.test('a request that a kept connection took only a part of is sent once more, whole, on a new one', async (t) => {
  const { backend, send } = await start(
    t,
    second((request) => {
      request.connection.pause();
      setImmediate(() => request.reset());
    }),
    { readsBodies: false },
  );
  await send().over();
  t.match(await send(LARGE).over(), { status: 200, fault: undefined });
  t.equal(backend.requests.length, 3);
  t.equal(backend.requests[2]!.connectionNumber, 2);
  t.equal(backend.requests[2]!.headers['content-length'], String(LARGE.length));
});

t.test('a new connection that breaks on a request is the answer to it', async (t) => {
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
    // A slow caller: then it is a write that hears of the end.
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

t.test('a call right behind an answer meets no connection that is about to close', async (t) => {
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

t.test('a backend that closes after each answer loses no calls, and is trusted again later', async (t) => {
  // A busy machine may close late enough for a connection to look kept: one good round of some shows what is done.
  let round = await closingRound(t);
  for (let tries = 1; tries < 5 && !round.isGood; tries += 1) round = await closingRound(t);
  t.ok(round.isGood, `${round.lost.join()} lost, ${round.connections} connections for the last 100`);
  const { backend, send } = round;
  backend.handler = (request) => request.json('{}');
  await until(async () => {
    const { connections } = backend;
    for (let round = 0; round < 3; round += 1) await send().over();
    return backend.connections === connections;
  }, 'a connection that is used again');
});

t.test('a connection is kept for as long as the backend announces', async (t) => {
  const announcing = await start(t, (request) => request.json('{}', { headers: { 'keep-alive': 'timeout=60' } }));
  const silent = await start(t, (request) => request.json('{}'));
  await announcing.send().over();
  await silent.send().over();
  await until(() => silent.backend.openConnections === 0, 'the end of the connection of which nothing was said');
  t.equal(announcing.backend.openConnections, 1);
  await announcing.send().over();
  t.equal(announcing.backend.connections, 1);
});

/** 200 calls to a backend that closes a moment after each answer. Good: few are lost before that is known, none after. */
async function closingRound(t: Test) {
  const { backend, send } = await start(t, (request) => {
    request.json('{}');
    setTimeout(() => request.destroy(), 5);
  });
  const lost: number[] = [];
  await inParallel([...Array(200).keys()], 8, async (index) => {
    if ((await send().over()).fault !== undefined) lost.push(index);
  });
  const connections = new Set(backend.requests.slice(100).map((request) => request.connectionNumber)).size;
  const isGood = lost.length <= 20 && lost.every((index) => index < 100) && connections > 90;
  return { backend, send, lost, connections, isGood };
}

async function startTls(t: Test, { server }: Certificates, handler: RawHandler): Promise<RawBackend> {
  const tls = { key: server.privateKey, cert: server.certificate };
  const backend = await startRawBackend(handler, { tls });
  t.teardown(() => backend.close());
  return backend;
}

/** Calls these origins, one after the other, from a process that trusts the authorities; what came of each. */
async function callAll(
  t: Test,
  certificates: readonly Certificates[],
  origins: readonly string[],
): Promise<readonly (number | string)[]> {
  const moduleUrl = new URL('../../../../src/relay/upstream/http1/http1-upstream.js', import.meta.url).href;
  const directory = createScratchDirectory(t);
  const authoritiesPath = join(directory, 'authorities.pem');
  writeFileSync(authoritiesPath, certificates.map(({ authority }) => authority.certificate).join('\n'));
  const path = join(directory, 'caller.mjs');
  writeFileSync(
    path,
    `const [, , moduleUrl, ...origins] = process.argv;
    const { Http1Upstream } = await import(moduleUrl);
    const upstream = new Http1Upstream({ connectTimeoutMs: 10_000 });
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
  // Node reads further authorities when it starts.
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
    // That it is the certificate of the name's address is not enough.
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
