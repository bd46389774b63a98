import { hostname, userInfo } from 'node:os';
import t from 'tap';
import { operatorName, serviceManager, workerEnvironment } from '../../src/config/environment.js';
import { limits } from '../../src/shared/limits.js';

t.test('a worker gets the environment without the variables that are only for the primary', async (t) => {
  const environment = { PATH: '/bin', NOTIFY_SOCKET: '/run/notify', WATCHDOG_USEC: '1', SWITCHYARD_TOKEN: 's' };
  t.strictSame(workerEnvironment(environment), {
    PATH: '/bin',
    MALLOC_MMAP_THRESHOLD_: '12288',
    UWS_HTTP_MAX_HEADERS_SIZE: String(limits.requestHeaderBytesMax),
  });
});

t.test('the header limit is the gateway’s, whatever the environment says', async (t) => {
  t.equal(workerEnvironment({ UWS_HTTP_MAX_HEADERS_SIZE: '1' })['UWS_HTTP_MAX_HEADERS_SIZE'], '32768');
});

t.test('an operator may set from how many bytes on memory is given back', async (t) => {
  t.equal(workerEnvironment({ MALLOC_MMAP_THRESHOLD_: '65536' })['MALLOC_MMAP_THRESHOLD_'], '65536');
});

t.test('the notify socket is absent or a path', async (t) => {
  t.equal(serviceManager({}).notifySocket, undefined);
  t.equal(serviceManager({ NOTIFY_SOCKET: '' }).notifySocket, undefined);
  t.equal(serviceManager({ NOTIFY_SOCKET: '/run/notify' }).notifySocket, '/run/notify');
});

t.test('the watchdog is this process’s unless the environment names another one', async (t) => {
  const pid = String(process.pid);
  t.equal(serviceManager({ WATCHDOG_USEC: '30000000' }).watchdogMs, 30_000);
  t.equal(serviceManager({ WATCHDOG_USEC: '30000000', WATCHDOG_PID: pid }).watchdogMs, 30_000);
  t.equal(serviceManager({ WATCHDOG_USEC: '30000000', WATCHDOG_PID: `${pid}0` }).watchdogMs, undefined);
  for (const micros of ['', '0', '-1', 'soon'])
    t.equal(serviceManager({ WATCHDOG_USEC: micros }).watchdogMs, undefined);
});

t.test('the list of changes names who ran a command: the user, and behind sudo who called it', async (t) => {
  const user = `${userInfo().username}@${hostname()}`;
  t.equal(operatorName({}), `${user} (command line)`);
  t.equal(operatorName({ SUDO_USER: 'ann' }), `ann as ${user} (command line)`);
});
