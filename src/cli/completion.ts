// What a shell is told when somebody presses Tab: commands, their options, and the values of those that have few. Made of the
// tables of the command line each time that it is asked. Cold.
import tab, { type Command, type Complete } from '@bomb.sh/tab';
import { DEFAULT_COMMAND, groups, type CommandDeclaration, type CommandDeclarations } from '../config/command.js';
import type { Shell } from '../config/completion-request.js';
import { choicesOf } from '../config/values.js';

const PROGRAM = 'switchyard';

/** Prints what a shell reads once, as it starts. It asks `switchyard complete` from then on. */
export function printCompletionScript(shell: Shell): void {
  tab.setup(PROGRAM, PROGRAM, shell);
}

/** Ends the look for words: the shell is to offer its files. */
class FilesFit extends Error {}
/** Says so to the script (the library always says that no files fit). */
const FILES_FIT = ':0\n';

/** Prints what fits in the place of the last word, which may have been begun. @param words behind the program's name. */
export function printCompletions(
  words: readonly string[],
  commands: CommandDeclarations<typeof DEFAULT_COMMAND>,
): void {
  for (const [name, summary] of Object.entries(groups)) tab.command(name, summary);
  for (const [name, declaration] of Object.entries<CommandDeclaration>(commands)) {
    declare(tab.command(name, declaration.summary), declaration);
  }
  declare(tab, commands[DEFAULT_COMMAND]);
  try {
    tab.parse([...words]);
  } catch (stopped) {
    if (!(stopped instanceof FilesFit)) throw stopped;
    process.stdout.write(FILES_FIT);
  }
}

function declare(command: Command, { options, operands = [] }: CommandDeclaration): void {
  for (const [option, { meaning, textAlone, parse }] of Object.entries(options)) {
    // What may stand alone takes no word after it.
    if (textAlone !== undefined) command.option(option, meaning);
    else command.option(option, meaning, (complete) => offer(complete, choicesOf(parse)));
  }
  for (const operand of operands) {
    if (operand.startsWith('file')) command.argument(operand, (complete) => offer(complete, undefined));
    else command.argument(operand);
  }
}

function offer(complete: Complete, choices: readonly string[] | undefined): void {
  if (choices === undefined) throw new FilesFit();
  for (const choice of choices) complete(choice, '');
}
