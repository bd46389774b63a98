// What a caller may do to the HTTP face of a gateway.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCertificates } from '../../support/certificates.js';
import { encodeRequest, send, type HeaderList, type RawConnection } from '../../support/raw-http.js';
import { inParallel } from '../../support/in-parallel.js';
import { expect, tally, type Experiment } from '../experiment.js';
import type { Scope } from '../scope.js';
import type { Stage } from '../stage.js';
import { statusOf } from './heads.js';

const MIB = 1_048_576;
/** Names of properties that every object has, and methods of other protocols. */
const ODD_METHODS = ['CONSTRUCTOR', '__PROTO__', 'TOSTRING', 'HASOWNPROPERTY', 'VALUEOF', 'PATCH', 'PURGE', 'M-SEARCH'];

export const oddMethods: Experiment = {
  name: 'odd-methods',
  expected: 'every request refused with 405, no other caller cut off',
  async run(stage) {
    const backend = await stage.backend();
    const session = await (await stage.caller({ one: { url: backend.url } })).openSession();
    const methods = Array.from(
      { length: stage.scaled(1_000, 120) },
      (_, turn) => ODD_METHODS[turn % ODD_METHODS.length]!,
    );
    const statuses: string[] = [];
    await inParallel(methods, 8, async (method) => {
      const request = { ...session.caller.request({ session: session.id, body: '{}' }), method };
      statuses.push(await statusOf(send(stage.origin, request)));
    });
    const seen = tally(statuses);
    expect(
      statuses.every((status) => status === '405'),
      seen,
    );
    return seen;
  },
};

export const preflightKeepAlive: Experiment = {
  name: 'preflight-keep-alive',
  isOnceInShort: true,
  expected: 'the request behind each preflight on a kept connection is answered',
  async run(stage) {
    const caller = await stage.caller({});
    const preflight = {
      method: 'OPTIONS',
      path: caller.path,
      headers: [
        ['origin', 'http://localhost:3000'],
        ['access-control-request-method', 'POST'],
      ] as const,
    };
    const connection = await stage.connect();
    const statuses: number[] = [];
    for (let turn = 0; turn < 40; turn++) {
      connection.write(encodeRequest(stage.origin, preflight));
      const { status, headers } = await connection.readAnswer('OPTIONS');
      const length = headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1];
      expect(status === 204 && (length ?? '0') === '0', `preflight: ${status}, content-length ${length}`);
      const body = `{"jsonrpc":"2.0","id":${turn},"method":"ping"}`;
      connection.write(encodeRequest(stage.origin, caller.request({ session: 'nobody', body })));
      statuses.push((await connection.readAnswer()).status);
    }
    const seen = tally(statuses);
    expect(
      statuses.every((status) => status === 404),
      seen,
    );
    return seen;
  },
};

export const refusedBodies: Experiment = {
  name: 'refused-bodies',
  expected: 'bodies without a token are not kept: less than 200 MiB more memory',
  async run(stage) {
    const count = stage.scaled(300, 120);
    const before = stage.residentBytes;
    const body = Buffer.alloc(4 * MIB - 1, 0x20);
    const head = encodeRequest(stage.origin, {
      method: 'POST',
      path: stage.deployment.gateway.path('any'),
      headers: [
        ['content-type', 'application/json'],
        ['content-length', String(4 * MIB)],
      ],
    });
    let most = before;
    const connections: RawConnection[] = [];
    await inParallel([...Array(count).keys()], 16, async () => {
      const connection = await stage.connect();
      connections.push(connection);
      connection.write(head);
      connection.write(body);
      await statusOf(connection.readHead());
      most = Math.max(most, stage.residentBytes);
    });
    for (const connection of connections) connection.close();
    const seen = `${count} bodies, ${Math.round((most - before) / MIB)} MiB more`;
    expect(most - before < 200 * MIB, seen);
    return seen;
  },
};

export const tokenSpellings: Experiment = {
  name: 'token-spellings',
  isOnceInShort: true,
  expected: 'other spellings of one token are refused or take no memory: less than 100 MiB more',
  async run(stage) {
    const caller = await stage.caller({});
    const count = stage.scaled(60_000, 6_000);
    const before = stage.residentBytes;
    const [head = '', payload = '', signature = ''] = caller.token.split('.');
    const statuses: number[] = [];
    const lanes = await Promise.all(Array.from({ length: 8 }, () => stage.kept(caller)));
    await inParallel(lanes, lanes.length, async (lane) => {
      for (let turn = 0; turn < count / lanes.length; turn++) {
        // Spaces between the characters of the signature, in a different set of places each time.
        const places = (turn * lanes.length + lanes.indexOf(lane) + 1).toString(2);
        const spaced = [...places].map((bit, at) => signature.charAt(at) + (bit === '1' ? ' ' : '')).join('');
        const token = `${head}.${payload}.${spaced}${signature.slice(places.length)}`;
        const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
        statuses.push((await lane.send({ token, session: 'nobody', body })).status);
      }
    });
    const more = stage.residentBytes - before;
    const seen = `${tally(statuses)}; ${Math.round(more / MIB)} MiB more`;
    expect(more < 100 * MIB && statuses.every((status) => status === 401), seen);
    return seen;
  },
};

/** Framings that two readers could interpret differently; `{length}` is the length of the request hidden in the body. */
const AMBIGUOUS: readonly string[] = [
  'content-length: {length}\r\ntransfer-encoding: chunked',
  'transfer-encoding: chunked\r\ncontent-length: {length}',
  'content-length: 0\r\ncontent-length: {length}',
  'content-length: 0, {length}',
  'content-length: +0',
  'content-length: 0x0',
  'content-length : 0',
  'content-length: 0\r\n {length}',
  'transfer-encoding : chunked',
  'transfer-encoding:\u000bchunked',
  'content-length: 0\ntransfer-encoding: chunked',
];

/** Codings other than plain `chunked`: refused, although the body is read as chunks. */
const OTHER_CODINGS: readonly string[] = [
  'transfer-encoding: xchunked',
  'transfer-encoding: chunked, identity',
  'transfer-encoding: identity, chunked',
  'transfer-encoding: chunked\r\ntransfer-encoding: identity',
];

export const smuggling: Experiment = {
  name: 'smuggling',
  isOnceInShort: true,
  expected: 'no request that hides in the body of an ambiguous one is carried out',
  run: (stage) => smuggle(stage, AMBIGUOUS),
};

export const smugglingByCoding: Experiment = {
  name: 'smuggling-by-coding',
  expected: 'nothing behind a request in an unknown coding is carried out',
  isLong: true,
  run: (stage) => smuggle(stage, OTHER_CODINGS),
};

async function smuggle(stage: Stage, framings: readonly string[]): Promise<string> {
  const backend = await stage.backend();
  const session = await (await stage.caller({ one: { url: backend.url } })).openSession();
  const call = (text: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one-echo","arguments":{"text":"${text}"}}}`;
  const { method, path, headers } = session.caller.request({ session: session.id, body: '' });
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const host = new URL(stage.origin).host;
  const statuses: string[] = [];
  await inParallel(framings, 4, async (framing) => {
    const body = call(`hidden behind ${framing.replaceAll(/[^ -~]/g, ' / ')}`);
    const hidden = encodeRequest(stage.origin, session.caller.request({ session: session.id, body }));
    const head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${lines}${framing.replace('{length}', String(hidden.length + 5))}\r\n\r\n`;
    const connection = await stage.connect(3_000);
    connection.write(Buffer.concat([Buffer.from(`${head}0\r\n\r\n`, 'latin1'), hidden]));
    statuses.push(await statusOf(connection.readHead()));
    connection.close();
  });
  // A regular call after them: a hidden request would have been carried out before it.
  const answer = await session.call('one-echo', '{"text":"last"}');
  const carriedOut = backend.calls.flatMap(({ argumentsText }) => /hidden[^"]*/.exec(argumentsText ?? '')?.[0] ?? []);
  const seen = `${framings.length} requests: ${tally(statuses)}; carried out: ${carriedOut.join(', ') || 'none'}`;
  expect(carriedOut.length === 0 && answer.status === 200, seen);
  return seen;
}

export const pipelining: Experiment = {
  name: 'pipelining',
  isOnceInShort: true,
  expected: 'of requests that are sent without waiting, none is carried out twice, and no other caller notices',
  async run(stage) {
    const backend = await stage.backend();
    const session = await (await stage.caller({ one: { url: backend.url } })).openSession();
    const rounds = stage.scaled(100, 20);
    const answers: string[] = [];
    await inParallel([...Array(rounds).keys()], 4, async (round) => {
      const connection = await stage.connect(3_000);
      const requests = [1, 2, 3].map((place) => {
        const id = round * 10 + place;
        const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"one-echo","arguments":{"id":${id}}}}`;
        return encodeRequest(stage.origin, session.caller.request({ session: session.id, body }));
      });
      connection.write(Buffer.concat(requests));
      let count = 0;
      while ((await statusOf(connection.readAnswer())) === '200') count++;
      answers.push(`${count} of 3 answered`);
      connection.close();
    });
    const ids = backend.calls.map(({ argumentsText }) => argumentsText);
    const seen = `${tally(answers)}; ${ids.length} calls at the backend`;
    expect(new Set(ids).size === ids.length, seen);
    return seen;
  },
};

/** How long a listener may keep a caller that does not go on: both libraries close it after 8 to 12 s. */
const KEPT_MS_MAX = 30_000;

/** The ways in which a handshake is never finished. */
const HANDSHAKES: readonly ((socket: Socket) => void)[] = [
  () => undefined,
  // A record that announces more than follows.
  (socket) => socket.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01])),
  (socket) => trickle(socket, Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03])),
  (socket) => socket.write('POST / HTTP/1.1\r\nhost: localhost\r\n\r\n'),
  (socket) => socket.end(),
];

function tlsOptions(scope: Scope, listener: 'node' | 'uws'): readonly string[] {
  const { certificatePath, privateKeyPath } = createCertificates(scope).server;
  const files = ['--server-certificate', certificatePath, '--server-private-key', privateKeyPath];
  return ['--listener', listener, '--tls-address', '127.0.0.1:0', ...files];
}

function unfinishedHandshakes(listener: 'node' | 'uws'): Experiment {
  return {
    name: `unfinished-handshakes-${listener}`,
    report: 'X2',
    isOnceInShort: true,
    gateway: { kind: 'own', options: (scope) => tlsOptions(scope, listener) },
    expected: `1,000 TLS handshakes that are not finished: each connection is closed within ${KEPT_MS_MAX / 1_000} s`,
    harmless: (stage) => takePlaces(stage, stage.origin, PLACES, () => undefined),
    async run(stage) {
      const { tlsAddress } = await stage.deployment.gateway.waitForLog(({ msg }) => msg === 'listening');
      return takePlaces(stage, `http://${String(tlsAddress)}`, PLACES, (socket, at) =>
        HANDSHAKES[at % HANDSHAKES.length]!(socket),
      );
    },
  };
}

export const unfinishedHandshakesNode = unfinishedHandshakes('node');
export const unfinishedHandshakesUws = unfinishedHandshakes('uws');

const PLACES = 1_000;

/** Opens connections, and waits until the gateway has closed all of them. */
async function takePlaces(
  stage: Stage,
  origin: string,
  count: number,
  begin: (socket: Socket, at: number) => void,
): Promise<string> {
  const { hostname, port } = new URL(origin);
  const open = new Set<Socket>();
  const beganMs = performance.now();
  await inParallel([...Array(count).keys()], 64, async (at) => {
    const socket = connect({ host: hostname, port: Number(port) });
    open.add(socket);
    stage.scope.teardown(() => socket.destroy());
    socket.on('error', () => undefined).resume();
    socket.once('close', () => open.delete(socket));
    await once(socket, 'connect').then(
      () => begin(socket, at),
      () => undefined,
    );
  });
  while (open.size > 0 && performance.now() - beganMs < KEPT_MS_MAX) await sleep(100);
  const seen = `${count - open.size} of ${count} closed after ${Math.round(performance.now() - beganMs)} ms`;
  expect(open.size === 0, seen);
  return seen;
}

function slowUnwantedBodies(listener: 'node' | 'uws'): Experiment {
  return {
    name: `slow-unwanted-bodies-${listener}`,
    report: 'X5',
    isOnceInShort: true,
    gateway: { kind: 'own', options: ['--listener', listener] },
    expected: `bodies of a byte a second behind answers that need none: each connection is closed within ${KEPT_MS_MAX / 1_000} s`,
    harmless: (stage) => takePlaces(stage, stage.origin, 300, () => undefined),
    run: (stage) =>
      takePlaces(stage, stage.origin, 300, (socket, at) => {
        const framing = at % 2 === 0 ? 'content-length: 100000' : 'transfer-encoding: chunked';
        const [line, ...more] = UNWANTED[at % UNWANTED.length]!(stage);
        socket.write([line, `host: ${new URL(stage.origin).host}`, ...more, framing, '', ''].join('\r\n'));
        trickle(socket, Buffer.from(at % 2 === 0 ? 'x'.repeat(1_000) : '1\r\nx\r\n'.repeat(200)));
      }),
  };
}

export const slowUnwantedBodiesNode = slowUnwantedBodies('node');
export const slowUnwantedBodiesUws = slowUnwantedBodies('uws');

/** Requests that are answered by their head: 401, 404, 405, 413 and 403. */
const UNWANTED: readonly ((stage: Stage) => readonly string[])[] = [
  ({ deployment }) => [`POST ${deployment.gateway.path('any')} HTTP/1.1`],
  ({ deployment }) => [
    `POST ${deployment.gateway.path('any')} HTTP/1.1`,
    'authorization: Bearer x',
    'expect: 100-continue',
  ],
  () => ['POST /nowhere HTTP/1.1'],
  ({ deployment }) => [`PUT ${deployment.gateway.path('any')} HTTP/1.1`],
  ({ deployment }) => [`POST ${deployment.gateway.path('any')} HTTP/1.1`, 'origin: https://foreign.example'],
  () => ['GET /gw-rs/health HTTP/1.1'],
];

export const ownRequestIds: Experiment = {
  name: 'own-request-ids',
  report: 'X8',
  expected:
    "headers for a backend whose values, or names nearly, are x-request-id: each call has the gateway's own id there",
  harmless: (stage) => tellIds(stage, [[]]),
  run: (stage) =>
    tellIds(stage, [
      [['x-a', 'x-request-id']],
      [
        ['X-B', 'X-Request-Id'],
        ['x-a', 'x-request-id'],
      ],
      [['x-request-idx', 'mine']],
      [['x-a', 'x-request-id: mine']],
    ]),
};

/** Calls with these headers, each in its turn. */
async function tellIds(stage: Stage, told: readonly HeaderList[]): Promise<string> {
  const backend = await stage.backend();
  const passthrough_headers = ['x-a', 'x-b', 'x-request-idx'];
  const session = await (await stage.caller({ one: { url: backend.url, passthrough_headers } })).openSession();
  const count = stage.scaled(2_000, 300);
  await inParallel([...Array(count).keys()], 8, async (turn) => {
    await session.call('one-echo', '{}', { headers: told[turn % told.length]! });
  });
  const ids = backend.requestsOf('tools/call').map(({ headers }) => headers['x-request-id'] ?? 'none');
  const wrong = ids.filter((id) => id === 'none' || id.includes('mine')).length;
  const seen = `${ids.length} calls, ${new Set(ids).size} ids, ${wrong} not the gateway's`;
  expect(ids.length === count && new Set(ids).size === count && wrong === 0, seen);
  return seen;
}

function trickle(socket: Socket, bytes: Uint8Array): void {
  let at = 0;
  const timer = setInterval(() => void (at < bytes.length && socket.write(bytes.subarray(at, ++at))), 1_000);
  socket.once('close', () => clearInterval(timer));
}
