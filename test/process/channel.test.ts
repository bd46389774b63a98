import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { receiveFromWorker, sendHeartbeats, sendToWorker } from '../../src/process/channel.js';
import { isFromWorker, isToWorker, type FromWorker, type ToWorker } from '../../src/process/messages.js';

function forkEcho(t: Test): ChildProcess {
  const worker = fork(new URL('echo-worker.js', import.meta.url), {
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'ignore', 'ipc'],
  });
  t.teardown(() => worker.kill('SIGKILL'));
  return worker;
}

const start = {
  kind: 'start',
  slot: 0,
  slotCount: 1,
  options: {},
  hopDirectory: '/run/x',
  hopSecret: new Uint8Array(32),
  bootstrapModule: undefined,
};
const toWorker = [
  start,
  { ...start, hopSecret: Buffer.alloc(32), bootstrapModule: 'file:///x' },
  { kind: 'retire' },
  { kind: 'announce-drain' },
  { kind: 'drain' },
  { kind: 'stop', withinMs: 5_000, farewellsMs: 4_000 },
  { kind: 'forget', subject: '', ticket: 0 },
  { kind: 'all-forgotten', ticket: 1 },
  { kind: 'readiness', isReady: true },
  { kind: 'report', ticket: 1 },
  { kind: 'view', ticket: 1, question: { view: 'worker' } },
  { kind: 'view', ticket: 1, question: { view: 'explain', subject: 's', virtualHost: 'v', tool: '' } },
  { kind: 'log-level', level: 'debug' },
];
const fromWorker = [
  { kind: 'listening' },
  { kind: 'listening', version: '1.2.3' },
  { kind: 'start-failed', reason: '' },
  { kind: 'left' },
  { kind: 'drained' },
  { kind: 'heartbeat' },
  { kind: 'store', obstacle: '' },
  { kind: 'keys', obstacle: '', isInTheWay: false },
  { kind: 'report', ticket: 1, series: [{ name: 'switchyard_sessions', labels: [], value: 1 }] },
  { kind: 'view', ticket: 1, answer: 'null' },
  { kind: 'written', subject: 's', ticket: 1 },
  { kind: 'forgotten', ticket: 1 },
];
const strays = [
  undefined,
  null,
  'drain',
  1,
  [],
  {},
  { kind: undefined },
  { kind: 'keys', obstacle: 1, isInTheWay: false },
  { kind: 'keys', obstacle: '', isInTheWay: 'no' },
  { kind: 'view', ticket: 1, question: { view: 'explain', subject: 's', virtualHost: 'v' } },
  { kind: 'view', ticket: 1, question: { view: 'request' } },
  { kind: 'view', ticket: 1, question: { view: 'constructor' } },
  { kind: 'DRAIN' },
  { kind: ['drain'] },
  { kind: 'toString' },
  { kind: '__proto__' },
];

t.test('each message belongs to its own set alone', (t) => {
  for (const message of toWorker) t.same([isToWorker(message), isFromWorker(message)], [true, false], message.kind);
  for (const message of fromWorker) t.same([isToWorker(message), isFromWorker(message)], [false, true], message.kind);
  for (const stray of strays) t.same([isToWorker(stray), isFromWorker(stray)], [false, false], JSON.stringify(stray));
  t.end();
});

t.test('a message with a member of the wrong type is not recognized', (t) => {
  for (const message of [...toWorker, ...fromWorker]) {
    for (const name of Object.keys(message)) {
      const broken = { ...message, [name]: Symbol('wrong') };
      t.notOk(isToWorker(broken) || isFromWorker(broken), `${message.kind}.${name}`);
    }
  }
  t.end();
});

t.test('a message passes through a real process and back', async (t) => {
  const worker = forkEcho(t);
  const received = new Promise<FromWorker>((resolve) =>
    receiveFromWorker(worker, resolve, () => t.fail('nothing stray was sent')),
  );
  const message: ToWorker = { kind: 'forget', subject: '\u{1F500}\0', ticket: 3 };
  sendToWorker(worker, message);
  t.same(await received, { kind: 'start-failed', reason: JSON.stringify(message) });
});

t.test('a stray message ends the worker', async (t) => {
  const worker = forkEcho(t);
  worker.send({ kind: 'toString' });
  const [status] = (await once(worker, 'exit')) as [number];
  t.equal(status, 1);
});

t.test('on a closed channel nothing is sent, and nothing fails', async (t) => {
  const worker = forkEcho(t);
  worker.once('error', (error) => t.fail(error.message));
  sendToWorker(worker, { kind: 'stop', withinMs: 5_000, farewellsMs: 4_000 });
  await once(worker, 'message'); // the worker is up
  worker.disconnect();
  sendToWorker(worker, { kind: 'drain' });
  const [status] = (await once(worker, 'exit')) as [number];
  t.equal(status, 7, 'the worker has sent into the closed channel too, and heard of the disconnect twice');
});

t.test('sending to a worker that has just been killed does not fail', async (t) => {
  const worker = forkEcho(t);
  worker.once('error', (error) => t.fail(error.message));
  await once(worker, 'spawn');
  worker.kill('SIGKILL');
  // Long before this process learns of the exit, far more than the socket can buffer is written to a closing channel.
  for (let ticket = 0; ticket < 1_000; ticket++) sendToWorker(worker, { kind: 'all-forgotten', ticket });
  await once(worker, 'close');
  t.pass();
});

t.test('a worker that closes the channel on a delayed message ends in order', async (t) => {
  const worker = fork(new URL('echo-worker.js', import.meta.url), {
    serialization: 'advanced',
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, LEAVES: 'yes' },
  });
  t.teardown(() => worker.kill('SIGKILL'));
  let errors = '';
  worker.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
  if (worker.stdout !== null) await once(worker.stdout, 'data');
  const closed = once(worker, 'close');
  await new Promise((resolve) => worker.send({ kind: 'drain' }, resolve));
  worker.kill('SIGUSR2');
  t.same(await closed, [0, null]);
  t.equal(errors, '');
});

t.test('a worker shows that it is alive several times within the time after which it counts as hung', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const sent: FromWorker[] = [];
  const never = (): void => void t.fail('only sends');
  const primary = { send: (message: FromWorker) => void sent.push(message), onMessage: never, onDisconnect: never };
  for (const [hangTimeoutMs, withinMs, count] of [
    [2_000, 2_000, 4],
    [60_000, 60_000, 24],
    [2, 2, 2],
    [0, 60_000, 0],
  ] as const) {
    sent.length = 0;
    sendHeartbeats(primary, hangTimeoutMs);
    mock.timers.tick(withinMs);
    t.same(
      sent,
      Array.from({ length: count }, () => ({ kind: 'heartbeat' })),
      `${hangTimeoutMs} ms`,
    );
    mock.timers.reset();
    mock.timers.enable({ apis: ['setInterval'] });
  }
});
