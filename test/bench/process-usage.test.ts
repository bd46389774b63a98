import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { cpuUsOf, parseStat, processTree, residentBytesOf } from '../../bench/process-usage.js';

const backend = fileURLToPath(new URL('../../bench/backend.js', import.meta.url));

function statText(name: string, ticks: readonly [number, number, number, number]): string {
  return `4242 (${name}) S 17 4242 4242 0 -1 4194560 1 2 3 4 ${ticks.join(' ')} 20 0 11 0 987 123456 789`;
}

t.test('user and system time of a process and of its ended children are added up', async (t) => {
  t.same(parseStat(statText('node', [100, 20, 3, 4])), { parentPid: 17, cpuUs: 1_270_000 });
});

t.test('a program name may contain brackets and spaces', async (t) => {
  t.same(parseStat(statText('a) R 1 (b', [1, 0, 0, 0])), { parentPid: 17, cpuUs: 10_000 });
});

t.test('other text is refused', async (t) => {
  t.throws(() => parseStat(''), /not the text of a \/proc stat file/);
  t.throws(() => parseStat('4242 (node) S 17 4242'), /not the text of a \/proc stat file/);
});

t.test('CPU time that this process uses is measured', async (t) => {
  const beforeUs = cpuUsOf([process.pid]);
  const { user, system } = process.cpuUsage();
  const ownBeforeUs = user + system;
  // At least two ticks of CPU time; how long that takes depends on the machine's load.
  while (process.cpuUsage().user + process.cpuUsage().system < ownBeforeUs + 40_000);
  t.ok(cpuUsOf([process.pid]) - beforeUs >= 20_000);
});

t.test('resident memory is that of the process', async (t) => {
  const bytes = residentBytesOf([process.pid]);
  t.ok(bytes > 0.5 * process.memoryUsage.rss() && bytes < 2 * process.memoryUsage.rss(), `${bytes} bytes`);
});

t.test('a tree consists of a process and its descendants, until they end', async (t) => {
  const child = fork(backend, ['0']);
  t.teardown(() => child.kill('SIGKILL'));
  await once(child, 'message');
  t.ok(processTree(process.pid).includes(child.pid ?? 0));
  t.same(processTree(child.pid ?? 0), [child.pid]);
  child.kill('SIGKILL');
  await once(child, 'exit');
  t.notOk(processTree(process.pid).includes(child.pid ?? 0));
  t.throws(() => cpuUsOf([child.pid ?? 0]), { message: `process ${child.pid} has ended` });
});
