// The unit files as systemd checks them, and readiness notices through the real systemd-notify. `verify` requires the program of ExecStart=
// to exist, so it checks a copy that starts this Node.js with a file of this repository.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { controlPlaneOptions, dataplaneOptions } from '../../src/config/dataplane-options.js';
import { environmentVariable, optionsOf, type Schema } from '../../src/config/option.js';
import { optionLoader } from '../config/option-loader.js';
import { processOptions } from '../../src/config/table/process-options.js';
import { limits } from '../../src/shared/limits.js';
import { startPrimary, until } from '../primary/stub-fleet.js';
import { stubOptions } from '../primary/stub-options.js';
import { startProgram, storeOptionWords, verifyWith } from '../support/gateway.js';
import { createKeyPair } from '../support/keys.js';
import { killWithProcess, removeNow, removeWithProcess } from '../support/leftovers.js';
import { startRedis } from '../support/redis.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { REDIS_DISCONNECT_MS_MAX } from '../../src/store/redis-connection.js';
import { workerBounds } from '../../src/primary/worker-bounds.js';

const deployed = fileURLToPath(new URL('../../../deploy/systemd/', import.meta.url));

interface Unit {
  /** File name without its extension. */
  readonly name: string;
  readonly command: 'dataplane' | 'control-plane';
  readonly options: Schema;
  /** How long the program may take to be ready; below, how long to exit after its drain. */
  readonly startMsMax: number;
  readonly stopMsMax: number;
}

const units: readonly Unit[] = [
  {
    name: 'switchyard',
    command: 'dataplane',
    options: dataplaneOptions,
    startMsMax: workerBounds.workerFailedStartsMax * workerBounds.workerStartMsMax,
    stopMsMax: workerBounds.workerStopMs,
  },
  {
    name: 'switchyard-control-plane',
    command: 'control-plane',
    options: controlPlaneOptions,
    startMsMax: limits.remoteAnswerMsMax + limits.peerAnswerMsMax,
    stopMsMax: limits.oneWayRequestMsMax + REDIS_DISCONNECT_MS_MAX,
  },
];

function reasonToSkip(...programs: readonly string[]): string | false {
  const missing = programs.filter((program) => spawnSync(program, ['--version']).error !== undefined);
  return missing.length > 0 && `not installed here: ${missing.join(', ')}`;
}

function read(file: string): string {
  return readFileSync(join(deployed, file), 'utf8');
}

function directive(unit: string, name: string): string {
  const values = unit.split('\n').filter((line) => line.startsWith(`${name}=`));
  if (values.length !== 1) throw new Error(`${name} stands in the unit ${values.length} times`);
  return values[0]?.slice(name.length + 1) ?? '';
}

for (const { name, command, options, startMsMax, stopMsMax } of units) {
  const unit = read(`${name}.service`);
  const skip = reasonToSkip('systemd-analyze');

  t.test(`${name}: systemd-analyze verify has nothing to say`, { skip }, (t) => {
    const program = '/usr/bin/node /usr/lib/switchyard/dist/main.js';
    t.match(unit, `ExecStart=${program} ${command}\n`);
    const copy = join(t.testdir({}), `${name}.service`);
    function verify(text: string): string {
      writeFileSync(copy, text);
      const { stdout, stderr, status } = spawnSync('systemd-analyze', ['verify', copy], { encoding: 'utf8' });
      return `${stdout}${stderr}${status === 0 ? '' : `status ${status}`}`;
    }
    const thisFile = fileURLToPath(import.meta.url);
    const verifiable = unit.replace(program, `${process.execPath} ${thisFile}`);
    t.equal(verify(verifiable), '');
    t.match(verify(verifiable.replace('PrivateTmp=', 'PrivateTemp=')), /PrivateTemp/, 'a misspelt directive is found');
    t.end();
  });

  t.test(`${name}: systemd-analyze security rates the exposure below 3`, { skip }, (t) => {
    const args = ['security', '--offline=true', '--no-pager', join(deployed, `${name}.service`)];
    const { stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
    const rating = /Overall exposure level for [\w-]+\.service: (\d+\.\d)/.exec(stdout)?.[1];
    t.ok(Number(rating) < 3, `${rating} ${stderr}`);
    t.end();
  });

  t.test(`${name}: the times of the unit leave room for those of the program`, (t) => {
    const { drainTimeoutMs } = optionLoader(command, { drainTimeoutMs: processOptions.drainTimeoutMs }).load([]);
    t.ok(Number(directive(unit, 'TimeoutStopSec')) * 1_000 > drainTimeoutMs + stopMsMax);
    const startText = directive(unit, 'TimeoutStartSec');
    t.ok(startText === 'infinity' || Number(startText) * 1_000 > startMsMax);
    t.ok(Number(directive(unit, 'WatchdogSec')) >= 10, 'a busy machine is no reason to end a process');
    t.end();
  });

  t.test(`${name}: every variable of the environment file is an option`, (t) => {
    t.equal(directive(unit, 'EnvironmentFile'), `/etc/switchyard/${name}.env`);
    const known = optionsOf(options).map(({ name }) => environmentVariable(name));
    const named = [...read(`${name}.env`).matchAll(/^#?([A-Z_]+)=/gm)].map(([, variable]) => variable);
    t.ok(named.length > 10);
    t.same(
      named.filter((variable) => variable === undefined || !known.includes(variable)),
      [],
    );
    t.end();
  });
}

t.test('on one machine both planes have one user, one state folder, and one store', async (t) => {
  for (const name of ['User', 'Group', 'StateDirectory', 'WorkingDirectory']) {
    const [dataplane, controlPlane] = units.map((unit) => directive(read(`${unit.name}.service`), name));
    t.equal(controlPlane, dataplane, name);
  }
  const [dataplane, controlPlane] = units.map((unit) => directive(read(`${unit.name}.env`), 'SWITCHYARD_STORE_PATH'));
  t.equal(controlPlane, dataplane);
});

/** Binds a datagram socket, which Node.js cannot, and prints each notice on a line. */
const listenerScript = `
  use Socket;
  $| = 1;
  socket(my $socket, PF_UNIX, SOCK_DGRAM, 0) or die $!;
  bind($socket, sockaddr_un($ARGV[0])) or die $!;
  print "bound\\n";
  while (defined recv($socket, my $notice, 4096, 0)) { $notice =~ tr/\\n/ /; print "$notice\\n"; }
`;

interface Notices {
  readonly socket: string;
  readonly notices: () => readonly string[];
  readonly statuses: () => readonly string[];
  readonly reloadTimesUs: () => readonly bigint[];
  /** Watchdog notices. */
  readonly signs: () => number;
}

async function listenForNotices(t: Test): Promise<Notices> {
  const directory = mkdtempSync(join(tmpdir(), 'notify-')); // the path of a socket has to be short
  removeWithProcess(directory);
  t.teardown(() => removeNow(directory));
  const socket = join(directory, 'socket');
  const child = spawn('perl', ['-e', listenerScript, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  killWithProcess(child);
  t.teardown(() => child.kill());
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  await until('the listener has bound its socket', () => lines.includes('bound'));
  // systemd-notify also sends BARRIER=1, to learn whether its notice has been read.
  return {
    socket,
    notices: () => lines.flatMap((line) => /\b(?:READY|RELOADING|STOPPING)=1/.exec(line)?.[0] ?? []),
    reloadTimesUs: () =>
      lines
        .filter((line) => line.includes('RELOADING=1'))
        .map((line) => BigInt(/\bMONOTONIC_USEC=(\d+)/.exec(line)?.[1] ?? -1)),
    statuses: () => lines.flatMap((line) => /\bSTATUS=(.*?)(?: [A-Z]+=.*)?$/.exec(line)?.[1] ?? []),
    signs: () => lines.filter((line) => line.includes('WATCHDOG=1')).length,
  };
}

const skip = reasonToSkip('systemd-notify', 'perl');

t.test('systemd gets READY=1 when the last worker listens, and STOPPING=1 at the drain', { skip }, async (t) => {
  const { socket, notices } = await listenForNotices(t);
  const gate = `${socket}.gate`;
  const primary = startPrimary(t, stubOptions(), [{}, { gate }], { notifySocket: socket });
  await until('the first worker listens', () =>
    primary.log.some(({ msg, slot }) => msg === 'worker listening' && slot === 0),
  );
  t.same(notices(), []);
  writeFileSync(gate, '');
  await until('READY=1 comes', () => notices().length > 0);
  t.equal(primary.journal.entries('listening').length, 2);
  primary.process.kill('SIGTERM');
  await until('STOPPING=1 comes', () => notices().length > 1);
  t.same(notices(), ['READY=1', 'STOPPING=1']);
  t.equal(await primary.ended, 0);
});

t.test('systemd is told what is missing, gets READY=1 once it is there, and watchdog notices', { skip }, async (t) => {
  const { socket, notices, statuses, signs } = await listenForNotices(t);
  const gate = `${socket}.gate`;
  const stub = { storeObstacle: 'the store is on fire', storeGate: gate };
  const primary = startPrimary(t, stubOptions({ workerCount: 1 }), [stub], { notifySocket: socket, watchdogMs: 100 });
  await until('the obstacle is told', () => statuses().includes('not ready: the store is on fire'));
  await primary.logged('listening');
  t.match(await primary.logged('not ready'), { obstacles: [{ code: 'store-unreachable', slots: [0] }] });
  const before = signs();
  await until('it gives signs of life', () => signs() > before + 2);
  t.same(notices(), [], 'and is not ready yet');
  writeFileSync(gate, '');
  await until('READY=1 comes', () => notices().includes('READY=1'));
  t.equal(statuses().at(-1), 'ready: 1 of 1 workers are listening');
  await primary.logged('ready');
});

t.test('systemd is told when a reload begins, when it is over, and what has failed', { skip }, async (t) => {
  const { socket, notices, statuses, reloadTimesUs } = await listenForNotices(t);
  const obstacle = `${socket}.obstacle`;
  const primary = startPrimary(t, stubOptions({ workerCount: 1 }), [{ obstacle }], { notifySocket: socket });
  await until('READY=1 comes', () => notices().length === 1);
  const signalledAtUs = process.hrtime.bigint() / 1_000n;
  primary.process.kill('SIGHUP');
  await until('READY=1 comes again', () => notices().length > 2);
  t.same(notices(), ['READY=1', 'RELOADING=1', 'READY=1']);
  t.ok(reloadTimesUs()[0]! >= signalledAtUs, 'it does not belong to an earlier signal, and stands in the same notice');
  t.equal(statuses().at(-1), 'ready: 1 of 1 workers are listening');
  writeFileSync(obstacle, '');
  primary.process.kill('SIGHUP');
  await until('READY=1 comes once more', () => notices().length > 4);
  t.match(statuses().at(-1), /^ready: .*; the last reload failed: slot 0: the certificate is of wax$/);
});

t.test('systemd never gets READY=1 when one worker does not listen', { skip }, async (t) => {
  const { socket, notices } = await listenForNotices(t);
  const primary = startPrimary(t, stubOptions(), [{}, { start: 'hang' }], { notifySocket: socket });
  await until('the first worker listens', () =>
    primary.log.some(({ msg, slot }) => msg === 'worker listening' && slot === 0),
  );
  primary.process.kill('SIGTERM');
  await until('STOPPING=1 comes', () => notices().includes('STOPPING=1'));
  t.same(notices(), ['STOPPING=1']);
});

t.test('systemd gets READY=1 when the control plane can serve, WATCHDOG=1, and STOPPING=1', { skip }, async (t) => {
  const { socket, notices, statuses, signs } = await listenForNotices(t);
  const store = ['--store-path', createScratchDirectory(t)];
  const words = ['control-plane', '--address', '127.0.0.1:0', ...store, ...verifyWith(createKeyPair(t))];
  // As systemd sets it for `WatchdogSec=`, in microseconds.
  const environment = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '200000' };
  const program = await startProgram(t, words, { environment });
  await until('READY=1 comes', () => notices().length > 0);
  t.same(statuses(), ['ready']);
  await until('it gives signs of life', () => signs() > 2);
  program.signal('SIGTERM');
  await until('STOPPING=1 comes', () => notices().length > 1);
  t.same(notices(), ['READY=1', 'STOPPING=1']);
  t.same(await program.exit, { code: 0, signal: null });
});

t.test('systemd is told what the control plane lacks, and READY=1 when its Redis is there', { skip }, async (t) => {
  const { socket, notices, statuses, signs } = await listenForNotices(t);
  const redis = await startRedis(t);
  await redis.kill();
  const words = ['control-plane', '--address', '127.0.0.1:0', ...verifyWith(createKeyPair(t))];
  const environment = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '200000' };
  const program = await startProgram(t, [...words, ...storeOptionWords(redis.storeOptions)], { environment });
  await until('it says what is missing', () => statuses().length > 0);
  t.same(statuses(), ['not ready: the redis store cannot be reached']);
  t.match(await program.waitForLog(({ msg }) => msg === 'not ready'), {
    obstacles: ['the redis store cannot be reached'],
  });
  const before = signs();
  await until('it gives signs of life', () => signs() > before + 2);
  t.same(notices(), [], 'and is not ready yet');
  await redis.start();
  await until('READY=1 comes', () => notices().length > 0);
  t.same(notices(), ['READY=1']);
  t.equal(statuses().at(-1), 'ready');
  await redis.kill();
  await until('it says what is missing again', () => statuses().at(-1) !== 'ready');
  t.equal(statuses().at(-1), 'not ready: the redis store cannot be reached');
});

t.test('systemd never gets READY=1 from a control plane without a key for tokens', { skip }, async (t) => {
  const { socket, notices, statuses } = await listenForNotices(t);
  const words = ['control-plane', '--address', '127.0.0.1:0', '--store-path', createScratchDirectory(t)];
  const program = await startProgram(t, words, { environment: { NOTIFY_SOCKET: socket } });
  await until('it says what is missing', () => statuses().length > 0);
  t.match(statuses(), [/^not ready: no token verification key or secret is configured: /]);
  program.signal('SIGTERM');
  await until('STOPPING=1 comes', () => notices().length > 0);
  t.same(notices(), ['STOPPING=1']);
});
