// The program that the primary forks for a worker, as a process of its own; the test is its primary.
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import type { DataplaneOptions } from '../../src/config/dataplane-options.js';
import type { FromWorker, ToWorker } from '../../src/process/messages.js';
import { PROGRAM_VERSION } from '../../src/shared/program.js';
import { tokenOptions } from '../auth/token-options.js';
import { stubOptions } from '../primary/stub-options.js';
import { findFreePort } from '../support/free-port.js';
import { killWithProcess } from '../support/leftovers.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

interface Scene {
  readonly process: ChildProcess;
  readonly sent: FromWorker[];
  /** Resolves to its exit status, or the signal that ended it. */
  readonly ended: () => Promise<number | string | null>;
  readonly tell: (message: ToWorker) => void;
}

function forkWorker(): Scene {
  const program = fileURLToPath(new URL('../../src/worker/main.js', import.meta.url));
  const child = fork(program, { serialization: 'advanced', env: { ...process.env, NODE_OPTIONS: '' } });
  killWithProcess(child);
  const sent: FromWorker[] = [];
  const ended = async (): Promise<number | string | null> => {
    await until(() => child.exitCode !== null || child.signalCode !== null, 'its end');
    return child.exitCode ?? child.signalCode;
  };
  child.on('message', (message) => sent.push(message as FromWorker));
  return { process: child, sent, ended, tell: (message) => void child.send(message) };
}

async function startOf(t: Test, changes: Partial<DataplaneOptions> = {}): Promise<ToWorker> {
  const directory = createScratchDirectory(t);
  const options = stubOptions({
    address: { host: '127.0.0.1', port: await findFreePort() },
    store: { kind: 'embedded', path: join(directory, 'store') },
    token: tokenOptions({ secret: Buffer.alloc(32, 7) }),
    logLevel: 'silent',
    ...changes,
  });
  const hop = { hopDirectory: directory, hopSecret: new Uint8Array(32) };
  return { kind: 'start', slot: 0, slotCount: 1, options, ...hop, bootstrapModule: undefined };
}

t.test('before it starts, a worker has nothing to forget or to stop, and leaves signals to its primary', async (t) => {
  const { process: child, sent, ended, tell } = forkWorker();
  tell({ kind: 'forget', subject: 'alice', ticket: 5 });
  await until(() => sent.length > 0, 'the answer');
  t.same(sent, [{ kind: 'forgotten', ticket: 5 }]);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) child.kill(signal);
  tell({ kind: 'forget', subject: 'alice', ticket: 6 });
  await until(() => sent.length > 1, 'another answer');
  tell({ kind: 'stop', withinMs: 60_000, farewellsMs: 0 });
  t.equal(await ended(), 0);
});

t.test('a worker that cannot start says why, and ends', async (t) => {
  const { sent, ended, tell } = forkWorker();
  tell(await startOf(t, { address: { host: '192.0.2.1', port: 80 } }));
  await until(() => sent.length > 0, 'the reason');
  await ended();
  t.match(sent.at(-1), { kind: 'start-failed', reason: /192\.0\.2\.1/ });
});

t.test('a worker says its version when it listens, then that it is alive, and ends with its primary', async (t) => {
  const { process: child, sent, ended, tell } = forkWorker();
  tell(await startOf(t, { workerHangTimeoutMs: 100 }));
  await until(() => sent.some(({ kind }) => kind === 'heartbeat'), 'a heartbeat');
  const kinds = sent.map(({ kind }) => kind);
  t.match(sent[kinds.indexOf('listening')], { version: PROGRAM_VERSION });
  t.ok(kinds.indexOf('listening') < kinds.indexOf('heartbeat'));
  child.disconnect();
  t.equal(await ended(), 0);
});
