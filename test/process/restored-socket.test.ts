import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { ensurePrivateFolder, isPrivateFolder, RestoredSocket } from '../../src/process/restored-socket.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

interface Stage {
  readonly folder: string;
  readonly path: string;
  readonly socket: RestoredSocket;
  readonly accepted: Socket[];
  readonly faults: string[];
  renewals: number;
}

async function startSocket(t: Test): Promise<Stage> {
  const folder = join(createScratchDirectory(t), 'run');
  const path = join(folder, 'it.sock');
  const stage: Stage = {
    folder,
    path,
    accepted: [],
    faults: [],
    renewals: 0,
    socket: new RestoredSocket(path, {
      onConnection: (socket) => stage.accepted.push(socket),
      onRecreated: () => stage.renewals++,
      onFault: (reason) => stage.faults.push(reason),
      connectionsMax: 10,
      checkIntervalMs: 5,
    }),
  };
  await stage.socket.listen();
  t.teardown(() => {
    for (const socket of stage.accepted) socket.destroy();
    return stage.socket.close();
  });
  return stage;
}

async function reach(t: Test, path: string): Promise<Socket> {
  const socket = connect(path);
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

t.test('folder and socket are for their user alone, and the socket is removed at the close', async (t) => {
  const { folder, path, socket } = await startSocket(t);
  t.equal(statSync(folder).mode & 0o777, 0o700);
  t.equal(statSync(path).mode & 0o777, 0o600);
  await socket.close();
  t.notOk(existsSync(path));
});

t.test('a removed folder is created again, and open connections stay open', async (t) => {
  const stage = await startSocket(t);
  const before = await reach(t, stage.path);
  await until(() => stage.accepted.length === 1, 'the first connection');
  for (const round of [1, 2]) {
    rmSync(stage.folder, { recursive: true });
    await until(() => stage.renewals === round, 'the renewal');
    t.equal(statSync(stage.folder).mode & 0o777, 0o700);
    t.equal(statSync(stage.path).mode & 0o777, 0o600);
    await reach(t, stage.path);
    await until(() => stage.accepted.length === 1 + round, 'a connection to the new socket');
  }
  const [first] = stage.accepted;
  before.write('still here');
  t.equal(String((await once(first!, 'data'))[0]), 'still here');
  t.same(stage.faults, []);
});

t.test('a socket that was removed or replaced is created again', async (t) => {
  const stage = await startSocket(t);
  rmSync(stage.path);
  await until(() => stage.renewals === 1, 'the renewal');
  rmSync(stage.path);
  writeFileSync(stage.path, 'not a socket');
  await until(() => stage.renewals > 1, 'the second renewal');
  await reach(t, stage.path);
});

t.test('a successor replaces the path in one step, and its predecessor does not interfere', async (t) => {
  const stage = await startSocket(t);
  const before = await reach(t, stage.path);
  await until(() => stage.accepted.length === 1, 'the first connection');
  let reached = 0;
  const successor = new RestoredSocket(stage.path, {
    onConnection: (socket) => {
      reached++;
      socket.destroy();
    },
    onRecreated: () => t.fail('nobody takes it back'),
    onFault: (reason) => t.fail(reason),
    connectionsMax: 10,
    checkIntervalMs: 5,
  });
  await successor.listen();
  t.teardown(() => successor.close());
  await until(async () => {
    (await reach(t, stage.path)).destroy();
    return reached > 20;
  }, 'many looks of both');
  t.equal(stage.renewals, 0);
  t.equal(stage.accepted.length, 1);
  before.destroy();
  await stage.socket.close();
  await reach(t, stage.path);
  await successor.close();
  t.notOk(existsSync(stage.path));
});

t.test('a successor that was killed leaves the path to its predecessor', async (t) => {
  const stage = await startSocket(t);
  const killed = `const net = require('node:net'); const fs = require('node:fs'); const path = process.argv[1];
    net.createServer().listen(path + '.x', () => { fs.renameSync(path + '.x', path); process.kill(process.pid, 'SIGKILL'); });`;
  t.equal(spawnSync(process.execPath, ['-e', killed, stage.path]).signal, 'SIGKILL');
  await until(() => stage.renewals === 1, 'the renewal');
  await reach(t, stage.path);
  await until(() => stage.accepted.some(({ destroyed }) => !destroyed), 'a connection to the one before');
});

t.test('a socket that cannot be created again is reported once, retried, and created in the end', async (t) => {
  const stage = await startSocket(t);
  rmSync(stage.folder, { recursive: true });
  writeFileSync(stage.folder, 'in the way');
  await until(() => stage.faults.length > 0, 'the fault');
  const { ctimeMs } = statSync(stage.folder);
  // The path is checked every 5 ms.
  await until(() => Date.now() - ctimeMs > 200, 'many more looks');
  t.equal(stage.faults.length, 1);
  rmSync(stage.folder);
  await until(() => stage.renewals === 1, 'the renewal');
  await reach(t, stage.path);
});

t.test('nothing is created again after the close', async (t) => {
  const stage = await startSocket(t);
  rmSync(stage.folder, { recursive: true });
  await stage.socket.close();
  const closedMs = performance.now();
  await until(() => performance.now() - closedMs > 100, 'many more looks');
  t.notOk(existsSync(stage.path));
});

t.test('a connection beyond the limit is closed', async (t) => {
  const stage = await startSocket(t);
  for (let count = 1; count <= 10; count++) {
    await reach(t, stage.path);
    await until(() => stage.accepted.length === count, 'the connection');
  }
  const excess = await reach(t, stage.path);
  await once(excess, 'close');
  t.equal(stage.accepted.length, 10);
  stage.accepted[0]?.destroy();
  await until(async () => {
    await reach(t, stage.path);
    return stage.accepted.length === 11;
  }, 'room for another one');
});

t.test('a folder that others can enter is refused', async (t) => {
  const folder = join(createScratchDirectory(t), 'open');
  mkdirSync(folder);
  for (const mode of [0o755, 0o710, 0o701]) {
    chmodSync(folder, mode);
    t.throws(() => ensurePrivateFolder(folder), /not a folder that only this user can access/);
  }
  chmodSync(folder, 0o700);
  ensurePrivateFolder(folder);
  if (process.getuid?.() !== 0) return;
  chownSync(folder, 65_534, 65_534);
  t.throws(() => ensurePrivateFolder(folder), /not a folder that only this user can access/, 'nor one of another user');
});

t.test('a socket that is closed while it is being created again is not', async (t) => {
  const stage = await startSocket(t);
  rmSync(stage.folder, { recursive: true });
  while (!existsSync(stage.folder)) await turn();
  await stage.socket.close();
  const closedMs = performance.now();
  await until(() => performance.now() - closedMs > 100, 'many more looks');
  t.notOk(existsSync(stage.path));
  t.equal(stage.renewals, 0);
});

t.test('looking after a socket that is there does not connect to it', async (t) => {
  const stage = await startSocket(t);
  const startedMs = performance.now();
  await until(() => performance.now() - startedMs > 100, 'many looks');
  (await reach(t, stage.path)).destroy();
  await until(() => stage.accepted.length > 0, 'the only connection');
  t.equal(stage.accepted.length, 1);
});

t.test('a socket that was prepared and never taken can be closed, and its predecessor stays', async (t) => {
  const { path } = await startSocket(t);
  const unborn = (at: string): RestoredSocket =>
    new RestoredSocket(at, { onConnection: () => {}, onRecreated: () => {}, onFault: () => {}, connectionsMax: 10 });
  for (const at of [path, `${path}.absent`]) {
    const socket = unborn(at);
    await socket.prepare();
    await socket.close();
  }
  (await reach(t, path)).destroy();
});

t.test('the path is looked at every two seconds, or as often as is wished', async (t) => {
  const delays: (number | undefined)[] = [];
  const { setTimeout } = globalThis;
  t.intercept(globalThis, 'setTimeout', {
    value: (act: () => void, ms?: number) => (delays.push(ms), setTimeout(act, ms)),
  });
  const path = join(createScratchDirectory(t), 'run', 'it.sock');
  const does = { onConnection: () => {}, onRecreated: () => {}, onFault: () => {}, connectionsMax: 10 };
  for (const wish of [{}, { checkIntervalMs: 10_000 }]) {
    const socket = new RestoredSocket(path, { ...does, ...wish });
    await socket.listen();
    await socket.close();
  }
  t.same(delays, [2_000, 10_000]);
});

t.test('a folder that is not there is not private', async (t) => {
  t.equal(isPrivateFolder(join(createScratchDirectory(t), 'absent')), false);
});
