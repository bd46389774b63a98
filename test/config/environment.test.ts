import t from 'tap';
import { notifySocket, workerEnvironment } from '../../src/config/environment.js';
import { limits } from '../../src/shared/limits.js';

t.test('a worker gets the environment without what is only for the primary', async (t) => {
  const environment = { PATH: '/bin', NOTIFY_SOCKET: '/run/notify', SWITCHYARD_TOKEN_VERIFICATION_SECRET_FILE: '/s' };
  t.strictSame(workerEnvironment(environment), {
    PATH: '/bin',
    MALLOC_MMAP_THRESHOLD_: '12288',
    UWS_HTTP_MAX_HEADERS_SIZE: String(limits.requestHeaderBytesMax),
  });
});

t.test('the header limit is ours, whatever the environment said', async (t) => {
  t.equal(workerEnvironment({ UWS_HTTP_MAX_HEADERS_SIZE: '1' })['UWS_HTTP_MAX_HEADERS_SIZE'], '32768');
});

t.test('from how many bytes on memory is given back, an operator may say', async (t) => {
  t.equal(workerEnvironment({ MALLOC_MMAP_THRESHOLD_: '65536' })['MALLOC_MMAP_THRESHOLD_'], '65536');
});

t.test('the notify socket is absent, or a path', async (t) => {
  t.equal(notifySocket({}), undefined);
  t.equal(notifySocket({ NOTIFY_SOCKET: '' }), undefined);
  t.equal(notifySocket({ NOTIFY_SOCKET: '/run/notify' }), '/run/notify');
});
