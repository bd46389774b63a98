import t from 'tap';
import { checkTransport, parseAccept, ACCEPT_HEADERS_MAX } from '../../src/exchange/transport.js';
import type { ExchangeRequest } from '../../src/exchange/exchange.js';
import { mirrorOfVersion } from '../../src/exchange/transport.js';
import { refusals } from '../../src/shared/refusals.js';
import { keptHeapBytes, LONG_TEXT_CHARS } from '../support/kept-bytes.js';

const plain = {
  accept: 'application/json, text/event-stream',
  contentType: 'application/json',
  sessionId: '',
  protocolVersion: '',
  isAmbiguous: false,
  isMirrorTooLarge: false,
};

function check(
  method: ExchangeRequest['method'],
  { sessionId, protocolVersion, ...head }: typeof plain,
): ReturnType<typeof checkTransport> {
  return checkTransport({ method, sessionId, mirror: mirrorOfVersion(protocolVersion) }, head);
}

t.test('accept is read liberally', async (t) => {
  const rows: readonly (readonly [accept: string, forms: ReturnType<typeof parseAccept>])[] = [
    ['', 'both'],
    ['  ', 'both'],
    ['*/*', 'both'],
    ['application/json, text/event-stream', 'both'],
    ['application/json; text/event-stream', 'both'],
    ['Application/JSON;q=0.5, text/*', 'both'],
    ['application/json', 'json'],
    ['application/*', 'json'],
    ['text/event-stream', 'event-stream'],
    ['*/*, application/json;q=0', 'event-stream'],
    ['text/event-stream; q=0.0, application/json', 'json'],
    ['text/html', undefined],
    ['text/event-stream;q=0', undefined],
    ['application/json, */*;q=0', 'json'],
    ['text/event-stream, text/*; q=0', 'event-stream'],
    ['*/*;q=0.0, text/*', 'event-stream'],
    ['application/json;q=0, application/*', undefined],
    ['*/*;q=0', undefined],
    ['*/*;q=0.1', 'both'],
    ['q=0, application/json', 'json'],
    ['text/html, application/xhtml+xml, */*;q=0.8', 'both'],
  ];
  for (const [accept, forms] of rows) t.equal(parseAccept(accept), forms, accept);
});

t.test('accept is read correctly after more different headers than are remembered', async (t) => {
  for (let seen = 0; seen <= ACCEPT_HEADERS_MAX; seen += 1) {
    check('POST', { ...plain, accept: `application/json, text/x-${seen}` });
  }
  t.equal(check('POST', { ...plain, accept: 'application/json, text/x-0' }), 'json');
  t.equal(check('POST', { ...plain, accept: 'text/x-0' }), refusals.notAcceptable);
  t.equal(check('POST', { ...plain, accept: 'text/x-0' }), refusals.notAcceptable, 'remembered as well');
});

t.test('a head with too large a mirror is refused', async (t) => {
  t.equal(check('POST', { ...plain, isMirrorTooLarge: true }), refusals.mirrorTooLarge);
  t.equal(refusals.mirrorTooLarge.status, 431);
});

t.test('a POST is checked for its content type, what it accepts, and ambiguous heads', async (t) => {
  t.equal(check('POST', plain), 'both');
  t.equal(check('POST', { ...plain, accept: 'application/json' }), 'json');
  t.equal(check('POST', { ...plain, accept: 'text/html' }), refusals.notAcceptable);
  t.equal(check('POST', { ...plain, contentType: 'Application/JSON; charset=utf-8' }), 'both');
  for (const contentType of ['', 'text/plain', 'application/jsonp']) {
    t.equal(check('POST', { ...plain, contentType }), refusals.contentTypeUnsupported, contentType);
  }
  const both = { ...plain, accept: 'text/html', contentType: 'text/plain', isAmbiguous: true };
  t.equal(check('POST', both), refusals.notAcceptable, 'the first fault is told');
  t.equal(check('POST', { ...plain, isAmbiguous: true }), refusals.headAmbiguous);
});

t.test('a GET is refused unless it may be answered with a stream', async (t) => {
  for (const [accept, isTaken] of [
    ['text/event-stream', true],
    ['', true],
    ['application/json', false],
    ['text/html', false],
  ] as const) {
    const taken = check('GET', { ...plain, accept, contentType: '' });
    t.equal(taken === refusals.streamNotAcceptable, !isTaken, accept);
  }
});

t.test('a DELETE needs no content type, and may accept anything', async (t) => {
  t.equal(check('DELETE', { ...plain, accept: 'text/html', contentType: '' }), 'json');
  t.equal(check('DELETE', { ...plain, isAmbiguous: true }), refusals.headAmbiguous);
});

t.test('a protocol version is checked only within a session', async (t) => {
  const future = { ...plain, protocolVersion: '2099-01-01' };
  t.equal(check('POST', future), 'both');
  t.equal(check('POST', { ...future, sessionId: 's' }), refusals.protocolVersionUnsupported);
  const modern = { ...plain, protocolVersion: '2026-07-28', sessionId: 's' };
  t.equal(check('POST', modern), 'both', 'the body says more');
  for (const method of ['GET', 'DELETE'] as const) t.equal(check(method, modern), refusals.protocolVersionUnsupported);
  for (const protocolVersion of ['2025-11-25', '2025-06-18', '']) {
    t.equal(check('POST', { ...plain, sessionId: 's', protocolVersion }), 'both', protocolVersion);
  }
});

t.test('a long accept header is read but not remembered', async (t) => {
  const keptBytes = keptHeapBytes(() => {
    for (let n = 0; n < 30; n += 1) {
      const accept = `application/json, ${'x'.repeat(LONG_TEXT_CHARS)}/${n}`;
      t.equal(check('POST', { ...plain, accept }), 'json');
    }
  });
  t.ok(keptBytes < 10 * LONG_TEXT_CHARS, `${keptBytes} bytes`);
});
