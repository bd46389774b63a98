// The words of the command line: which command, which options with which texts, and what fits nowhere. The one file
// that knows commander. Values are not looked at here.
import { Command, CommanderError, Option as CommanderOption } from 'commander';
import { PROGRAM_VERSION } from '../shared/program-version.js';
import { OptionFaults } from './faults.js';
import { fallbackText, type Option, type OptionTable } from './option.js';
import { dataplaneOptionTable, tokenOptionTable } from './option-table.js';

const DEFAULT_COMMAND = 'dataplane';

const commands = {
  dataplane: { summary: 'serve MCP: a primary and its workers (the default)', options: dataplaneOptionTable },
  token: { summary: 'mint an access token and print it', options: tokenOptionTable },
} as const satisfies Record<string, { summary: string; options: OptionTable }>;

export type CommandName = keyof typeof commands;

export interface CommandWords {
  readonly command: CommandName;
  /** Option name → text, as given. */
  readonly given: ReadonlyMap<string, string>;
  /** Unknown options, missing values, arguments too many. */
  readonly faults: readonly string[];
}

/** `--help` and `--version` are answered by themselves: nothing else on the line counts. */
export type CommandLine = CommandWords | { readonly command: 'answer'; readonly text: string };

/** @param args the words after the program's name. Throws OptionFaults for a command that is not known. */
export function readCommandLine(args: readonly string[]): CommandLine {
  refuseUnknownCommand(args[0] === 'help' ? args[1] : args[0]);
  let answer = '';
  const invoked: CommandWords[] = [];
  const program = new Command('switchyard')
    .description('A gateway between MCP clients and many backend MCP servers.')
    .version(PROGRAM_VERSION, '-V, --version', 'print the version')
    .exitOverride()
    .configureHelp({ optionDescription: (option) => option.description })
    .configureOutput({ writeOut: (text) => (answer += text), writeErr: (text) => (answer += text) });
  for (const name of Object.keys(commands) as CommandName[]) {
    const command = createCommand(program, name);
    command.action(() => void invoked.push(gatherWords(name, command)));
  }
  try {
    program.parse(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { command: 'answer', text: answer };
  }
  const [words] = invoked;
  if (words === undefined) throw new Error('the command line named no command and got no default one');
  return words;
}

/** Which options are right depends on the command, so nothing else is looked at before it is known. */
function refuseUnknownCommand(word: string | undefined): void {
  if (word === undefined || word.startsWith('-') || word === 'help' || Object.hasOwn(commands, word)) return;
  throw new OptionFaults(
    [`${word}: unknown command; the commands are ${Object.keys(commands).join(', ')}`],
    '`switchyard --help` explains them.',
  );
}

function createCommand(program: Command, name: CommandName): Command {
  const { summary, options }: { summary: string; options: OptionTable } = commands[name];
  const command = program
    .command(name, { isDefault: name === DEFAULT_COMMAND })
    .description(summary)
    // commander stops at the first word that it does not know; we want to report all of them.
    .allowUnknownOption()
    .allowExcessArguments()
    .addHelpText(
      'after',
      '\nEvery option also reads an environment variable, as SWITCHYARD_LOG_LEVEL; the option wins.',
    );
  for (const [optionName, option] of Object.entries(options)) command.addOption(createOption(optionName, option));
  return command;
}

function createOption(name: string, option: Option<unknown>): CommanderOption {
  const fallback = fallbackText(option);
  const suffix = fallback === 'none' ? '' : option.required ? ' (required)' : ` (default: ${fallback})`;
  const commanderOption = new CommanderOption(`--${name} ${option.placeholder}`, option.meaning + suffix);
  // An option that must have a value would take the next option's name for it, or end the parsing at the last word.
  commanderOption.required = false;
  commanderOption.optional = true;
  return option.textAlone === undefined ? commanderOption : commanderOption.preset(option.textAlone);
}

function gatherWords(name: CommandName, command: Command): CommandWords {
  const given = new Map<string, string>();
  const faults: string[] = [];
  for (const option of command.options) {
    const value: unknown = command.getOptionValue(option.attributeName());
    if (typeof value === 'string') given.set(option.name(), value);
    else if (value === true) faults.push(`--${option.name()}: needs a value; write ${option.flags}`);
  }
  return { command: name, given, faults: [...faults, ...findStrays(command.args)] };
}

/** The words that commander found no place for. Only option names are repeated: the rest may be a secret. */
function findStrays(words: readonly string[]): string[] {
  const faults: string[] = [];
  let argumentCount = 0;
  let isValueOfUnknown = false;
  for (const word of words) {
    if (word === '--') continue;
    if (word.startsWith('-') && word.length > 1) {
      const [name = word] = word.startsWith('--') ? word.split('=') : [word.slice(0, 2)];
      faults.push(`${name}: unknown option; remove it or correct its name`);
      isValueOfUnknown = !word.includes('=');
      continue;
    }
    if (!isValueOfUnknown) argumentCount++;
    isValueOfUnknown = false;
  }
  if (argumentCount > 0) {
    faults.push(`arguments that belong to no option: ${argumentCount}; the command takes options alone`);
  }
  return faults;
}
