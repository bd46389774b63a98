import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import {
  HOP_DIRECTORIES_SWEPT_MAX,
  makeHopDirectory,
  UNIX_SOCKET_PATH_BYTES_MAX,
  type HopDirectory,
} from '../../src/primary/hop-directory.js';
import { SOCKET_CHECK_MS } from '../../src/process/restored-socket.js';
import { hasten } from '../support/hasten.js';
import { logInto } from '../support/log-lines.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

const lines: string[] = [];
const logger = logInto(lines);

/** Sets TMPDIR, which os.tmpdir() reads at each call. */
function setTmpdir(test: Test, path: string): string {
  const before = process.env.TMPDIR;
  process.env.TMPDIR = path;
  test.teardown(() => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  });
  return path;
}

async function removedAfter(t: Test, slotCount: number): Promise<HopDirectory> {
  const directory = await makeHopDirectory(slotCount, logger);
  t.teardown(() => directory.remove());
  return directory;
}

/** Leaves what a killed primary leaves: libuv removes a socket's file when the socket is closed, so a rename keeps it. */
async function leaveBehind(parent: string, name: string): Promise<string> {
  const path = join(parent, name);
  mkdirSync(path, { mode: 0o700 });
  const server = createServer().listen(join(path, 'made.sock'));
  await once(server, 'listening');
  renameSync(join(path, 'made.sock'), join(path, 'primary.sock'));
  server.close();
  writeFileSync(join(path, 'slot-0.sock'), '');
  return path;
}

t.test('the directory is private, and removed with its contents', async (t) => {
  setTmpdir(t, createScratchDirectory(t));
  const directory = await removedAfter(t, 2);
  t.equal(statSync(directory.path).mode & 0o777, 0o700);
  writeFileSync(join(directory.path, 'slot-0.sock'), '');
  await directory.remove();
  t.notOk(existsSync(directory.path));
});

t.test('a socket path that does not fit is refused, and nothing is left behind', async (t) => {
  // In a short directory, because the path has to end exactly at the limit.
  const probe = await removedAfter(t, 1);
  const randomPart = '/switchyard-XXXXXX/slot-99.sock.4194304'.length;
  const parent = probe.path + '/'.padEnd(UNIX_SOCKET_PATH_BYTES_MAX - probe.path.length - randomPart, 'd');
  mkdirSync(parent);
  setTmpdir(t, parent);
  await (await makeHopDirectory(100, logger)).remove();
  await t.rejects(makeHopDirectory(101, logger), { exitStatus: 73, message: /too long.*TMPDIR/ });
  t.same(readdirSync(parent), []);
});

t.test('a parent directory that does not exist is refused', async (t) => {
  setTmpdir(t, '/nowhere/at/all');
  const message = /cannot make a directory in \/nowhere.*TMPDIR/;
  await t.rejects(makeHopDirectory(1, logger), { exitStatus: 73, message });
});

t.test('leftovers of killed primaries are removed; directories in use, in doubt or of others stay', async (t) => {
  const parent = setTmpdir(t, createScratchDirectory(t));
  const inUse = await removedAfter(t, 1);
  const dead = [await leaveBehind(parent, 'switchyard-dead01'), await leaveBehind(parent, 'switchyard-dead02')];
  const stays = [inUse.path];
  for (const name of ['switchyard-backups', 'switchyard-dead-3', 'other-switchyard-dead01']) {
    stays.push(await leaveBehind(parent, name));
  }
  const open = await leaveBehind(parent, 'switchyard-open01');
  chmodSync(open, 0o755);
  const beingMade = join(parent, 'switchyard-making');
  mkdirSync(beingMade, { mode: 0o700 });
  const justMade = join(parent, 'switchyard-made01');
  mkdirSync(justMade, { mode: 0o700 });
  stays.push(open, beingMade, justMade);

  lines.length = 0;
  const made = await removedAfter(t, 1);
  for (const path of dead) t.notOk(existsSync(path), path);
  const told = lines.filter((line) => line.includes('leftovers')).map((line) => JSON.parse(line) as { path: string });
  t.same(told.map(({ path }) => path).sort(), dead, 'each is told of, for who looks for its files');
  for (const path of [...stays, made.path]) t.ok(existsSync(path), path);
});

t.test('of very many leftovers some are left to the next start, so that this one is not held up', async (t) => {
  const parent = setTmpdir(t, createScratchDirectory(t));
  const first = await leaveBehind(parent, 'switchyard-000000');
  for (let count = 1; count <= HOP_DIRECTORIES_SWEPT_MAX; count += 1) {
    const next = join(parent, `switchyard-${String(count).padStart(6, '0')}`);
    mkdirSync(next, { mode: 0o700 });
    linkSync(join(first, 'primary.sock'), join(next, 'primary.sock'));
  }
  await (await removedAfter(t, 1)).remove();
  t.equal(readdirSync(parent).length, 1);
  await (await removedAfter(t, 1)).remove();
  t.same(readdirSync(parent), []);
});

t.test('a directory that is removed while in use is made again, and still held', async (t) => {
  t.teardown(hasten(SOCKET_CHECK_MS, 10));
  const directory = await removedAfter(t, 1);
  rmSync(directory.path, { recursive: true });
  await until(() => existsSync(join(directory.path, 'primary.sock')), 'the directory is back');
  await until(
    () => lines.some((line) => line.includes('"level":40') && line.includes(directory.path)),
    'the log says so',
  );
  const socket = connect(join(directory.path, 'primary.sock'));
  await once(socket, 'connect');
  socket.destroy();
  t.equal(statSync(directory.path).mode & 0o777, 0o700);
});
