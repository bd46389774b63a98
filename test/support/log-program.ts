// Logs as many lines as its argument says, in one turn, then waits for a line on standard input, logs once more and ends. Reports its
// progress on standard error.
import { once } from 'node:events';
import { createLogger, flushLog } from '../../src/shared/logger.js';

const logger = createLogger('info', { role: 'test' });
const lines = Number(process.argv[2]);
for (let number = 1; number <= lines; number++) logger.info({ number }, 'x'.repeat(100));
process.stderr.write('logged\n');
await once(process.stdin, 'data');
logger.info('the last line');
await flushLog();
process.exit(0);
