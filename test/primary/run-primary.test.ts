// Real processes: the primary as a program, stub workers, real signals.
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tokenOptions } from '../auth/token-options.js';
import t from 'tap';
import { claimAddresses } from '../../src/primary/listen-addresses.js';
import { childPids } from '../support/child-pids.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { isAlive, startPrimary, until, type LogLine } from './stub-fleet.js';
import { stubOptions } from './stub-options.js';
import { announceSignal, stubSubject, stubTicket, stubVersion } from './stub-worker.js';
import { STOP_SIGNAL_REPEAT_MS_MAX } from '../../src/process/stop-signals.js';
import { workerBounds } from '../../src/primary/worker-bounds.js';
import { PROGRAM_VERSION } from '../../src/shared/program.js';

// These tests mostly wait: for processes to start, and for the times after which the primary acts.
t.jobs = 6;

void t.test('one log line says that all listen; SIGTERM drains all, then stops all', async (t) => {
  const primary = startPrimary(t, stubOptions({ workerCount: 3 }));
  const line = await primary.logged('listening');
  t.match(line, { role: 'primary', level: 30, workers: 3, address: /^127\.0\.0\.1:[1-9]\d*$/ });

  const starts = primary.journal.entries('start');
  t.same(starts.map(({ slot }) => slot).sort(), [0, 1, 2]);
  const messages = starts.map(({ message }) => message);
  const [first] = messages;
  if (first?.kind !== 'start') throw new Error('the first message is no start');
  t.equal(`127.0.0.1:${first.options.address.port}`, line.address, 'every worker gets the one real port');
  t.ok(existsSync(first.hopDirectory));
  for (const [index, message] of messages.entries())
    t.same(message, { ...first, slot: starts[index]?.slot }, 'workers differ in their slot alone');

  primary.process.kill('SIGTERM');
  t.equal(await primary.ended, 0);
  const endings = primary.journal.entries().filter(({ event }) => /^(?:announce-drain|drain|stop)$/.test(event));
  t.same(
    endings.map(({ event }) => event),
    ['drain', 'drain', 'drain', 'stop', 'stop', 'stop'],
    'no worker stops before the last one has drained',
  );
  t.notOk(existsSync(first.hopDirectory), 'the hop directory is removed');
  t.equal(primary.log.filter(({ msg }) => msg === 'listening').length, 1);
});

void t.test('a killed worker is replaced in its slot, again and again, by the first start, and counted', async (t) => {
  const primary = startPrimary(t, stubOptions({ adminAddress: { host: '127.0.0.1', port: 0 } }));
  await primary.logged('listening');
  for (const round of [1, 2, 3]) {
    const before = await primary.journal.entry('listening', 1, round);
    process.kill(before.pid, 'SIGKILL');
    const after = await primary.journal.entry('listening', 1, round + 1);
    t.not(after.pid, before.pid);
    t.equal(primary.journal.entries('start', 1).length, round + 1);
  }
  t.equal(primary.journal.entries('start', 0).length, 1, 'the other slot is left alone');
  const { address } = await primary.logged('admin listener');
  const page = await fetch(`http://${String(address)}/metrics`);
  t.match(await page.text(), /^switchyard_worker_deaths_total 3$/m);
  t.match(await primary.logged('worker died; replacing it'), { slot: 1, ending: 'SIGKILL' });
  primary.process.kill('SIGINT');
  t.equal(await primary.ended, 0);
});

void t.test('the program ends with the reason when no worker starts', async (t) => {
  const primary = startPrimary(t, stubOptions({ drainNoticeMs: 60_000 }), [
    { start: 'report-failure' },
    { start: 'report-failure' },
  ]);
  t.equal(await primary.ended, 70);
  const starts = primary.journal.entries('start').length;
  const triesMax = 2 * workerBounds.workerFailedStartsMax;
  t.ok(starts === triesMax || starts === triesMax + 1, `${starts}: one more may have been under way`);
  t.match(primary.fatal(), { reason: 'the certificate is of wax', msg: /the certificate is of wax/ });
  t.notOk(primary.log.some(({ msg }) => msg === 'listening'));
});

void t.test('a slot that cannot start leaves the others serving, and the log says so', async (t) => {
  const primary = startPrimary(t, stubOptions({ workerCount: 3 }), [{}, { start: 'report-failure' }]);
  t.match(await primary.logged('listening'), { workers: 2 }, 'nobody waits for it');
  t.match(await primary.logged('some workers cannot start; the others serve alone'), { absentWorkers: 1 });
  const failure = await primary.logged('worker cannot start');
  t.match(failure, { level: 50, slot: 1, reason: 'the certificate is of wax', failedStarts: 1 });
  t.equal(primary.journal.entries('start', 0).length, 1, 'the others are left alone');
  primary.process.kill('SIGTERM');
  t.equal(await primary.ended, 0);
});

void t.test('a worker that exits before it listens is named by its exit status', async (t) => {
  const primary = startPrimary(t, stubOptions({ workerCount: 1 }), [{ start: 'exit' }]);
  t.equal(await primary.ended, 70);
  t.match(primary.fatal(), { msg: /exit status 3/ });
  const crashing = startPrimary(t, stubOptions({ workerCount: 1 }), [{ start: 'crash' }]);
  t.equal(await crashing.ended, 70);
  t.match(crashing.fatal(), { msg: /exit status 1: its error is on standard error; EMFILE/ }, 'it has said why itself');
});

void t.test('the drain timeout ends the wait for a worker that does not drain', async (t) => {
  const options = stubOptions({ drainTimeoutMs: 200 });
  const primary = startPrimary(t, options, [{ drain: 'ignore' }]);
  await primary.logged('listening');
  const signalledAtMs = performance.now();
  primary.process.kill('SIGTERM');
  t.equal(await primary.ended, 0);
  t.ok(performance.now() - signalledAtMs >= options.drainTimeoutMs - 5);
  t.match(await primary.logged('the drain timeout is over: requests in flight are aborted'), { level: 40, workers: 1 });
  t.equal(primary.journal.entries('stop').length, 2);
});

void t.test('a second signal kills the workers, but not one that comes with the first', async (t) => {
  const primary = startPrimary(t, stubOptions({ workerCount: 1 }), [{ drain: 'ignore' }]);
  await primary.logged('listening');
  const { pid } = await primary.journal.entry('listening', 0);
  const signalledAtMs = performance.now();
  primary.process.kill('SIGINT');
  primary.process.kill('SIGTERM');
  await primary.journal.entry('drain', 0);
  const impatience = setInterval(() => primary.process.kill('SIGINT'), 100);
  t.match(await primary.logged('second signal: killing the workers'), { signal: 'SIGINT' });
  // Another SIGINT during Node.js's own exit would replace the exit status.
  clearInterval(impatience);
  t.ok(performance.now() - signalledAtMs > STOP_SIGNAL_REPEAT_MS_MAX);
  t.equal(await primary.ended, 130);
  t.equal(primary.journal.entries('stop').length, 0);
  await until('the worker is gone', () => !isAlive(pid));
});

void t.test('a port in use ends the program before any worker starts', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  t.teardown(() => holder.close());
  const { port } = holder.address() as AddressInfo;
  const primary = startPrimary(t, stubOptions({ address: { host: '127.0.0.1', port } }));
  t.equal(await primary.ended, 69);
  t.match(primary.log, [{ level: 60, msg: new RegExp(`^cannot listen on 127\\.0\\.0\\.1:${port}: it is in use`) }]);
  t.same(primary.journal.entries(), []);
});

void t.test('of two gateways that start on one port at the same moment exactly one stays', async (t) => {
  const { options, release } = await claimAddresses(stubOptions());
  release();
  for (let round = 1; round <= 4; round++) {
    // The workers do not listen on anything, so only the claim keeps the second gateway away.
    const two = [0, 1].map(() => startPrimary(t, { ...options, workerCount: 1 }));
    const [loserExit, loser] = await Promise.race(two.map(async (primary) => [await primary.ended, primary] as const));
    t.equal(loserExit, 69, `round ${round}`);
    t.match(loser.fatal()?.msg, /^cannot listen on 127\.0\.0\.1:\d+: it is in use/);
    t.same(loser.journal.entries(), []);
    const winner = two.find((primary) => primary !== loser)!;
    await winner.logged('listening');
    winner.process.kill('SIGTERM');
    t.equal(await winner.ended, 0);
  }
});

void t.test('an address stays claimed while no worker listens on it, until the primary has exited', async (t) => {
  const first = startPrimary(t, stubOptions({ workerCount: 1 }));
  const [, port] = String((await first.logged('listening')).address).split(':');
  const address = { host: '0.0.0.0', port: Number(port) };
  const second = startPrimary(t, stubOptions({ address, workerCount: 1 }));
  t.equal(await second.ended, 69);
  first.process.kill('SIGKILL');
  await first.ended;
  const third = startPrimary(t, stubOptions({ address, workerCount: 1 }));
  t.match(await third.logged('listening'), { address: `0.0.0.0:${port}` });
});

for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
  void t.test(`${signal} drains`, async (t) => {
    const primary = startPrimary(t, stubOptions({ workerCount: 1 }), [], { isOnTerminal: true });
    await primary.logged('listening');
    primary.process.kill(signal);
    t.equal(await primary.ended, 0);
    t.equal(primary.journal.entries('drain').length, 1);
  });
}

void t.test('SIGHUP replaces every worker, with the options as they are now', async (t) => {
  const nextOptions = join(createScratchDirectory(t), 'options');
  const options = stubOptions();
  writeFileSync(nextOptions, JSON.stringify({ ...options, bodyBytesMax: 2_048, workerCount: 7 }));
  const primary = startPrimary(t, options, [], { nextOptions });
  const { address } = await primary.logged('listening');
  primary.process.kill('SIGHUP');
  await primary.logged('reloaded');
  t.equal(primary.journal.entries('start').length, 4, 'as many workers as before');
  for (const slot of [0, 1]) {
    const { message } = await primary.journal.entry('start', slot, 2);
    if (message?.kind !== 'start') throw new Error('no such message');
    const { bodyBytesMax, address: kept, workerCount } = message.options;
    t.same([bodyBytesMax, workerCount, `${kept.host}:${kept.port}`], [2_048, 2, address]);
    const { pid } = await primary.journal.entry('retire', slot);
    t.equal(pid, (await primary.journal.entry('start', slot)).pid, 'the first one');
    await primary.journal.entry('stop', slot);
  }
  await until('the first ones are gone', () => childPids(primary.process.pid ?? 0).length === 2);
  const linesOf = (msg: string): LogLine[] => primary.log.filter((line) => line.msg === msg);
  const ended = 'a replaced worker has ended';
  await until('the log says so', () => linesOf(ended).length === 2);
  type Fields = Readonly<Record<string, unknown>>;
  const byPid = (one: Fields, other: Fields): number => Number(one.workerPid) - Number(other.workerPid);
  for (const [msg, nth] of [
    ['a new worker has the slot', 2],
    [ended, 1],
  ] as const) {
    const expected = [0, 1].map(async (slot) => {
      const { pid } = await primary.journal.entry('start', slot, nth);
      return { level: 30, slot, workerPid: pid, version: stubVersion(slot) };
    });
    t.match(linesOf(msg).sort(byPid), (await Promise.all(expected)).sort(byPid), msg);
  }
  primary.process.kill('SIGTERM');
  t.equal(await primary.ended, 0);
});

void t.test('both listeners keep their addresses in a reload, and the log names them', async (t) => {
  const nextOptions = join(createScratchDirectory(t), 'options');
  const tls = { address: { host: '127.0.0.1', port: 0 }, certificatePath: 'c', privateKeyPath: 'k' };
  const options = stubOptions({ workerCount: 1, tls });
  writeFileSync(nextOptions, JSON.stringify({ ...options, tls: { ...tls, certificatePath: 'renewed' } }));
  const primary = startPrimary(t, options, [], { nextOptions });
  const { tlsAddress } = await primary.logged('listening');
  primary.process.kill('SIGHUP');
  await primary.logged('reloaded');
  const { message } = await primary.journal.entry('start', 0, 2);
  if (message?.kind !== 'start') throw new Error('no such message');
  const { address, certificatePath } = message.options.tls ?? tls;
  t.same([`${address.host}:${address.port}`, certificatePath], [tlsAddress, 'renewed']);
});

void t.test('options that cannot be read leave everything as it is, and the log says why', async (t) => {
  const primary = startPrimary(t, stubOptions({ workerCount: 1 }), [], { nextOptions: '/nowhere/options' });
  await primary.logged('listening');
  primary.process.kill('SIGHUP');
  const { reason } = await primary.logged('reload failed: workers that were not replaced keep serving');
  t.match(reason, /nowhere/);
  t.equal(primary.journal.entries('start').length, 1);
});

void t.test('several SIGHUPs during a reload cause one more, and none begins while the program ends', async (t) => {
  const primary = startPrimary(t, stubOptions({ workerCount: 1, drainNoticeMs: 500 }));
  const linesOf = (msg: string): LogLine[] => primary.log.filter((line) => line.msg === msg);
  await primary.logged('listening');
  primary.process.kill('SIGHUP');
  await primary.logged('reloading: replacing every worker');
  for (let count = 1; count <= 3; count++) primary.process.kill('SIGHUP');
  await until('both reloads are over', () => linesOf('reloaded').length === 2);
  primary.process.kill('SIGTERM');
  await primary.logged('draining');
  primary.process.kill('SIGHUP');
  t.equal(await primary.ended, 0);
  t.equal(linesOf('reloading: replacing every worker').length, 2);
});

void t.test('a signal during the start of the workers ends the program in order', async (t) => {
  const primary = startPrimary(t, stubOptions(), [{}, { start: 'hang' }]);
  await primary.journal.entry('start', 1);
  primary.process.kill('SIGTERM');
  t.equal(await primary.ended, 0);
  t.equal(primary.journal.entries('stop', 1).length, 1);
  t.equal(primary.fatal(), undefined);
});

void t.test('a damaged store ends the program before any worker starts', async (t) => {
  const primary = startPrimary(t, stubOptions(), [], { storeDamage: 'the store is of wax' });
  t.equal(await primary.ended, 73);
  t.match(primary.log, [{ level: 60, msg: 'the store is of wax' }]);
  t.same(primary.journal.entries(), []);
  const locked = { storeDamage: 'EACCES: permission denied', storeErrorCode: 'EACCES' };
  const other = startPrimary(t, stubOptions(), [], locked);
  t.equal(await other.ended, 73);
  t.match(other.log, [{ msg: /EACCES.*--store-path/ }], 'what a file system says is followed by advice');
});

void t.test(
  'with --drain-notice, workers hear of the drain that long before it, or until another signal',
  async (t) => {
    const primary = startPrimary(t, stubOptions({ workerCount: 1, drainNoticeMs: 300 }));
    await primary.logged('listening');
    const signalledAtMs = performance.now();
    primary.process.kill('SIGTERM');
    t.equal(await primary.ended, 0);
    t.ok(performance.now() - signalledAtMs >= 300 - 5);
    const told = primary.journal.entries().map(({ event }) => event);
    t.same(told.slice(told.indexOf('announce-drain')), ['announce-drain', 'drain', 'stop']);

    const patient = startPrimary(t, stubOptions({ workerCount: 1, drainNoticeMs: 60_000 }));
    await patient.logged('listening');
    patient.process.kill('SIGTERM');
    await patient.journal.entry('announce-drain', 0);
    const impatience = setInterval(() => patient.process.kill('SIGINT'), 100);
    await patient.logged('second signal: killing the workers');
    clearInterval(impatience);
    t.equal(await patient.ended, 130);
    t.same(patient.journal.entries('drain'), []);
  },
);

void t.test('the figures tell how many workers there are, and how well the gateway is', async (t) => {
  const adminAddress = { host: '127.0.0.1', port: 0 };
  const stubs = [{ storeStaleness: 'Redis is lost', storeObstacle: '' }, {}, { start: 'report-failure' }] as const;
  const primary = startPrimary(t, stubOptions({ workerCount: 3, adminAddress }), stubs);
  await primary.logged('listening');
  const origin = `http://${String((await primary.logged('admin listener')).address)}`;
  const figures = await (await fetch(`${origin}/metrics`)).text();
  for (const [name, value] of [
    ['switchyard_workers{state="listening"}', 2],
    ['switchyard_workers{state="absent"}', 1],
    ['switchyard_workers_silent', 0],
    ['switchyard_ready', 1],
    ['switchyard_degraded{code="worker-absent"}', 1],
    ['switchyard_degraded{code="store-unreachable"}', 1],
    [`switchyard_build_info{version="${PROGRAM_VERSION}"}`, 1],
    ['switchyard_sessions', 20],
  ] as const)
    t.ok(figures.split('\n').includes(`${name} ${value}`), name);
  t.match(await (await fetch(`${origin}/workers`)).json(), {
    workers: [{ slot: 0 }, { slot: 1 }, { slot: 2, pid: null }],
  });

  const plain = startPrimary(t, stubOptions({ workerCount: 1, adminAddress, metrics: false, token: tokenOptions() }));
  const silent = `http://${String((await plain.logged('admin listener')).address)}`;
  t.equal((await fetch(`${silent}/metrics`)).status, 404, 'there are none without --metrics');
  t.equal((await fetch(`${silent}/live`)).status, 200);
});

void t.test(
  'systemd learns when the gateway is ready, reloads, why a reload has failed, and that it stops',
  async (t) => {
    const folder = createScratchDirectory(t);
    const [sent, nextOptions] = [join(folder, 'sent'), join(folder, 'options')];
    writeFileSync(join(folder, 'systemd-notify'), `#!/bin/sh\nfor word; do echo "$word"; done >>${sent}\n`, {
      mode: 0o755,
    });
    const path = `${folder}:${process.env['PATH']}`;
    const options = stubOptions({ workerCount: 1 });
    const primary = startPrimary(t, options, [], { notifySocket: '/run/notify', path, nextOptions });
    const isTold = async (words: string): Promise<unknown> =>
      until(`systemd is told ${words}`, () => existsSync(sent) && readFileSync(sent, 'utf8').includes(words));
    await isTold('STATUS=not ready: 1 worker is not listening (yet)\n');
    await isTold('READY=1\n');
    await isTold('STATUS=ready: 1 of 1 workers are listening\n');
    primary.process.kill('SIGHUP');
    await isTold('RELOADING=1\n');
    await isTold('STATUS=ready: 1 of 1 workers are listening; the last reload failed: ENOENT');
    writeFileSync(nextOptions, JSON.stringify(options));
    rmSync(sent);
    primary.process.kill('SIGHUP');
    await isTold('STATUS=ready: 1 of 1 workers are listening\nREADY=1\n');
    primary.process.kill('SIGTERM');
    t.equal(await primary.ended, 0);
    await isTold('STOPPING=1\n');
  },
);

void t.test('a worker that restarts again and again leaves nothing behind in the primary', async (t) => {
  const primary = startPrimary(t, stubOptions({ workerCount: 1 }));
  await primary.logged('listening');
  const openFiles = (): number => readdirSync(`/proc/${primary.process.pid}/fd`).length;
  const killNth = async (nth: number): Promise<void> => {
    process.kill((await primary.journal.entry('listening', 0, nth)).pid, 'SIGKILL');
    await primary.journal.entry('listening', 0, nth + 1);
  };
  await killNth(1);
  const before = openFiles();
  for (let nth = 2; nth <= 5; nth++) await killNth(nth);
  await until('what belonged to the dead is closed', () => openFiles() <= before);
  t.equal(childPids(primary.process.pid ?? 0).length, 1, 'and no process is left over');
});

void t.test('a signal in the first moments of the program ends it in order, or at once', async (t) => {
  const temporary = createScratchDirectory(t);
  for (const delayMs of [0, 50, 100, 200, 400]) {
    const primary = startPrimary(t, stubOptions({ workerCount: 1 }), [], { environment: { TMPDIR: temporary } });
    await sleep(delayMs); // deliberate: the test varies the moment of the signal
    primary.process.kill('SIGTERM');
    const ending = await primary.ended;
    t.ok(ending === 0 || ending === 'SIGTERM', `after ${delayMs} ms: ${ending}`);
  }
  t.same(readdirSync(temporary), [], 'no directory is left behind');
});

void t.test('a hop directory that cannot be created ends the program', async (t) => {
  const primary = startPrimary(t, stubOptions(), [], { environment: { TMPDIR: '/nowhere/at/all' } });
  t.equal(await primary.ended, 73);
  t.match(primary.log, [{ level: 60, msg: /TMPDIR/ }]);
});

void t.test('a written subject is forgotten by every worker before the one that wrote it is told so', async (t) => {
  const primary = startPrimary(t, stubOptions({ workerCount: 3 }));
  await primary.logged('listening');
  const announcer = await primary.journal.entry('listening', 1);
  process.kill(announcer.pid, announceSignal);
  t.match(await primary.journal.entry('all-forgotten', 1), { pid: announcer.pid, message: { ticket: stubTicket } });
  const round = primary.journal.entries().filter(({ event }) => event === 'forget' || event === 'all-forgotten');
  t.same(
    round.map(({ event }) => event),
    ['forget', 'forget', 'forget', 'all-forgotten'],
  );
  t.match(round.slice(0, 3), Array(3).fill({ message: { subject: stubSubject } }));
});

void t.test(
  'a worker that does not forget holds up the one that wrote for a moment only, and the log says so',
  async (t) => {
    const primary = startPrimary(t, stubOptions(), [{ forget: 'ignore' }]);
    await primary.logged('listening');
    const announcer = await primary.journal.entry('listening', 1);
    process.kill(announcer.pid, announceSignal);
    t.match(await primary.journal.entry('all-forgotten', 1), { message: { ticket: stubTicket } });
    const warning = await until('the log warns', () => primary.log.find(({ msg }) => /old one may be used/.test(msg)));
    t.match(warning, { level: 40, silentWorkers: 1 });
    primary.process.kill('SIGTERM');
    t.equal(await primary.ended, 0);
  },
);

void t.test('the log warns of helper endpoints and of a missing key, and keeps secrets', async (t) => {
  const secret = 'a-secret-that-is-nowhere-else';
  const token = tokenOptions({ privateKey: secret });
  const open = startPrimary(t, stubOptions({ workerCount: 1, token, logLevel: 'trace' }), [], {
    bootstrapModule: 'file:///feature.js',
  });
  await open.logged('listening');
  const warnings = open.log.filter(({ level }) => level === 40).map(({ msg }) => msg);
  t.match(warnings, [/^UNAUTHENTICATED HELPER ENDPOINTS ARE ON/, /every MCP request will get 401/]);
  t.equal(warnings.length, 2);
  open.process.kill('SIGTERM');
  await open.ended;
  t.notMatch(JSON.stringify(open.log), secret);

  const plain = startPrimary(t, stubOptions({ workerCount: 1 }));
  await plain.logged('listening');
  t.same(
    plain.log.filter(({ level }) => level >= 40),
    [],
    'neither is said without its cause',
  );
});

void t.test('a change of the log level is logged, whatever the old and the new level are', async (t) => {
  const primary = startPrimary(t, stubOptions({ workerCount: 1, adminAddress: { host: '127.0.0.1', port: 0 } }));
  const { address } = await primary.logged('admin listener');
  const put = async (level: string): Promise<number> => {
    const response = await fetch(`http://${String(address)}/log-level`, {
      method: 'PUT',
      body: JSON.stringify({ level }),
    });
    return response.status;
  };
  const levels = ['error', 'warn', 'fatal', 'fatal', 'trace', 'error'];
  for (const level of levels) t.equal(await put(level), 200, level);
  t.equal(await put('silent'), 400);
  primary.process.kill('SIGTERM');
  await primary.ended;
  const changes = primary.log.filter(({ msg }) => msg === 'log level changed');
  t.match(
    changes,
    levels.map((level, index) => ({ level: 40, logLevel: level, before: levels[index - 1] ?? 'debug' })),
  );
  t.equal(changes.length, levels.length);
  t.notOk(
    primary.log.some(({ msg }) => msg === 'stopped'),
    'and it counts',
  );
});

void t.test('workers of a killed primary notice that it is gone', async (t) => {
  const primary = startPrimary(t, stubOptions());
  await primary.logged('listening');
  primary.process.kill('SIGKILL');
  await primary.journal.entry('disconnected', 0);
  await primary.journal.entry('disconnected', 1);
});

void t.test('a message of an unknown kind from a worker is ignored, and the worker lives on', async (t) => {
  const primary = startPrimary(t, stubOptions({ workerCount: 1 }), [{ start: 'send-stray-first' }]);
  await primary.logged('listening');
  t.match(await primary.logged('the worker sent an unknown message, which is ignored'), { slot: 0 });
  t.equal(primary.journal.entries('start').length, 1);
});

void t.test('without systemd-notify the service runs, and the log says what is missing', async (t) => {
  const primary = startPrimary(t, stubOptions({ workerCount: 1 }), [], {
    notifySocket: '/run/nowhere',
    path: '/nowhere',
  });
  const warning = await primary.logged('systemd could not be notified of the state of the service');
  t.match(warning, {
    level: 40,
    assignments: [/^STATUS=not ready/],
    reason: /^systemd-notify cannot be run: .*ENOENT/,
  });
  primary.process.kill('SIGTERM');
  t.equal(await primary.ended, 0);
});
