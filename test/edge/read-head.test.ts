// What is read of a request's head, whichever library delivers it; and the words for a library that does not load.
import t from 'tap';
import { forgetHeaders, readHead, type RequestHead } from '../../src/edge/request-head.js';
import { causeInWords } from '../../src/edge/choose-listener.js';

function read(headers: readonly (readonly [name: string, value: string])[], parameter?: string): RequestHead {
  const request = {
    getMethod: () => 'post',
    getParameter: (index: number) => (index === 0 ? parameter : undefined),
    forEach: (callback: (name: string, value: string) => void) =>
      headers.forEach(([name, value]) => callback(name, value)),
  };
  return readHead(request, 'POST');
}

t.test('each header that the gateway knows is read, and all of them are kept as they came', async (t) => {
  const headers = [
    ...[
      ['host', 'a.example'] as const,
      ['origin', 'https://p.example'] as const,
      ['authorization', 'Bearer x'] as const,
    ],
    ...[['content-type', 'application/json'] as const, ['content-length', '7'] as const],
    ...[['accept', 'application/json'] as const, ['accept', 'text/event-stream'] as const],
    ...[['mcp-session-id', 's'] as const, ['mcp-protocol-version', '2025-11-25'] as const],
    ...[['last-event-id', 'e'] as const, ['x-request-id', 'r'] as const, ['traceparent', '00-1'] as const],
    ...[['tracestate', 'a=1'] as const, ['tracestate', 'b=2'] as const, ['x-other', 'o'] as const],
  ];
  const bareMirror = read([]).request.mirror;
  const head = read(headers, 'v%20h');
  t.has(head, {
    ...{ virtualHostId: 'v h', host: 'a.example', origin: 'https://p.example', authorization: 'Bearer x' },
    ...{ contentType: 'application/json', contentLength: '7', accept: 'application/json,text/event-stream' },
    ...{ isAmbiguous: false, isMirrorTooLarge: false },
  });
  t.has(head.request, {
    ...{ method: 'POST', sessionId: 's', lastEventId: 'e', requestId: 'r' },
    ...{ traceparent: '00-1', tracestate: 'a=1,b=2', mirror: { protocolVersion: '2025-11-25' } },
  });
  t.same(head.headers, headers.flat());
  t.equal(read([['mcp-extra', 'x']]).isMirrorTooLarge, false);
  t.same(read([['accept', 'a']]).request.mirror, bareMirror, 'nothing is left of the request before');
  forgetHeaders(head);
  t.has(head, { headers: [], authorization: '', accept: '', host: '', request: { sessionId: 's' } });
  const bare = read([]);
  t.has(bare, { virtualHostId: '', host: '', origin: '', accept: '', isAmbiguous: false });
  t.equal(bare.request.traceparent, '');
  t.equal(read([], '%zz').virtualHostId, undefined);
});

t.test('a header that may come once makes its request ambiguous when it comes twice, even empty', async (t) => {
  for (const name of ['host', 'authorization', 'mcp-session-id', 'content-length']) {
    for (const values of [
      ['a', 'a'],
      ['', 'a'],
      ['a', ''],
    ] as const) {
      const headers = values.map((value) => [name, value] as const);
      t.equal(read(headers).isAmbiguous, true, `${name}: ${values.join()}`);
      t.equal(read(headers.slice(1)).isAmbiguous, false, 'and the request before changes nothing');
    }
  }
  const tokens = read([
    ['authorization', ''],
    ['authorization', 'Bearer b'],
    ['authorization', 'Bearer c'],
  ]);
  t.equal(tokens.authorization, 'Bearer b', 'the first that says something counts');
  const all = ['host', 'authorization', 'mcp-session-id', 'content-length', 'origin'];
  t.equal(read(all.map((name) => [name, 'a'])).isAmbiguous, false, 'each of them once');
});

t.test('only a final chunked tells where a body ends', async (t) => {
  for (const [value, isAmbiguous] of [
    ['chunked', false],
    ['Chunked', false],
    ['gzip, chunked', true],
    ['identity', true],
    ['', true],
  ] as const) {
    t.equal(read([['transfer-encoding', value]]).isAmbiguous, isAmbiguous, value);
  }
});

t.test('two origins are none that is allowed, and two parents of a span are none', async (t) => {
  t.equal(
    read([
      ['origin', 'https://a.example'],
      ['origin', 'https://b.example'],
    ]).origin,
    'https://a.example, https://b.example',
  );
  t.equal(
    read([
      ['origin', ''],
      ['origin', 'https://b.example'],
    ]).origin,
    ', https://b.example',
  );
  const parents = read([
    ['traceparent', '00-1'],
    ['traceparent', '00-1'],
  ]);
  t.equal(parents.request.traceparent, 'ambiguous');
});

t.test('of what a loader says, the line that tells the cause is told', async (t) => {
  const cause = new Error("libc.so.6: version `GLIBC_2.38' not found.\nRequire stack:\n- x");
  for (const [error, words] of [
    ['text', 'text'],
    [new Error('plain.'), 'plain'],
    [new Error('Always the same.\n\nError: the cause\nmore'), 'the cause'],
    [new Error('outer', { cause }), "outer: libc.so.6: version `GLIBC_2.38' not found"],
    [new Error('1', { cause: new Error('2', { cause: new Error('3', { cause: new Error('4') }) }) }), '1: 2: 3'],
    [new Error('x'.repeat(400)), 'x'.repeat(300)],
  ] as const) {
    t.equal(causeInWords(error), words);
  }
});
