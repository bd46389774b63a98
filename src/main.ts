#!/usr/bin/env node
// Hands over to the command that the line names, and ends with its status.
import { commands } from './commands.js';
import { readCommandLine } from './config/command-line.js';
import { OptionFaults } from './config/faults.js';
import { exitStatus } from './shared/exit-status.js';
import { flushLog } from './shared/logger.js';

async function main(args: readonly string[]): Promise<number> {
  // Asked by a shell, of words that need not be a right command line yet.
  if (args[0] === 'complete' && args[1] === '--') {
    const { printCompletions } = await import('./cli/completion.js');
    printCompletions(args.slice(2), commands);
    return exitStatus.ok;
  }
  const commandLine = readCommandLine(args, commands);
  if (commandLine.command !== 'answer') return commands[commandLine.command].run(commandLine);
  process.stdout.write(commandLine.text);
  return exitStatus.ok;
}

/** One line for a person; the first frame tells whoever mends the program where to look. */
function fail(error: unknown): never {
  if (error instanceof OptionFaults) {
    process.stderr.write(`switchyard: ${error.message}\n`);
    process.exit(exitStatus.usage);
  }
  const { message, stack = '' } = error instanceof Error ? error : new Error(String(error));
  const frame = /^ +(at .*)$/m.exec(stack)?.[1] ?? '';
  process.stderr.write(`switchyard: internal error: ${message.replaceAll('\n', ' ')} ${frame}\n`);
  process.exit(exitStatus.software);
}

process.on('uncaughtException', fail);
// A handle that was left open must not keep a gateway alive that has drained.
const status = await main(process.argv.slice(2)).catch(fail);
await flushLog();
process.exit(status);
