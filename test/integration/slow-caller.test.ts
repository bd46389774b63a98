// A caller that does not read for a while. What the gateway holds for it must go out when it reads again, also when the
// backend has nothing more to say.
import t from 'tap';
import { backendFor, startDeployment } from '../support/deployment.js';
import { encodeRequest, RawConnection } from '../support/raw-http.js';
import { until } from '../support/until.js';

/** More than the kernel takes in for a caller that does not read. */
const LARGE_BYTES = 8 * 1024 * 1024;
/** Less than the silence after which the gateway writes a comment line, which would push out what is stuck. */
const READ_MS_MAX = 8_000;

t.test('an event that a slow caller has not read all of arrives whole, though nothing follows it', async (t) => {
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => (finish = resolve));
  t.teardown(() => finish());
  const backend = await backendFor(t, {
    answerAs: 'event-stream',
    framing: 'chunked',
    onCall: async (call) => {
      const params = { progressToken: 'p', progress: 1, message: 'x'.repeat(LARGE_BYTES) };
      await call.notify('notifications/progress', params);
      await finished;
    },
  });
  const deployment = await startDeployment(t, { workerCount: 1 });
  const caller = await deployment.caller({ one: { url: backend.url } });
  const session = await caller.openSession();
  const connection = await RawConnection.open(caller.origin);
  t.teardown(() => connection.close());
  connection.pause();
  const params = '{"name":"one-echo","_meta":{"progressToken":"p"}}';
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
  connection.write(encodeRequest(caller.origin, caller.request({ session: session.id, body })));
  await until(() => {
    const upstream = backend.calls[0]?.request.connection;
    return upstream !== undefined && upstream.bytesWritten > LARGE_BYTES && upstream.writableLength === 0;
  }, 'the event to be in the gateway');
  t.equal((await session.send('{"jsonrpc":"2.0","id":2,"method":"ping"}')).status, 200, 'others are served meanwhile');
  const resumedAtMs = performance.now();
  connection.resume();
  await until(() => connection.unread.length > LARGE_BYTES, 'the whole event');
  t.ok(performance.now() - resumedAtMs < READ_MS_MAX, 'without waiting for anything to follow');
});
