// Parses the command line and the environment into a command, the texts of its options, and faults such as unknown options. The only file
// that uses commander.
import { Command, CommanderError, Option as CommanderOption } from 'commander';
import { closestName } from './closest-name.js';
import { PROGRAM_VERSION } from '../shared/index.js';
import {
  environmentVariable,
  fallbackText,
  isValueOptional,
  optionsOf,
  type Option,
  DEFAULT_COMMAND,
  commandGroups,
  operandAsWritten,
  type CommandDeclaration,
  type CommandDeclarations,
  type CommandWords,
  type OptionText,
} from './option.js';
import { TOKEN_VARIABLE, unknownVariableFaults } from './environment.js';
import { OptionFaults } from './values.js';

/** The words of a command; or, for `--help` and `--version`, the text to print. */
export type CommandLine<Name extends string> =
  CommandWords<Name> | { readonly command: 'answer'; readonly text: string };

/** Parses the command line. @param args the words after the program's name. @throws {OptionFaults} for an unknown command. */
export function readCommandLine<Name extends string>(
  args: readonly string[],
  commands: CommandDeclarations<Name>,
  environment: NodeJS.ProcessEnv = process.env,
): CommandLine<Name> {
  const names = Object.keys(commands) as Name[];
  refuseUnknownCommand(args, names);
  let answer = '';
  const invoked: CommandWords<Name>[] = [];
  const program = new Command('switchyard')
    .description('A gateway between MCP clients and many backend MCP servers.')
    .version(PROGRAM_VERSION, '-V, --version', 'print the version')
    .exitOverride()
    .configureHelp({ optionDescription: (option) => option.description })
    .configureOutput({ writeOut: (text) => (answer += text), writeErr: (text) => (answer += text) });
  const parents = new Map(
    Object.entries(commandGroups).map(([name, summary]) => [name, program.command(name).description(summary)]),
  );
  for (const name of names) {
    const [first = '', second] = name.split(' ');
    const command =
      second === undefined
        ? program.command(first, { isDefault: first === DEFAULT_COMMAND })
        : parents.get(first)?.command(second);
    if (command === undefined) throw new Error(`the command ${name} is of no group`);
    declareCommand(command, commands[name]);
    command.action(() => void invoked.push(gatherWords(name, commands[name], command, environment)));
  }
  try {
    program.parse(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { command: 'answer', text: answer };
  }
  const [words] = invoked;
  if (words === undefined) throw new Error('the command line named no command and got no default one');
  const all = Object.values<CommandDeclaration>(commands).flatMap(({ options }) => optionsOf(options));
  return { ...words, faults: [...words.faults, ...unknownVariableFaults(environment, all)] };
}

/** Refuses an unknown command before anything else, because the command decides which options are valid. */
function refuseUnknownCommand(args: readonly string[], commandNames: readonly string[]): void {
  const isHelp = args[0] === 'help';
  const [first, second] = isHelp ? args.slice(1) : args;
  if (first === undefined || first.startsWith('-') || first === 'help') return;
  const advice = 'See `switchyard --help`.';
  const names = [...new Set(commandNames.map((name) => name.split(' ', 1)[0] ?? ''))];
  if (!names.includes(first)) {
    throw new OptionFaults([`${commandFault(first, first, names)}; the commands are ${names.join(', ')}`], advice);
  }
  if (!Object.hasOwn(commandGroups, first)) return;
  const inGroup = commandNames
    .filter((name) => name.startsWith(`${first} `))
    .map((name) => name.slice(first.length + 1));
  const isAnswered = second === undefined ? isHelp : ['help', '-h', '--help', ...inGroup].includes(second);
  if (isAnswered) return;
  const fault =
    second === undefined || second.startsWith('-')
      ? `${first}: needs a command`
      : commandFault(`${first} ${second}`, second, inGroup);
  throw new OptionFaults([`${fault}; its commands are ${inGroup.join(', ')}`], `See \`switchyard ${first} --help\`.`);
}

/** The fault for an unknown command. @param last its wrong word. @param known the valid words in place of `last`. */
function commandFault(words: string, last: string, known: readonly string[]): string {
  const meant = closestName(last, known, 1);
  return `${words}: unknown command${meant === undefined ? '' : ` (did you mean ${meant}?)`}`;
}

function declareCommand(command: Command, { summary, options, operands = [] }: CommandDeclaration): void {
  command
    .description(summary)
    .usage(['[options]', ...operands.map(operandAsWritten)].join(' '))
    // Unknown options are allowed here, because all faults are reported together later; commander would stop at the first.
    .allowUnknownOption()
    .allowExcessArguments()
    .addHelpText(
      'after',
      '\nEvery option can also be set by an environment variable, e.g. SWITCHYARD_LOG_LEVEL for --log-level; the command line wins.',
    );
  for (const option of optionsOf(options)) command.addOption(createOption(option));
}

function createOption(option: Option<unknown>): CommanderOption {
  const fallback = fallbackText(option);
  const suffix = fallback === 'none' ? '' : option.isRequired ? ' (required)' : ` (default: ${fallback})`;
  const commanderOption = new CommanderOption(`--${option.name} ${option.placeholder}`, option.meaning + suffix);
  // Commander would take the next option's name for a missing value, or fail behind the last word: `gatherWords` reports these instead.
  commanderOption.required = false;
  commanderOption.optional = true;
  return isValueOptional(option) ? commanderOption.preset('true') : commanderOption;
}

function gatherWords<Name extends string>(
  name: Name,
  declaration: CommandDeclaration,
  command: Command,
  environment: NodeJS.ProcessEnv,
): CommandWords<Name> {
  const optionTexts: Map<string, OptionText> = new Map();
  const faults: string[] = [];
  const commonVariables = new Map(
    optionsOf(declaration.options).map((option) => [option.name, option.commonVariables]),
  );
  for (const option of command.options) {
    const value: unknown = command.getOptionValue(option.attributeName());
    const own = environmentVariable(option.name());
    // An empty variable counts as unset: images and unit files unset variables in this way.
    const isSet = (variable: string): boolean => (environment[variable] ?? '') !== '';
    const variable = [own, ...(commonVariables.get(option.name()) ?? [])].find(isSet) ?? own;
    const text = environment[variable] ?? '';
    if (typeof value === 'string') optionTexts.set(option.name(), { text: value });
    else if (text !== '') optionTexts.set(option.name(), { text, variable });
    if (value === true) faults.push(`--${option.name()}: needs a value; write ${option.flags}`);
  }
  const { unknownOptions, operands } = sortWords(command.args);
  const known = command.options.map((option) => `--${option.name()}`);
  faults.push(...unknownOptions.map((word) => `${word}: unknown option; ${repairAdvice(closestName(word, known))}`));
  faults.push(...operandFaults(declaration.operands ?? [], operands));
  return { command: name, operands, optionTexts, token: environment[TOKEN_VARIABLE] ?? '', faults };
}

function repairAdvice(meant: string | undefined): string {
  return meant === undefined ? 'remove it or correct its name' : `correct it to ${meant}, or remove it`;
}

/** Sorts the words that are no options of the command. The values of unknown options are dropped, because they may be secrets. */
function sortWords(words: readonly string[]): { unknownOptions: string[]; operands: string[] } {
  const unknownOptions: string[] = [];
  const operands: string[] = [];
  let isValueOfUnknown = false;
  for (const word of words) {
    if (word === '--') continue;
    if (word.startsWith('-') && word.length > 1) {
      const [name = word] = word.startsWith('--') ? word.split('=') : [word.slice(0, 2)];
      unknownOptions.push(name);
      isValueOfUnknown = !word.includes('=');
      continue;
    }
    if (!isValueOfUnknown) operands.push(word);
    isValueOfUnknown = false;
  }
  return { unknownOptions, operands };
}

function operandFaults(expected: readonly string[], operands: readonly string[]): string[] {
  const needed = expected.filter((operand) => !operand.endsWith('?'));
  const missing = needed.slice(operands.length).map((operand) => `${operandAsWritten(operand)}: is missing`);
  const excess = expected.at(-1)?.endsWith('...') === true ? 0 : operands.length - expected.length;
  if (excess <= 0) return missing;
  const advice =
    expected.length === 0 ? 'the command takes options only' : `it takes ${expected.map(operandAsWritten).join(' ')}`;
  return [`unexpected arguments: ${excess}; ${advice}`];
}
