import t from 'tap';
import { NO_MIRROR, type ExchangeRequest } from '../../../src/relay/exchange/exchange.js';
import { metadataFor } from '../../../src/relay/exchange/passthrough.js';
import { NO_METADATA } from '../../../src/upstream/http/request-metadata.js';
import { backendOf, virtualHostOf } from '../virtual-host.js';

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
    answerForms: 'both',
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
