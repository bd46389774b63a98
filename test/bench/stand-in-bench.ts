// A bench that starts a process with a child, prints both ids and waits to be ended: for child-processes.test.ts.
import { ChildProcesses } from '../../bench/child-processes.js';
import { processTree } from '../../bench/process-usage.js';
import { runProgram } from '../../bench/program.js';
import { scratchDirectory } from '../../bench/scratch-directory.js';
import { until } from '../support/until.js';

await runProgram(
  '',
  () => ({}),
  async () => {
    const directory = scratchDirectory();
    const children = new ChildProcesses(directory);
    // The process writes all the time, as a gateway does: a directory that is being written to cannot be removed.
    const words = ['-c', 'sleep 600 & while :; do i=$((i + 1)); : >"$0/$i"; done', directory];
    const { pid } = await children.start({ name: 'stand-in', core: 'load', command: 'sh', words });
    await until(() => processTree(pid).length === 2, 'its child');
    process.stdout.write(`${JSON.stringify({ pids: processTree(pid), directory })}\n`);
    await children.failure;
    return 0;
  },
);
