// What cannot be read as a request of this interface is answered all the same, as `{"detail": …}`.
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { limits } from '../../../src/shared/limits.js';
import { openApp, NOTHING_KEPT } from './app.js';

const records = { kind: 'embedded', ping: async () => true } as const;
const app = await openApp(t, { ...NOTHING_KEPT, records });

t.test('what Node.js does not parse is answered, and the connection is over', async (t) => {
  await app.listen({ host: '127.0.0.1', port: 0 });
  const ask = async (sent: string): Promise<string> => {
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
    socket.write(sent);
    return text(socket);
  };
  const long = 'x'.repeat(limits.requestHeaderBytesMax);
  const rows = [
    ['GET /health HTTP/1.1\r\nno header\r\n\r\n', '400 Bad Request', 'The request is not valid HTTP/1.1'],
    [
      `GET /health HTTP/1.1\r\nx: ${long}\r\n\r\n`,
      '431 Request Header Fields Too Large',
      'Request header fields too large',
    ],
  ];
  for (const [sent = '', status = '', detail] of rows) {
    const body = JSON.stringify({ detail });
    const head = `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`;
    t.equal(await ask(sent), `${head}\r\nconnection: close\r\n\r\n${body}`);
  }
});

t.test('a request that does not arrive in time is told so, if anybody still listens', async (t) => {
  t.equal(app.server.requestTimeout, limits.requestReceiveMsMax);
  const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
  const socket = new PassThrough();
  app.server.emit('clientError', late, socket);
  t.match(
    await text(socket),
    /^HTTP\/1\.1 408 Request Timeout\r\n.*\r\n\r\n\{"detail":"The request did not arrive in time"\}$/s,
  );
  const gone = new PassThrough().destroy();
  await once(gone, 'close');
  t.capture(gone, 'end', () => t.fail('nobody is there'));
  app.server.emit('clientError', late, gone);
});

t.test('a path that cannot be decoded is refused like any other request', async (t) => {
  const answer = await app.inject({ url: '/servers/%E0%A4%A', headers: { host: 'localhost' } });
  t.same([answer.statusCode, answer.json()], [400, { detail: 'The path is not correctly percent-encoded' }]);
  t.equal(answer.headers['x-content-type-options'], 'nosniff');
  const long = await app.inject({
    url: `/servers/${'x'.repeat(limits.pathParameterCharsMax + 1)}`,
    headers: { host: 'localhost' },
  });
  t.same([long.statusCode, long.json()], [414, { detail: 'The path is too long' }]);
});

t.test('every answer tells browsers to guess, frame, store and load nothing', async (t) => {
  for (const [url, status] of [
    ['/health', 200],
    ['/nowhere', 401],
  ] as const) {
    const { headers, statusCode } = await app.inject({ url, headers: { host: 'localhost' } });
    t.equal(statusCode, status);
    t.match(headers, {
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cache-control': 'no-store',
    });
  }
});
