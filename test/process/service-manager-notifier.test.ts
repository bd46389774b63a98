// What systemd is told about the service, as its own systemd-notify would send it: a program of that name writes down what it is given.
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ServiceManagerNotifier } from '../../src/process/service-manager-notifier.js';
import { logInto } from '../support/log-lines.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

interface Scene {
  readonly notice: ServiceManagerNotifier;
  /** A line each: the socket, then the assignments of one message, sorted. */
  readonly sent: () => string[];
  readonly lines: readonly string[];
  /** What the script may wait for. */
  readonly release: () => void;
}

/** @param script what the program does after it has written down its message. */
function scene(
  t: Test,
  { watchdogMs, script = '' }: { watchdogMs?: number; script?: string } = {},
  hasSocket = true,
): Scene {
  const directory = createScratchDirectory(t);
  const output = join(directory, 'sent');
  const program = join(directory, 'systemd-notify');
  writeFileSync(program, `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >>${output}\n${script}\n`);
  chmodSync(program, 0o755);
  const lines: string[] = [];
  const manager = { notifySocket: hasSocket ? '/run/notify' : undefined, watchdogMs };
  const notice = new ServiceManagerNotifier(manager, { PATH: `${directory}:${process.env['PATH']}` }, logInto(lines));
  const sent = (): string[] =>
    existsSync(output)
      ? readFileSync(output, 'utf8')
          .replace(/=\d{5,}/, '=<time>')
          .split('\n')
          .slice(0, -1)
      : [];
  return { notice, sent, lines, release: () => writeFileSync(`${program}.released`, '') };
}

const timer = setInterval(() => {}, 1_000);
t.teardown(() => clearInterval(timer));

t.test('messages arrive in order, and what changes while one is under way goes with the next', async (t) => {
  const { notice, sent, lines } = scene(t);
  notice.notifyStatus('starting');
  notice.notifyReady();
  notice.notifyStatus('ready, 1 of 2');
  notice.notifyStatus('ready');
  await until(() => sent().length === 2, 'both messages');
  t.same(sent(), ['/run/notify STATUS=starting', '/run/notify READY=1 STATUS=ready']);
  notice.notifyStatus('later');
  await until(() => sent().length === 3, 'a third');
  t.same(sent()[2], '/run/notify STATUS=later');
  t.same(lines, []);
});

t.test('a reload is told with its time, and it is not over until it is', async (t) => {
  const { notice, sent } = scene(t);
  notice.notifyReloading();
  await until(() => sent().length === 1, 'the reload');
  t.equal(sent()[0], '/run/notify MONOTONIC_USEC=<time> RELOADING=1');
  notice.notifyReady();
  notice.notifyStatus('reloading');
  await until(() => sent().length === 2, 'the status');
  t.equal(sent()[1], '/run/notify STATUS=reloading', 'nothing of READY, which would end it');
  notice.notifyReloaded();
  await until(() => sent().length === 3, 'the end');
  t.equal(sent()[2], '/run/notify READY=1');
});

t.test('that it stops is told at once, whatever is under way', async (t) => {
  const { notice, sent, release } = scene(t, {
    script: 'case "$*" in *slow*) until [ -e "$0.released" ] || [ ! -e "$0" ]; do sleep 0.1; done;; esac',
  });
  notice.notifyStatus('slow');
  await until(() => sent().length === 1, 'the first message');
  notice.notifyStopping();
  await until(() => sent().length === 2, 'the second, although the first is not done');
  t.equal(sent()[1], '/run/notify STOPPING=1');
  release();
});

t.test('systemd’s watchdog gets signs of life, twice as often as it asks', async (t) => {
  const { sent } = scene(t, { watchdogMs: 100 });
  await until(() => sent().length >= 3, 'signs of life');
  t.same([...new Set(sent())], ['/run/notify WATCHDOG=1']);
});

t.test('outside of a service nothing is sent', async (t) => {
  const { notice, sent } = scene(t, {}, false);
  const other = scene(t);
  for (const each of [notice, other.notice]) {
    each.notifyStatus('s');
    each.notifyReady();
    each.notifyReloading();
    each.notifyReloaded();
    each.notifyStopping();
  }
  await until(() => other.sent().length >= 2, 'the messages of a service');
  t.same(sent(), []);
});

t.test('a message that could not be sent is logged, and the next is sent all the same', async (t) => {
  const failing = scene(t, { script: 'exit 3' });
  failing.notice.notifyStatus('one');
  failing.notice.notifyStatus('two');
  await until(() => failing.sent().length === 2 && failing.lines.length === 1, 'the line');
  t.match(failing.lines[0], /systemd-notify ended with status 3/);
  const lines: string[] = [];
  const missing = new ServiceManagerNotifier(
    { notifySocket: '/run/notify', watchdogMs: undefined },
    { PATH: createScratchDirectory(t) },
    logInto(lines),
  );
  missing.notifyReady();
  await until(() => lines.length === 1, 'the line');
  t.match(lines[0], /systemd-notify cannot be run: .*"assignments":|"assignments":\["READY=1"\]/);
});
