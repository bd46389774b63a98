// The disk of the session directory is full: a failed write costs durability and nothing else. Sessions begin and continue,
// recorded ones survive their worker, no caller waits, and once there is room new sessions are recorded again.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Scene } from '../support/beside.js';
import { childPids } from '../support/child-pids.js';
import { backendFor, startDeployment } from '../support/deployment.js';
import { inParallel } from '../support/in-parallel.js';
import type { McpSession } from '../support/mcp-caller.js';
import { SmallDisk, whyNoSmallDisk } from '../support/small-disk.js';
import { until } from '../support/until.js';
import { startVictim } from '../support/victim.js';

const DISK_BYTES = 33_554_432;
const SESSIONS = 300;
const LANES = 8;

async function isServed(session: McpSession): Promise<boolean> {
  const { status, text } = await session.call('one-echo', '{"x":1}');
  return status === 200 && text.includes('"structuredContent":{"x":1}');
}

/** Kills the worker, which owns all sessions, and waits until the next one serves a session that has a record. */
async function killWorker({ deployment: { gateway } }: Scene, session: McpSession): Promise<void> {
  const pids = gateway.workerPids();
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  await until(() => !childPids(gateway.pid).some((pid) => pids.includes(pid)), 'the killed worker to be gone');
  await until(() => isServed(session).catch(() => false), 'the next one to serve a session that was written down');
}

async function check(t: Test, place: 'process' | 'store'): Promise<void> {
  const disk = new SmallDisk(t, DISK_BYTES);
  const [temporary, store] = [join(disk.path, 'temporary'), join(disk.path, 'store')];
  mkdirSync(temporary);
  const backend = await backendFor(t, { withSessions: true });
  const deployment = await startDeployment(t, {
    workerCount: 1,
    storeOptions: { kind: 'embedded', path: store },
    options: ['--session-directory', place],
    environment: { TMPDIR: temporary },
  });
  const { gateway } = deployment;
  const scene = { deployment, victim: await startVictim(t, deployment) };
  const caller = await deployment.caller({ one: { url: backend.url } });
  const first = await caller.openSession();
  const sessions: McpSession[] = [];
  disk.fill();

  const openMany = async (): Promise<void> => {
    const served: boolean[] = [];
    await inParallel([...Array(SESSIONS).keys()], LANES, async () => {
      const session = await caller.openSession();
      served.push(await isServed(session));
      sessions.push(session);
    });
    t.ok(served.every(Boolean), 'sessions begin and are served');
  };
  // lmdb itself writes to standard error, which `checkBeside` would reject.
  t.same((await scene.victim.during(openMany)).failures, [], 'another caller does not notice');
  t.ok(await isServed(first), 'one that was there goes on');
  const failures = gateway.logs.filter(({ msg }) => String(msg).startsWith('the session directory fails'));
  t.ok(
    failures.length > 0 && failures.length < SESSIONS,
    `that they are not written down is logged: ${failures.length}`,
  );
  // LMDB calls it an I/O error if the disk took the beginning of what it wrote.
  t.match(failures[0], { level: 40, reason: /^No space left on device|^Input\/output error/ });
  const said = gateway.errorOutput.match(/^Write error/gm)?.length ?? 0;
  t.ok(said < SESSIONS / 2, `nor is it said on standard error about each: ${said} times`);

  await killWorker(scene, first);
  const statuses = await Promise.all(sessions.map(async (session) => (await session.call('one-echo')).status));
  t.ok(statuses.includes(404), 'what was not written down ends with its worker');
  t.same(
    statuses.filter((status) => status !== 404 && status !== 200),
    [],
    'and nothing else becomes of any',
  );
  t.ok(await isServed(await caller.openSession()), 'others begin');

  disk.empty();
  const outlives = async (): Promise<boolean> => {
    const session = await caller.openSession();
    await killWorker(scene, first);
    return isServed(session);
  };
  await until(outlives, 'sessions to be written down again, once there is room');
  t.same(await gateway.stop(), { code: 0, signal: null });
}

for (const place of ['process', 'store'] as const) {
  t.test(`--session-directory ${place}`, { skip: whyNoSmallDisk() }, (t) => check(t, place));
}
