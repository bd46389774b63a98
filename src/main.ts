#!/usr/bin/env node
// Runs the command that the command line names, and exits with its status.
import { commands } from './commands.js';
import { readCommandLine, OptionFaults } from './config/index.js';
import { exitStatus, flushLog } from './shared/index.js';

async function main(args: readonly string[]): Promise<number> {
  // The shell completion scripts call the program like this. The words to complete need not be a valid command line yet.
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

/** Prints the error for the user, and ends the program. A bug gets one line, with the stack frame where a developer should look. */
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
const status = await main(process.argv.slice(2)).catch(fail);
await flushLog();
// Without this, an open handle could keep a drained gateway alive.
process.exit(status);
