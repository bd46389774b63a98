import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { commands } from '../../src/commands.js';
import { readCommandLine } from '../../src/config/command-line.js';
import type { CommandWords } from '../../src/config/option.js';
import { dataplaneOptions, describeStart } from '../../src/config/dataplane-options.js';
import { optionLoader } from './option-loader.js';
import { runProgram } from '../support/gateway.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

t.test('the check is requested on the command line, or by a variable', async (t) => {
  const isCheckOnly = (args: readonly string[], environment?: NodeJS.ProcessEnv): boolean =>
    optionLoader('dataplane', dataplaneOptions).load(args, environment).isCheckOnly;
  t.equal(isCheckOnly([]), false);
  t.equal(isCheckOnly(['--check']), true);
  t.equal(isCheckOnly(['--check=false'], { SWITCHYARD_CHECK: 'true' }), false);
  t.equal(isCheckOnly([], { SWITCHYARD_CHECK: 'true' }), true);
  t.equal(isCheckOnly([], { SWITCHYARD_CHECK: '' }), false);
});

t.test('the check shows what would start, and where each option comes from', async (t) => {
  const path = join(createScratchDirectory(t), 'store');
  const line = ['--check', '--store-path', path];
  const words = readCommandLine(line, commands, { SWITCHYARD_LOG_LEVEL: 'debug' }) as CommandWords;
  const options = optionLoader('dataplane', dataplaneOptions).load(line);
  const said = (publicKey?: string): string => {
    return describeStart(words, { ...options, token: { ...options.token, publicKey } }, { MCP: '[::]:1' });
  };
  t.equal(
    said('a key'),
    [
      'The dataplane would start:',
      '  MCP             [::]:1',
      `  user configs    the embedded store in ${path}, which does not exist and would be created`,
      'These options are set, all others have their defaults:',
      `  --store-path ${path}`,
      '  --log-level debug  (from SWITCHYARD_LOG_LEVEL)',
      '',
    ].join('\n'),
  );
  mkdirSync(path);
  t.match(said(), `the embedded store in ${path}\n  tokens          no key or secret is configured`);
});

t.test("the check leaves out the proxy's user and password", async (t) => {
  const line = ['--check', '--store-path', createScratchDirectory(t)];
  const options = optionLoader('dataplane', dataplaneOptions).load(line);
  for (const proxy of ['http://user:p4ss@proxy.example:3128', 'user:p@4ss@proxy.example']) {
    const words = readCommandLine(line, commands, { HTTPS_PROXY: proxy }) as CommandWords;
    const said = describeStart(words, options, {});
    t.match(said, /--upstream-proxy (http:\/\/)?proxy\.example(:3128)? {2}\(from HTTPS_PROXY\)\n/);
    t.notMatch(said, /user:|4ss/);
  }
});

t.test('the program ends without opening anything', async (t) => {
  const directory = createScratchDirectory(t);
  // An address of another machine is a valid address: the check does not bind it.
  const checked = await runProgram(['control-plane', '--check', '--address', '192.0.2.1:1'], { directory });
  t.match(checked, { code: 0, errorOutput: '', output: /^The control-plane would start:\n {2}HTTP +192\.0\.2\.1:1\n/ });
  const faulty = await runProgram(['--check', '--drain-timeout', 'x', '--redis-port', '1'], { directory });
  t.match(faulty, { code: 64, output: '', errorOutput: /--drain-timeout: [^]*--redis-port: has no effect/ });
});

t.test('a store that could not be opened or created: 73, as a start would end, and nothing is created', async (t) => {
  const directory = createScratchDirectory(t);
  const file = join(directory, 'file');
  writeFileSync(file, '');
  const paths = ['/proc/store/deeper', join(file, 'store'), file];
  for (const command of ['dataplane', 'control-plane']) {
    for (const path of paths) {
      const { code, output, errorOutput } = await runProgram([command, '--check', '--store-path', path]);
      t.match({ code, output }, { code: 73, output: '' }, `${command} ${path}`);
      t.match(errorOutput, new RegExp(`^switchyard: the ${command} would not start: the store cannot be opened: `));
      t.match(errorOutput, /; give --store-path a directory that this user may write\n$/);
    }
  }
  t.strictSame(readdirSync(directory), ['file']);
});
