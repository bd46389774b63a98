import t from 'tap';
import { commands } from '../../src/commands.js';
import * as commandLine from '../../src/config/command-line.js';
import type { CommandWords } from '../../src/config/option.js';
import { OptionFaults } from '../../src/config/values.js';
import { PROGRAM_VERSION } from '../../src/shared/program.js';

const readCommandLine = (args: readonly string[]) => commandLine.readCommandLine(args, commands, {});

function words(...args: string[]): CommandWords {
  const line = readCommandLine(args);
  if (line.command === 'answer') throw new Error(`answered by itself: ${line.text}`);
  return line;
}

function answer(...args: string[]): string {
  const line = readCommandLine(args);
  if (line.command !== 'answer') throw new Error('not answered by itself');
  return line.text;
}

t.test('no command means dataplane', async (t) => {
  t.strictSame(words(), { command: 'dataplane', operands: [], optionTexts: new Map(), token: '', faults: [] });
  t.equal(words('--log-level', 'debug').command, 'dataplane');
  t.equal(words('dataplane').command, 'dataplane');
  t.equal(words('control-plane').command, 'control-plane');
  t.equal(words('token').command, 'token');
});

t.test('options are taken as given in both notations, and the last one wins', async (t) => {
  const { optionTexts, faults } = words(
    'dataplane',
    '--address',
    '[::1]:0',
    '--log-level=debug',
    '--log-level',
    'warn',
  );
  t.strictSame(
    [...optionTexts],
    [
      ['address', { text: '[::1]:0' }],
      ['log-level', { text: 'warn' }],
    ],
  );
  t.strictSame(faults, []);
});

t.test('a switch stands alone or has a value', async (t) => {
  t.equal(words('--access-log').optionTexts.get('access-log')?.text, 'true');
  t.equal(words('--access-log', '--log-level', 'warn').optionTexts.get('access-log')?.text, 'true');
  t.equal(words('--access-log=false').optionTexts.get('access-log')?.text, 'false');
  t.equal(words().optionTexts.get('access-log')?.text, undefined);
});

t.test('a value that begins with a dash is written with an equals sign', async (t) => {
  t.equal(words('token', '--subject=-x').optionTexts.get('subject')?.text, '-x');
  t.equal(words('token', '--subject=').optionTexts.get('subject')?.text, '');
});

t.test('everything that fits nowhere is reported together, and only names are repeated', async (t) => {
  const { faults, optionTexts } = words(
    ...['--redis-password', 'hunter2', '--secret=hunter3', '-phunter4', 'x', 'hunter5'],
    ...['--token-issuer', '--log-level', 'debug', '--address'],
  );
  t.strictSame(faults, [
    '--address: needs a value; write --address <host:port>',
    '--token-issuer: needs a value; write --token-issuer <list>',
    '--redis-password: unknown option; correct it to --redis-password-file, or remove it',
    '--secret: unknown option; correct it to --secrets-directory, or remove it',
    '-p: unknown option; remove it or correct its name',
    'unexpected arguments: 1; the command takes options only',
  ]);
  t.strictSame([...optionTexts], [['log-level', { text: 'debug' }]], 'what follows an unknown option is still read');
});

t.test('words after -- are not options', async (t) => {
  t.strictSame(words('dataplane', '--', 'x', 'y').faults, ['unexpected arguments: 2; the command takes options only']);
});

t.test('an unknown option is reported with the one that was probably meant', async (t) => {
  const faultOf = (word: string): string | undefined => words('dataplane', word, '1').faults[0];
  t.equal(faultOf('--redis-adress'), '--redis-adress: unknown option; correct it to --redis-address, or remove it');
  t.equal(faultOf('--adress'), '--adress: unknown option; correct it to --address, or remove it');
  t.equal(faultOf('--banana'), '--banana: unknown option; remove it or correct its name');
});

t.test('an option of another command is unknown', async (t) => {
  t.match(words('token', '--address', '127.0.0.1:0').faults, [/^--address: unknown option/]);
  t.match(words('dataplane', '--subject', 'x').faults, [/^--subject: unknown option/]);
});

t.test('an unknown command is refused with the known ones named', async (t) => {
  for (const word of ['bogus', 'constructor', 'toString']) {
    t.throws(() => readCommandLine([word]), OptionFaults);
    t.throws(() => readCommandLine(['help', word]), OptionFaults);
    t.throws(() => readCommandLine([word]), {
      message: new RegExp(`${word}: unknown command; .*dataplane, control-plane, token`),
    });
  }
});

t.test('for a misspelt command, the one that was probably meant is suggested', async (t) => {
  for (const [words, meant] of [
    [['dataplan'], 'dataplane'],
    [['controlplane'], 'control-plane'],
    [['server', 'list'], 'servers'],
    [['tokn'], 'token'],
    [['tpo'], 'top'],
    [['servers', 'lst'], 'list'],
    [['servers', 'shwo', 'x'], 'show'],
    [['config', 'chekc'], 'check'],
  ] as const) {
    const message = new RegExp(`^.*: unknown command \\(did you mean ${meant}\\?\\); .*commands are .*${meant}`, 'm');
    t.throws(() => readCommandLine(words), { message }, words.join(' '));
  }
  for (const words of [['bogus'], ['servers', 'bogus'], ['constructor']]) {
    t.throws(() => readCommandLine(words), { message: /: unknown command; / }, words.join(' '));
  }
});

t.test('a group needs one of its commands', async (t) => {
  for (const group of ['servers', 'compositions']) {
    t.throws(() => readCommandLine([group]), { message: new RegExp(`${group}: needs a command; .*list, .*show`) });
    t.throws(() => readCommandLine([group, '--json']), { message: new RegExp(`${group}: needs a command`) });
    t.throws(() => readCommandLine([group, 'lst']), { message: new RegExp(`${group} lst: unknown command .*list`) });
    for (const help of [answer(group, '--help'), answer('help', group), answer(group, 'help')]) {
      t.match(help, new RegExp(`switchyard ${group}`));
      t.match(help, /list /);
    }
  }
  t.equal(words('servers', 'list').command, 'servers list');
});

t.test('operands are counted', async (t) => {
  t.strictSame(words('servers', 'add', 'a name', '--tags', 'x', 'https://a.example/mcp'), {
    command: 'servers add',
    operands: ['a name', 'https://a.example/mcp'],
    optionTexts: new Map([['tags', { text: 'x' }]]),
    token: '',
    faults: [],
  });
  t.strictSame(words('servers', 'add', 'a').faults, ['<url>: is missing']);
  t.strictSame(words('servers', 'add').faults, ['<name>: is missing', '<url>: is missing']);
  t.strictSame(words('servers', 'show', 'a', 'b').faults, ['unexpected arguments: 1; it takes <server>']);
  t.strictSame(words('compositions', 'create', 'a').faults, ['<server:tool>...: is missing']);
  t.strictSame(words('compositions', 'create', 'a', 'b:c', 'd:e').operands, ['a', 'b:c', 'd:e']);
  t.match(
    answer('compositions', 'create', '--help'),
    /switchyard compositions create \[options\] <name> <server:tool>\.\.\./,
  );
});

t.test('help and version are answered whatever else is given', async (t) => {
  t.equal(answer('--version'), `${PROGRAM_VERSION}\n`);
  t.equal(answer('-V'), `${PROGRAM_VERSION}\n`);
  for (const help of [answer('--help'), answer('-h'), answer('help')]) {
    t.match(help, /dataplane .*default/);
    t.match(help, /token /);
  }
  const help = answer('dataplane', '--nonsense', '--help');
  t.match(help, /--address <host:port> .*\(default: 127\.0\.0\.1:8001\)/);
  t.match(help, /SWITCHYARD_/);
  t.match(answer('token', '--help'), /--subject <text> .*\(required\)/);
  t.equal(answer('help', 'token'), answer('token', '--help'));
});
