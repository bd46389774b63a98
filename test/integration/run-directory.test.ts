// The directory of the hop sockets is removed while the gateway serves, by a cleaner of temporary files or by hand.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ownerOf } from '../../src/worker/session-id.js';
import { backendFor, startDeployment, type ConfiguredCaller } from '../support/deployment.js';
import { launchProgram, type Gateway } from '../support/gateway.js';
import { KeptCaller } from '../support/kept-caller.js';
import type { McpSession } from '../support/mcp-caller.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

const WORKERS = 3;
const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

function hopDirectories(temporary: string): string[] {
  return readdirSync(temporary).map((name) => join(temporary, name));
}

/** One session owned by each worker. */
async function openSessions(caller: ConfiguredCaller): Promise<McpSession[]> {
  const sessions = new Map<number, McpSession>();
  await until(async () => {
    const session = await caller.openSession();
    sessions.set(ownerOf(session.id, WORKERS), session);
    return sessions.size === WORKERS;
  }, 'a session of each worker');
  return [...sessions.values()];
}

/** Whether each session answers over new connections, which may reach workers other than its owner. */
async function isAnsweredEverywhere(caller: ConfiguredCaller, sessions: readonly McpSession[]): Promise<boolean> {
  for (let round = 0; round < 4; round++) {
    const kept = await KeptCaller.connect(caller);
    try {
      for (const session of sessions) if ((await kept.use(session).call('one-echo')).status !== 200) return false;
    } finally {
      kept.close();
    }
  }
  return true;
}

function isEnded(pid: number): boolean {
  return !existsSync(`/proc/${pid}`);
}

/** The directory also holds the records of sessions, which are left out here. */
function socketsIn(directory: string): string[] {
  return readdirSync(directory).filter((name) => name !== 'sessions');
}

t.test('the directory of the hop sockets is removed, and then a worker is killed', async (t) => {
  const temporary = createScratchDirectory(t);
  const backend = await backendFor(t, { withSessions: true });
  const deployment = await startDeployment(t, { workerCount: WORKERS, environment: { TMPDIR: temporary } });
  const { gateway } = deployment;
  const caller = await deployment.caller({ one: { url: backend.url } });
  const [directory = ''] = hopDirectories(temporary);

  rmSync(directory, { recursive: true });
  const [victim = 0] = gateway.workerPids();
  process.kill(victim, 'SIGKILL');
  await until(() => gateway.logs.some(({ msg }) => msg === 'worker listening'), 'the worker that takes its place');
  await until(() => socketsIn(directory).length === WORKERS + 1, 'every socket and the primary’s');
  t.ok(await isAnsweredEverywhere(caller, await openSessions(caller)));
  t.same(hopDirectories(temporary), [directory]);

  await t.test('a file in place of the directory keeps a worker from starting; the others serve', async () => {
    rmSync(directory, { recursive: true });
    writeFileSync(directory, 'in the way');
    const pids = gateway.workerPids();
    process.kill(pids[0]!, 'SIGKILL');
    const failures = (): number => gateway.logs.filter(({ msg }) => msg === 'worker cannot start').length;
    await until(() => failures() > 0, 'the failure of its start');
    // Workers that have no link to each other yet cannot make one now: such a request gets 503, and never 404.
    const kept = await KeptCaller.connect(caller);
    const session = await kept.openSession();
    t.equal((await session.call('one-echo')).status, 200);
    kept.close();
    for (let round = 0; round < 8; round++) {
      const { status } = await caller.send({ session: session.id, body: PING });
      t.ok(status === 200 || status === 503, `over another connection: ${status}`);
    }
    const running = gateway.workerPids();
    t.ok(pids.slice(1).every((pid) => running.includes(pid)));

    rmSync(directory);
    const listening = (): number => gateway.logs.filter(({ msg }) => msg === 'worker listening').length;
    await until(() => listening() === 2, 'the slot is served again, by itself');
    await until(() => socketsIn(directory).length === WORKERS + 1, 'every socket and the primary’s');
    t.ok(await isAnsweredEverywhere(caller, await openSessions(caller)));
  });

  t.same(await gateway.stop(), { code: 0, signal: null });
  t.same(hopDirectories(temporary), [], 'nothing is left behind');
});

t.test('a primary that is killed takes its workers with it, and the next one removes its directory', async (t) => {
  const temporary = createScratchDirectory(t);
  const storePath = join(createScratchDirectory(t), 'store');
  const words = ['dataplane', '--address', '127.0.0.1:0', '--store-path', storePath, '--number-of-cpus', '2'];
  const start = async (): Promise<Gateway> => {
    const gateway = launchProgram(t, words, { environment: { TMPDIR: temporary } });
    await gateway.waitUntilListening();
    return gateway;
  };
  const killed = await start();
  const workers = killed.workerPids();
  t.equal(workers.length, 2);
  const left = hopDirectories(temporary);
  killed.signal('SIGKILL');
  await until(() => workers.every(isEnded), 'its workers to end');

  mkdirSync(join(temporary, 'of-others'));
  const next = await start();
  const now = hopDirectories(temporary);
  t.equal(now.length, 2, 'its own, and what is none of a gateway’s');
  t.ok(left.every((path) => !now.includes(path)));
  await next.stop();
});

t.test(
  'a worker that hangs while its primary is killed ends too, and its port is free for the next gateway',
  async (t) => {
    const storePath = join(createScratchDirectory(t), 'store');
    const start = async (address: string): Promise<Gateway> => {
      const words = ['dataplane', '--address', address, '--store-path', storePath, '--number-of-cpus', '2'];
      const gateway = launchProgram(t, words);
      await gateway.waitUntilListening();
      return gateway;
    };
    const killed = await start('127.0.0.1:0');
    const { host } = new URL(killed.origin);
    const workers = killed.workerPids();
    t.equal(workers.length, 2);
    const [hanging = 0] = workers;
    t.teardown(() => {
      if (!isEnded(hanging)) process.kill(hanging, 'SIGKILL');
    });
    process.kill(hanging, 'SIGSTOP');
    killed.signal('SIGKILL');
    await until(() => workers.every(isEnded), 'its workers to end');
    const next = await start(host);
    await next.stop();
  },
);
