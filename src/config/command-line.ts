// The words of the command line: which command, which options with which texts, and what fits nowhere. The one file
// that knows commander. Values are not looked at here.
import { Command, CommanderError, Option as CommanderOption } from 'commander';
import { nameLike } from '../shared/likeness.js';
import { PROGRAM_VERSION } from '../shared/program-version.js';
import {
  adminRequestOptionTable,
  compositionsCreateOptionTable,
  compositionsUpdateOptionTable,
  configChangeOptionTable,
  configCheckOptionTable,
  configStoreOptionTable,
  explainOptionTable,
  requestOptionTable,
  serversAddOptionTable,
  serversConnectOptionTable,
  serversImportOptionTable,
  serversListOptionTable,
  serversUpdateOptionTable,
  sessionsOptionTable,
  storeCopyOptionTable,
  topOptionTable,
} from './cli-option-table.js';
import { OptionFaults } from './faults.js';
import { fallbackText, type Option, type OptionTable } from './option.js';
import {
  controlPlaneOptionTable,
  dataplaneOptionTable,
  secretsOptionTable,
  secretsSealOptionTable,
  secretsSetOptionTable,
  tokenOptionTable,
} from './option-table.js';

/** Of a line without a command's name. */
export const DEFAULT_COMMAND = 'dataplane';

export interface CommandDeclaration {
  readonly summary: string;
  readonly options: OptionTable;
  /**
   * The words that must follow, in order. The last one may be repeated when its name ends with `...`, and may be missing when it
   * ends with `?`.
   */
  readonly operands?: readonly string[];
}

/** A name of two words is a command of a group. */
export const commands = {
  dataplane: { summary: 'serve MCP: a primary and its workers (the default)', options: dataplaneOptionTable },
  'control-plane': {
    summary: 'keep the registry of servers, their health and compositions of their tools',
    options: controlPlaneOptionTable,
  },
  token: { summary: 'mint an access token and print it', options: tokenOptionTable },
  'servers list': { summary: 'list the registered servers', options: serversListOptionTable },
  'servers add': { summary: 'register a server', options: serversAddOptionTable, operands: ['name', 'url'] },
  'servers show': { summary: 'show a server and its tools', options: requestOptionTable, operands: ['server'] },
  'servers refresh': {
    summary: 'reach for a server now and read its lists again',
    options: requestOptionTable,
    operands: ['server'],
  },
  'servers update': {
    summary: 'change what is said of a server, and leave the rest as it is',
    options: serversUpdateOptionTable,
    operands: ['server'],
  },
  'servers enable': { summary: 'let callers use a server again', options: requestOptionTable, operands: ['server'] },
  'servers disable': { summary: 'let nobody use a server', options: requestOptionTable, operands: ['server'] },
  'servers rename': {
    summary: 'give a server another name',
    options: requestOptionTable,
    operands: ['server', 'name'],
  },
  'servers import': {
    summary: 'register the servers of a file, as clients have them',
    options: serversImportOptionTable,
    operands: ['file'],
  },
  'servers export': {
    summary: 'print the registered servers as such a file',
    options: requestOptionTable,
  },
  'servers remove': { summary: 'remove a server from the registry', options: requestOptionTable, operands: ['server'] },
  'servers connect': {
    summary: 'print the address at which a browser gives the consent that a server wants',
    options: serversConnectOptionTable,
    operands: ['server'],
  },
  'servers disconnect': {
    summary: 'forget what you have granted at a server',
    options: requestOptionTable,
    operands: ['name'],
  },
  'compositions list': { summary: 'list the compositions', options: requestOptionTable },
  'compositions create': {
    summary: 'compose a virtual server of tools of registered servers',
    options: compositionsCreateOptionTable,
    operands: ['name', 'server:tool...'],
  },
  'compositions update': {
    summary: 'change a composition; its URL stays',
    options: compositionsUpdateOptionTable,
    operands: ['composition'],
  },
  'compositions show': { summary: 'show a composition', options: requestOptionTable, operands: ['composition'] },
  'compositions delete': { summary: 'delete a composition', options: requestOptionTable, operands: ['composition'] },
  whoami: {
    summary: 'say whose the token in SWITCHYARD_TOKEN is, and what the control plane lets it do',
    options: requestOptionTable,
  },
  'config list': { summary: 'list the subjects that have a user config', options: configStoreOptionTable },
  'config get': { summary: 'print a user config', options: configStoreOptionTable, operands: ['subject'] },
  'config put': {
    summary: 'check a user config, of a file or of standard input, and store it',
    options: configChangeOptionTable,
    operands: ['subject', 'file?'],
  },
  'config check': {
    summary: 'check a user config, of a file or of standard input, without a store',
    options: configCheckOptionTable,
    operands: ['file?'],
  },
  'config delete': { summary: 'delete a user config', options: configChangeOptionTable, operands: ['subject'] },
  sessions: { summary: 'list the sessions of a running dataplane', options: sessionsOptionTable },
  explain: {
    summary: 'say what became of a request, how a session is, or why a subject has a tool or not',
    options: explainOptionTable,
    operands: ['id?'],
  },
  top: { summary: 'show what a running dataplane does, on a terminal until it is ended', options: topOptionTable },
  'log-level': {
    summary: 'change the log level of a running dataplane',
    options: adminRequestOptionTable,
    operands: ['level'],
  },
  'store copy': {
    summary: 'copy the embedded store as it is now, while it is used, to an empty directory',
    options: storeCopyOptionTable,
    operands: ['directory'],
  },
  completion: {
    summary: 'print what makes a shell complete commands and options: bash, zsh or fish',
    options: {},
    operands: ['shell'],
  },
  'config schema': { summary: 'print the JSON Schema of user configs', options: {} },
  'secrets set': {
    summary: 'seal what standard input says into the store, as the secret of that name',
    options: secretsSetOptionTable,
    operands: ['name'],
  },
  'secrets list': { summary: 'list the secrets of the store, without what they are', options: secretsOptionTable },
  'secrets delete': { summary: 'delete a secret of the store', options: secretsOptionTable, operands: ['name'] },
  'secrets rotate': { summary: 'seal every secret anew under the first key', options: secretsSealOptionTable },
} as const satisfies Record<string, CommandDeclaration>;

/** Of the commands with names of two words: the first one, and what they are about. */
export const groups: Readonly<Record<string, string>> = {
  servers: 'the registry of servers of a running control plane',
  compositions: 'the compositions of a running control plane',
  config: 'the user configs in the store',
  store: 'the embedded store as a whole',
  secrets: 'the secrets in the store, which `auth` of a backend names',
};

export type CommandName = keyof typeof commands;
const commandNames = Object.keys(commands) as CommandName[];

export interface CommandWords {
  readonly command: CommandName;
  /** The words that are no options: as many as the command takes. */
  readonly operands: readonly string[];
  /** Option name → text, as given. */
  readonly given: ReadonlyMap<string, string>;
  /** Unknown options, missing values, arguments too many or too few. */
  readonly faults: readonly string[];
}

/** `--help` and `--version` are answered by themselves: nothing else on the line counts. */
export type CommandLine = CommandWords | { readonly command: 'answer'; readonly text: string };

/** @param args the words after the program's name. Throws OptionFaults for a command that is not known. */
export function readCommandLine(args: readonly string[]): CommandLine {
  refuseUnknownCommand(args);
  let answer = '';
  const invoked: CommandWords[] = [];
  const program = new Command('switchyard')
    .description('A gateway between MCP clients and many backend MCP servers.')
    .version(PROGRAM_VERSION, '-V, --version', 'print the version')
    .exitOverride()
    .configureHelp({ optionDescription: (option) => option.description })
    .configureOutput({ writeOut: (text) => (answer += text), writeErr: (text) => (answer += text) });
  const parents = new Map(
    Object.entries(groups).map(([name, summary]) => [name, program.command(name).description(summary)]),
  );
  for (const name of commandNames) {
    const [first = '', second] = name.split(' ');
    const command =
      second === undefined
        ? program.command(first, { isDefault: first === DEFAULT_COMMAND })
        : parents.get(first)?.command(second);
    if (command === undefined) throw new Error(`the command ${name} is of no group`);
    declareCommand(command, commands[name]);
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
function refuseUnknownCommand(args: readonly string[]): void {
  const isHelp = args[0] === 'help';
  const [first, second] = isHelp ? args.slice(1) : args;
  if (first === undefined || first.startsWith('-') || first === 'help') return;
  const advice = '`switchyard --help` explains them.';
  const names = [...new Set(commandNames.map((name) => name.split(' ', 1)[0] ?? ''))];
  if (!names.includes(first)) {
    throw new OptionFaults([`${first}: unknown command; the commands are ${names.join(', ')}`], advice);
  }
  if (!Object.hasOwn(groups, first)) return;
  const ofGroup = commandNames
    .filter((name) => name.startsWith(`${first} `))
    .map((name) => name.slice(first.length + 1));
  const isAnswered = second === undefined ? isHelp : ['help', '-h', '--help', ...ofGroup].includes(second);
  if (isAnswered) return;
  const fault =
    second === undefined || second.startsWith('-')
      ? `${first}: needs a command`
      : `${first} ${second}: unknown command`;
  throw new OptionFaults(
    [`${fault}; its commands are ${ofGroup.join(', ')}`],
    `\`switchyard ${first} --help\` explains them.`,
  );
}

function declareCommand(command: Command, { summary, options, operands = [] }: CommandDeclaration): void {
  command
    .description(summary)
    .usage(['[options]', ...operands.map(writtenOperand)].join(' '))
    // commander stops at the first word that it does not know; we want to report all of them.
    .allowUnknownOption()
    .allowExcessArguments()
    .addHelpText(
      'after',
      '\nEvery option also reads an environment variable, as SWITCHYARD_LOG_LEVEL; the option wins.',
    );
  for (const [optionName, option] of Object.entries(options)) command.addOption(createOption(optionName, option));
}

/** As `--help` and the documentation write it. */
export function writtenOperand(operand: string): string {
  if (operand.endsWith('?')) return `[${operand.slice(0, -1)}]`;
  return operand.endsWith('...') ? `<${operand.slice(0, -3)}>...` : `<${operand}>`;
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
  const declaration: CommandDeclaration = commands[name];
  const given = new Map<string, string>();
  const faults: string[] = [];
  for (const option of command.options) {
    const value: unknown = command.getOptionValue(option.attributeName());
    if (typeof value === 'string') given.set(option.name(), value);
    else if (value === true) faults.push(`--${option.name()}: needs a value; write ${option.flags}`);
  }
  const { unknownOptions, operands } = sortWords(command.args);
  const known = Object.keys(declaration.options).map((option) => `--${option}`);
  faults.push(...unknownOptions.map((word) => `${word}: unknown option; ${advice(nameLike(word, known))}`));
  faults.push(...countFaults(declaration.operands ?? [], operands));
  return { command: name, operands, given, faults };
}

function advice(meant: string | undefined): string {
  return meant === undefined ? 'remove it or correct its name' : `correct it to ${meant}, or remove it`;
}

/** The words that are no options of the command. Of unknown options only the names are kept: the rest may be a secret. */
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

function countFaults(expected: readonly string[], operands: readonly string[]): string[] {
  const needed = expected.filter((operand) => !operand.endsWith('?'));
  const missing = needed.slice(operands.length).map((operand) => `${writtenOperand(operand)}: is missing`);
  const excess = expected.at(-1)?.endsWith('...') === true ? 0 : operands.length - expected.length;
  if (excess <= 0) return missing;
  const advice =
    expected.length === 0 ? 'the command takes options alone' : `it takes ${expected.map(writtenOperand).join(' ')}`;
  return [`arguments that belong to no option: ${excess}; ${advice}`];
}
