// Shell completion: of commands, of options, and of values that have a fixed list. Cold path.
import tab, { type Command, type Complete } from '@bomb.sh/tab';
import {
  DEFAULT_COMMAND,
  commandGroups,
  type CommandDeclaration,
  type CommandDeclarations,
  isValueOptional,
  optionsOf,
  choicesOf,
} from '../config/index.js';

const PROGRAM_NAME = 'switchyard';

/** Prints the script that a shell reads when it starts; it calls `switchyard complete`. */
export function printCompletionScript(shell: string): void {
  tab.setup(PROGRAM_NAME, PROGRAM_NAME, shell);
}

/** Thrown when the shell should complete the word with the names of files. */
class FileNamesWanted extends Error {}
/** The output that makes the shell's script offer files. The completion library itself never prints this. */
const FILES_DIRECTIVE = ':0\n';

/** Prints completions for the last word. @param words after the program's name. */
export function printCompletions(
  words: readonly string[],
  commands: CommandDeclarations<typeof DEFAULT_COMMAND>,
): void {
  for (const [name, summary] of Object.entries(commandGroups)) tab.command(name, summary);
  for (const [name, declaration] of Object.entries<CommandDeclaration>(commands)) {
    declareOptions(tab.command(name, declaration.summary), declaration);
  }
  declareOptions(tab, commands[DEFAULT_COMMAND]);
  try {
    tab.parse([...words]);
  } catch (stopped) {
    if (!(stopped instanceof FileNamesWanted)) throw stopped;
    process.stdout.write(FILES_DIRECTIVE);
  }
}

function declareOptions(command: Command, { options, operands = [] }: CommandDeclaration): void {
  for (const option of optionsOf(options)) {
    const { name, meaning, parse } = option;
    // An option whose value may be left out does not take the next word as its value.
    if (isValueOptional(option)) command.option(name, meaning);
    else command.option(name, meaning, (complete) => offerChoices(complete, choicesOf(parse)));
  }
  for (const operand of operands) {
    if (operand.startsWith('file')) command.argument(operand, (complete) => offerChoices(complete, undefined));
    else command.argument(operand);
  }
}

function offerChoices(complete: Complete, choices: readonly string[] | undefined): void {
  if (choices === undefined) throw new FileNamesWanted();
  for (const choice of choices) complete(choice, '');
}
