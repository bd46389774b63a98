import t from 'tap';
import { readClientMessage, type ClientMessage } from '../../src/mcp/json-rpc.js';
import { NO_MIRROR, type ExchangeRequest } from '../../src/exchange/exchange.js';
import { metadataFor } from '../../src/exchange/exchange.js';
import { tracedMessage } from '../../src/messages/trace-passing.js';
import { NO_METADATA } from '../../src/http-client/http-upstream.js';
import { RecordedExchange } from '../support/recorded-exchange.js';
import { backendOf, virtualHostOf } from '../relay/virtual-host.js';

const virtualHost = virtualHostOf({
  one: { passthrough_headers: ['X-Tenant', 'Authorization'] },
  two: { passthrough_headers: ['x-trace', 'x-tenant'] },
  none: {},
  ids: { passthrough_headers: ['x-request-id'] },
  refused: { passthrough_headers: ['host', 'mcp-session-id', 'content-type'] },
});

function requestWith(passthroughHeaders: readonly string[]): ExchangeRequest {
  return {
    method: 'POST',
    sessionId: '',
    lastEventId: '',
    requestId: '',
    traceparent: '',
    tracestate: '',
    acceptedTypes: 'both',
    passthroughHeaders,
    mirror: NO_MIRROR,
    body: Buffer.alloc(0),
  };
}

function headersFor(name: string, passthroughHeaders: readonly string[]): readonly string[] {
  return metadataFor(backendOf(virtualHost, name), requestWith(passthroughHeaders)).headers;
}

t.test('each backend gets the headers that it lists, in the order received, including repeated ones', async (t) => {
  const offered = ['x-trace', '1', 'authorization', 'Bearer b', 'x-tenant', '7', 'x-trace', '2', 'x-tenant', ''];
  t.same(headersFor('one', offered), ['authorization', 'Bearer b', 'x-tenant', '7', 'x-tenant', '']);
  t.same(headersFor('two', offered), ['x-trace', '1', 'x-tenant', '7', 'x-trace', '2', 'x-tenant', '']);
});

t.test('the caller’s own token is given to what exchanges it, and to nothing else', async (t) => {
  const auth = {
    ...({ type: 'token-exchange', token_endpoint: 'https://as.example/token' } as const),
    ...{ client_id: 'gateway', client_secret: { secret: 's' } },
  };
  const two = virtualHostOf({ exchanged: { url: 'https://b.example/mcp', auth }, plain: {} });
  const request = requestWith(['authorization', 'Bearer own', 'x-tenant', '7']);
  const told = (name: string) => metadataFor(backendOf(two, name), request);
  t.match(told('exchanged'), { callerToken: 'own', headers: { length: 0 } });
  t.equal(told('plain'), NO_METADATA);
});

t.test('a value that looks like a listed name is not taken for one', async (t) => {
  t.same(headersFor('two', ['x-other', 'x-trace', 'x-tenant', 'x-other']), ['x-tenant', 'x-other']);
});

t.test('a backend gets no header that it does not list', async (t) => {
  t.same(headersFor('none', ['x-tenant', '7']), []);
  t.same(headersFor('one', []), []);
  t.same(headersFor('one', ['x-unlisted', '1']), []);
});

t.test("the gateway's own headers are never copied, listed or not", async (t) => {
  t.same(headersFor('refused', ['host', 'a', 'mcp-session-id', 'b', 'content-type', 'c']), []);
});

t.test('the request id is passed on, unless the caller sends its own to this backend', async (t) => {
  const request = { ...requestWith(['x-request-id', 'mine', 'x-tenant', '7']), requestId: 'made', callerToken: '' };
  t.same(metadataFor(backendOf(virtualHost, 'none'), request), { headers: [], requestId: 'made', callerToken: '' });
  t.same(metadataFor(backendOf(virtualHost, 'one'), request), {
    headers: ['x-tenant', '7'],
    requestId: 'made',
    callerToken: '',
  });
  t.same(metadataFor(backendOf(virtualHost, 'ids'), request), {
    headers: ['x-request-id', 'mine'],
    requestId: '',
    callerToken: '',
  });
  const odd = { ...request, passthroughHeaders: ['x-tenant', 'x-request-id'] };
  t.equal(metadataFor(backendOf(virtualHost, 'one'), odd).requestId, 'made', 'a value is no name');
  t.equal(
    metadataFor(backendOf(virtualHost, 'none'), { ...request, requestId: '' }),
    NO_METADATA,
    'nothing is made of nothing',
  );
});

t.test('a trace goes to the backend in a header, and in the message where the caller has it there', async (t) => {
  const params = (traceparent: string, more = ''): string =>
    `{"name":"x","_meta":{"a":1.0${traceparent === '' ? '' : `,"traceparent":${traceparent}`}}${more}}`;
  const call = (of: string): string => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${of}}`;
  const trace = { traceparent: '00-own', tracestate: 's=1' };
  const rows: readonly (readonly [params: string, heard: string, sent: string])[] = [
    [params(''), '', params('')],
    [params('"00-callers"'), '00-callers', params('"00-own"')],
    [params('7'), '', params('7')],
    [params('"1","traceparent":"2"'), '', params('"1","traceparent":"2"')],
    ['{"name":"x","traceparent":"00-other"}', '', '{"name":"x","traceparent":"00-other"}'],
    ['{"name":"x","_meta":"traceparent"}', '', '{"name":"x","_meta":"traceparent"}'],
  ];
  for (const [given, heard, sent] of rows) {
    for (const ownHeader of [[], ['traceparent', '00-header']]) {
      const body = Buffer.from(call(given));
      const exchange = new RecordedExchange({ body });
      const told: string[] = [];
      const onSending = (inMessage: string): typeof trace => (told.push(inMessage), trace);
      exchange.watcher = { isTraced: true, onSending } as unknown as NonNullable<typeof exchange.watcher>;
      const plan = {
        exchange,
        message: readClientMessage(body) as ClientMessage,
        metadata: { ...NO_METADATA, headers: ownHeader },
      };
      const outgoing = tracedMessage(exchange.watcher, plan, { body }, { bytes: Buffer.from('1'), start: 0, end: 1 });
      t.same(told, [heard], given);
      const { start, end } = outgoing.leftOut ?? { start: 0, end: 0 };
      const { putIn = '' } = outgoing;
      t.equal(`${body.toString('utf8', 0, start)}${putIn.toString()}${body.toString('utf8', end)}`, call(sent));
      t.same(outgoing.trace, ownHeader.length === 0 ? trace : undefined, 'the caller’s own header counts');
    }
  }
});

t.test('a trace is not written into a part of the message that goes out in another form', async (t) => {
  const own = '"00-callers"';
  const body = Buffer.from(
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b-x","_meta":{"traceparent":${own}},"z":1}}`,
  );
  const exchange = new RecordedExchange({ body });
  const trace = { traceparent: '00-own', tracestate: '' };
  const watcher = { isTraced: true, onSending: () => trace } as unknown as NonNullable<typeof exchange.watcher>;
  const plan = { exchange, message: readClientMessage(body) as ClientMessage, metadata: NO_METADATA };
  const at = body.indexOf(own);
  for (const [start, end, isWritten] of [
    [at - 20, at, true],
    [at + own.length, at + own.length + 3, true],
    [at - 1, at + 1, false],
    [at + own.length - 1, at + own.length + 3, false],
    [at - 5, at + own.length + 5, false],
  ] as const) {
    const id = { bytes: Buffer.from('1'), start: 0, end: 1 };
    const outgoing = { body, leftOut: { start, end }, putIn: Buffer.from('new') };
    const traced = tracedMessage(watcher, plan, outgoing, id);
    const sent = [
      traced.body.subarray(0, traced.leftOut?.start),
      traced.putIn!,
      traced.body.subarray(traced.leftOut?.end),
    ];
    const text = Buffer.concat(sent).toString();
    t.equal(text.includes('"00-own"'), isWritten);
    t.ok(text.includes('new'), 'and nothing else is lost');
    t.same(traced.trace, trace);
  }
});
