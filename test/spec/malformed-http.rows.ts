// The HTTP face under requests that are not HTTP, are cut short, or contradict themselves. None of them ends a worker, none is
// served as if it were correct, and the next correct request gets its own answer, byte for byte.
import t, { type Test } from 'tap';
import { backendFor, forEachDeployment } from '../support/deployment.js';
import { memberText } from '../support/json-text.js';
import type { McpBackend } from '../support/mcp-backend.js';
import { answerText, rpc, type McpSession } from '../support/mcp-caller.js';
import { mutatedRequest } from '../support/mutated-request.js';
import { Random } from '../support/random.js';
import { encodeRequest, RawConnection, send } from '../support/raw-http.js';

const SEED = 20251125;
const MUTATION_COUNT = 150;
const GOOD_EVERY = 10;
const HEADER_BYTES = 33 * 1024;
const BODY = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one-echo"}}';

await forEachDeployment(t, {}, async (t, deployment) => {
  const { origin } = deployment.gateway;

  const openSession = async (t: Test): Promise<{ session: McpSession; backend: McpBackend }> => {
    const backend = await backendFor(t);
    return { backend, session: await (await deployment.caller({ one: { url: backend.url } })).openSession() };
  };

  await t.test(`${MUTATION_COUNT} mutated requests, seed ${SEED}`, async (t) => {
    const { session } = await openSession(t);
    const random = new Random(SEED);
    const template = encodeRequest(origin, session.caller.request({ session: session.id, body: BODY }));
    let answeredRounds = 0;
    for (let round = 1; round <= MUTATION_COUNT; round++) {
      const mutant = mutatedRequest(template, random);
      const statuses = await provoke(origin, random.pieces(mutant, random.chance(0.5) ? 16_384 : 64));
      if (statuses.length > 0) answeredRounds += 1;
      const isHttp = statuses.every((status) => status >= 200 && status < 600);
      if (!isHttp) t.fail(`round ${round}: ${statuses.join()} for ${JSON.stringify(mutant.toString('latin1'))}`);
      if (round % GOOD_EVERY === 0) await checkGoodCall(t, session, `round-${round}`);
    }
    t.ok(answeredRounds > MUTATION_COUNT / 4, `${answeredRounds} were answered, the others cut off`);
  });

  await t.test('bytes after a request of uncertain length are not taken for another request', async (t) => {
    const { session, backend } = await openSession(t);
    const { right, length } = requestParts(session);
    const hidden = `${right}${length}\r\n${BODY}`;
    const heads = {
      'an unknown coding': 'transfer-encoding: xchunked\r\n',
      'chunked, but not last': 'transfer-encoding: chunked, identity\r\n',
      'chunked, but not alone': 'transfer-encoding: identity, chunked\r\n',
      'two codings': 'transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n',
      'two lengths': 'content-length: 0\r\ncontent-length: 0\r\n',
    };
    for (const [what, head] of Object.entries(heads)) {
      const chunks = what === 'two lengths' ? '' : '0\r\n\r\n';
      const before = backend.calls.length;
      const statuses = await provoke(origin, [Buffer.from(`${right}${head}\r\n${chunks}${hidden}`)]);
      t.ok(
        statuses.every((status) => status === 400),
        `${what}: ${statuses.join()}`,
      );
      await checkGoodCall(t, session, what.replaceAll(/\W/g, '-'));
      t.equal(backend.calls.length - before, 1, `${what}: the good call alone has reached the backend`);
      const alone = await RawConnection.open(origin);
      t.teardown(() => alone.close());
      alone.write(Buffer.from(`${right}${head}\r\n${chunks}`));
      t.equal((await alone.readAnswer()).status, 400, `${what}: alone it is told so`);
      await alone.waitForEnd();
    }
  });

  await t.test('what is not HTTP/1.1 is refused', async (t) => {
    const { session } = await openSession(t);
    const { right, length, host } = requestParts(session);
    const withBody = (head: string): string => `${head}\r\n${BODY}`;
    const chunks = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
    const manyHeaders = Array.from({ length: 300 }, (_, n) => `x-${n}: 1\r\n`).join('');
    const wrong: Record<string, string> = {
      noise: '\u0000\u0001\u0002\u0003garbage\u00ff\r\n\r\n',
      'TLS on the plain port': '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
      'HTTP/2 preface': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'HTTP/1.0': withBody(right.replace('HTTP/1.1', 'HTTP/1.0') + length),
      'HTTP/3.0': withBody(right.replace('HTTP/1.1', 'HTTP/3.0') + length),
      'no host (RFC 9112 3.2)': withBody(right.replace(`host: ${host}\r\n`, '') + length),
      'a length that is no number': withBody(`${right}content-length: abc\r\n`),
      'a negative length': withBody(`${right}content-length: -5\r\n`),
      'a signed length': withBody(`${right}content-length: +${BODY.length}\r\n`),
      'a hexadecimal length': withBody(`${right}content-length: 0x10\r\n`),
      'two lengths in one': withBody(`${right}content-length: ${BODY.length}, ${BODY.length}\r\n`),
      'a length beyond every number': withBody(`${right}content-length: 99999999999999999999999\r\n`),
      'length and chunks': `${right}${length}transfer-encoding: chunked\r\n\r\n${chunks}`,
      'chunks and length': `${right}transfer-encoding: chunked\r\n${length}\r\n${chunks}`,
      'an unknown transfer encoding': withBody(`${right}transfer-encoding: gzip\r\n`),
      'chunked, but not last (RFC 9112 6.3)': `${right}transfer-encoding: chunked, gzip\r\n\r\n${chunks}`,
      'a chunk size that is no number': `${right}transfer-encoding: chunked\r\n\r\nxyz\r\n${BODY}\r\n0\r\n\r\n`,
      'a chunk size beyond every number': `${right}transfer-encoding: chunked\r\n\r\nfffffffffffffffffff\r\n${BODY}`,
      'headers beyond the limit': withBody(`${right}x-long: ${'x'.repeat(HEADER_BYTES)}\r\n${length}`),
      'a path beyond the limit': `POST /${'x'.repeat(HEADER_BYTES)} HTTP/1.1\r\nhost: ${host}\r\n\r\n`,
      'too many headers': withBody(right + manyHeaders + length),
    };
    for (const [what, bytes] of Object.entries(wrong)) {
      const connection = await RawConnection.open(origin);
      connection.write(Buffer.from(bytes, 'latin1'));
      const { status } = await connection.readHead();
      connection.close();
      t.ok([400, 414, 431, 501, 505].includes(status), `${what}: ${status}`);
      await checkGoodCall(t, session, what.replaceAll(/[^a-z0-9]/gi, '-'));
    }
  });

  await t.test('a request that is cut short, or may be incomplete, is never served', async (t) => {
    const { session, backend } = await openSession(t);
    const { right, length } = requestParts(session);
    const wrong: Record<string, string> = {
      nothing: '',
      'no request line': '\r\n\r\n',
      'no version': `${right.replace(' HTTP/1.1', '')}${length}\r\n${BODY}`,
      'a header without a colon': `${right}no-colon-here\r\n${length}\r\n${BODY}`,
      'a space before the colon': `${right}content-length : ${BODY.length}\r\n\r\n${BODY}`,
      'a NUL in a header': `${right}x-nul: a\u0000b\r\n${length}\r\n${BODY}`,
      'a folded header': `${right}x-folded: a\r\n b\r\n${length}\r\n${BODY}`,
      'a body cut short': `${right}${length}\r\n${BODY.slice(0, -5)}`,
      'chunks cut short': `${right}transfer-encoding: chunked\r\n\r\n${BODY.length.toString(16)}\r\n${BODY}\r\n`,
      'a head cut short': `${right}${length}`,
    };
    for (const [what, bytes] of Object.entries(wrong)) {
      const statuses = await provoke(origin, [Buffer.from(bytes, 'latin1')]);
      t.ok(
        statuses.every((status) => status >= 400),
        `${what}: ${statuses.join() || 'cut off'}`,
      );
    }
    t.equal(backend.calls.length, 0, 'nothing of it reached the backend');
    await checkGoodCall(t, session, 'after-cuts');
  });

  await t.test('refusals keep the connection in step: the next answer on it is the right one', async (t) => {
    const { session } = await openSession(t);
    const random = new Random(SEED);
    const { caller } = session;
    const inSession = { session: session.id, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' };
    const requests = {
      200: caller.request(inSession),
      202: caller.request({ ...inSession, body: '{"jsonrpc":"2.0","method":"notifications/initialized"}' }),
      400: caller.request({ ...inSession, body: `{${'x'.repeat(500)}` }),
      401: caller.request({ ...inSession, token: null }),
      403: caller.request({ ...inSession, headers: [['origin', 'http://evil.example']] }),
      404: caller.request({ ...inSession, path: '/gw-rs/nowhere' }),
      405: caller.request({ ...inSession, method: 'PUT', headers: [['content-length', '0']] }),
      406: caller.request({ ...inSession, accept: 'text/html' }),
      415: caller.request({ ...inSession, contentType: 'text/plain' }),
    };
    const statuses = Object.keys(requests).map(Number) as (keyof typeof requests)[];
    const connection = await RawConnection.open(origin);
    t.teardown(() => connection.close());
    for (let round = 0; round < 120; round++) {
      const status = random.pick(statuses);
      for (const piece of random.pieces(encodeRequest(origin, requests[status]), 4096)) connection.write(piece);
      const answer = await connection.readAnswer();
      if (answer.status !== status) t.equal(answer.status, status, `round ${round}`);
    }
    t.equal(connection.unread.length, 0, 'nothing was answered that was not asked');
  });

  await t.test('requests that do not wait for answers get theirs in order, or none (RFC 9112 9.3.2)', async (t) => {
    const { session, backend } = await openSession(t);
    const bodies = Array.from({ length: 6 }, (_, n) => {
      const method = n % 2 === 0 ? '"tools/call","params":{"name":"one-echo"}' : '"ping"';
      return `{"jsonrpc":"2.0","id":${n},"method":${method}}`;
    });
    const requests = bodies.map((body) => encodeRequest(origin, session.caller.request({ session: session.id, body })));
    const connection = await RawConnection.open(origin);
    t.teardown(() => connection.close());
    connection.write(Buffer.concat(requests));
    const ids: unknown[] = [];
    try {
      while (ids.length < bodies.length) ids.push(rpc(await connection.readAnswer()).id);
    } catch {
      // A server may close the connection instead of holding a second request back; the client then asks again.
      await connection.waitForEnd();
    }
    t.same(ids, [...bodies.keys()].slice(0, ids.length));
    // Every second request is a call. Of the unanswered ones, at most the first was carried out.
    const answeredCalls = ids.filter((id) => Number(id) % 2 === 0).length;
    t.ok(backend.calls.length - answeredCalls <= 1, `${backend.calls.length} calls, ${answeredCalls} answered`);
    const next = await RawConnection.open(origin);
    t.teardown(() => next.close());
    for (const [id, request] of requests.entries()) {
      next.write(request);
      t.equal(rpc(await next.readAnswer()).id, id, 'one after the other each gets its answer');
    }
    await checkGoodCall(t, session, 'pipelined');
  });

  await t.test('two lengths: refused, and nothing behind it on the connection is a request', async (t) => {
    const { session, backend } = await openSession(t);
    const { right, length } = requestParts(session);
    const connection = await RawConnection.open(origin);
    t.teardown(() => connection.close());
    connection.write(`${right}${length}content-length: ${BODY.length + 1}\r\n\r\n${BODY}`);
    t.equal((await connection.readAnswer()).status, 400);
    connection.write(`${right}${length}\r\n${BODY}`);
    await connection.waitForEnd();
    t.equal(connection.unread.length, 0);
    t.equal(backend.calls.length, 0);
  });

  await t.test('a client that expects 100-continue gets it before it sends the body', async (t) => {
    const { session } = await openSession(t);
    const { right, length } = requestParts(session);
    const connection = await RawConnection.open(origin);
    t.teardown(() => connection.close());
    connection.write(`${right}${length}expect: 100-continue\r\n\r\n`);
    t.equal((await connection.readHead()).status, 100);
    connection.write(BODY);
    t.equal((await connection.readAnswer()).status, 200);
  });

  await t.test('a chunked body is treated like any other', async (t) => {
    const { session } = await openSession(t);
    const random = new Random(SEED);
    const params = '{"name":"one-echo","arguments":{"ü":1.0}}';
    const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);
    for (const pieceBytesMax of [1, 7, 4096]) {
      const request = session.caller.request({ session: session.id, headers: [['transfer-encoding', 'chunked']] });
      const connection = await RawConnection.open(origin);
      connection.write(encodeRequest(origin, request));
      for (const piece of random.pieces(body, pieceBytesMax)) {
        connection.write(Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]));
      }
      connection.write('0\r\n\r\n');
      const answer = await connection.readAnswer();
      connection.close();
      t.equal(memberText(answerText(answer), 'result', 'structuredContent'), '{"ü":1.0}', `pieces of ${pieceBytesMax}`);
    }
  });

  await t.test('a token of 8 KiB fits into the head', async (t) => {
    const caller = await deployment.caller();
    const token = await deployment.token(caller.subject, { claims: { groups: 'x'.repeat(6_000) } });
    t.ok(token.length > 8_000);
    t.equal((await caller.initialize({ token })).status, 200);
  });

  await t.test('callers that disconnect half-way cost nothing', async (t) => {
    const { session } = await openSession(t);
    const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
    const request = encodeRequest(origin, session.caller.request({ session: session.id, body: list }));
    for (let cut = 0; cut <= request.length; cut += 7) {
      const connection = await RawConnection.open(origin);
      connection.write(request.subarray(0, cut));
      connection.close();
    }
    await checkGoodCall(t, session, 'gone');
    const health = await send(origin, { method: 'GET', path: '/gw-rs/health', headers: [] });
    t.equal(health.text, '{"status":"healthy"}');
  });
});

/** Makes a call whose answer must be its own, to the byte. Reports only a failure. */
async function checkGoodCall(t: Test, session: McpSession, marker: string): Promise<void> {
  const args = `{"marker":"${marker}","n":1.0}`;
  const answer = await session.call('one-echo', args, { id: `"${marker}"` });
  const text = answer.status === 200 ? answerText(answer) : '';
  const isRight = memberText(text, 'id') === `"${marker}"` && memberText(text, 'result', 'structuredContent') === args;
  if (!isRight) t.fail(`the good call after ${marker}: ${answer.status} ${answer.text}`);
}

/** The statuses of all responses to these bytes, after which nothing more is sent. */
async function provoke(origin: string, pieces: readonly Uint8Array[]): Promise<number[]> {
  const connection = await RawConnection.open(origin);
  try {
    for (const piece of pieces) connection.write(piece);
    connection.endWriting();
    await connection.waitForEnd();
    const text = connection.unread.toString('latin1');
    return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  } finally {
    connection.close();
  }
}

/** The head of a correct request without its length, and the length that belongs to `BODY`. */
function requestParts(session: McpSession): { right: string; length: string; host: string } {
  const { token, path, origin } = session.caller;
  const { host } = new URL(origin);
  const headers = [
    `host: ${host}`,
    `authorization: Bearer ${token}`,
    `mcp-session-id: ${session.id}`,
    'content-type: application/json',
    'accept: application/json, text/event-stream',
  ];
  const right = [`POST ${path} HTTP/1.1`, ...headers].map((line) => `${line}\r\n`).join('');
  return { right, length: `content-length: ${BODY.length}\r\n`, host };
}
