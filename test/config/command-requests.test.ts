// What the commands that need no control plane are asked to do: those for user configs, secrets, the store, a running dataplane, and the
// shells. `cli-request.test.ts` has the others.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { commands } from '../../src/commands.js';
import { readCommandLine } from '../../src/config/command-line.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { faultsOf } from './option-loader.js';

const STORE = { kind: 'embedded', path: '/var/lib/s' };

function load(line: string, environment: NodeJS.ProcessEnv = {}): unknown {
  const words = readCommandLine(line.split(' '), commands, environment);
  if (words.command === 'answer') throw new Error(words.text);
  return commands[words.command].read(words);
}

function faults(line: string): readonly string[] {
  return faultsOf(() => load(line));
}

t.test('a command for user configs says which config, where it is, and what it must be before', async (t) => {
  const at = '--store-path /var/lib/s';
  const digest = 'a'.repeat(64);
  for (const [line, request] of [
    [`config list ${at}`, { isJson: false, store: STORE }],
    [`config list ${at} --json`, { isJson: true, store: STORE }],
    [`config get alice ${at}`, { isJson: false, subject: 'alice', store: STORE }],
    [
      `config delete alice ${at} --expected-digest ${digest}`,
      { subject: 'alice', store: STORE, expectedDigest: digest },
    ],
    [
      `config put alice c.json ${at} --json --expected-digest none`,
      { isJson: true, subject: 'alice', file: 'c.json', store: STORE, expectedDigest: 'none' },
    ],
    [`config put alice ${at}`, { file: undefined, expectedDigest: undefined }],
    ['config check', { isJson: false, file: undefined }],
    ['config check c.json --json', { isJson: true, file: 'c.json' }],
    ['config schema', {}],
  ] as const) {
    t.match(load(line), request, line);
  }
  t.match(faults('config get --redis-port 1'), [/^<subject>: is missing/, /^--redis-port: has no effect/]);
  t.match(faults('config delete a --redis-port 1'), [/^--redis-port: has no effect/]);
  t.match(faults('config schema --json'), [/^--json: unknown option/]);
});

t.test('a command for secrets says which secret, where it may go, and with which keys', async (t) => {
  const key = Buffer.alloc(32, 1).toString('base64');
  const file = join(createScratchDirectory(t), 'key');
  writeFileSync(file, `${key}\n`, { mode: 0o600 });
  const at = `--store-path /var/lib/s --secrets-key-file ${file}`;
  const origins = ['https://a.example', 'https://b.example'];
  for (const [words, request] of [
    [`set gh --origins ${origins.join()}`, { name: 'gh', origins }],
    ['set gh --origins any', { name: 'gh', origins: 'any' }],
    ['delete gh', { name: 'gh' }],
    ['list', {}],
    ['rotate', {}],
  ] as const) {
    t.same(load(`secrets ${words} ${at}`), { store: STORE, keys: [key], ...request }, words);
  }
  for (const words of ['list', 'delete gh'])
    t.hasStrict(load(`secrets ${words} --store-path /var/lib/s`), { keys: [] });
  t.match(faults('secrets set gh'), [/^--origins: is required/, /^--secrets-key-file: is required/]);
  t.match(faults('secrets list --redis-port 1'), [/^--redis-port: has no effect/]);
  t.match(faults('secrets rotate'), [/^--secrets-key-file: is required/]);
});

t.test('what is no name of a secret may be the secret: it is refused, and not said again', async (t) => {
  for (const line of ['secrets set Bearer:hunter2 --origins any', 'secrets delete Bearer:hunter2']) {
    const told = faults(line);
    t.match(told.at(-1), /^<name>: must be ./, line);
    t.notMatch(told.join(), /hunter2/, line);
  }
});

t.test('a command for a running dataplane says which one, and what it is asked', async (t) => {
  for (const [line, request] of [
    ['sessions', { subject: undefined }],
    ['sessions --subject alice', { subject: 'alice' }],
    ['log-level debug', { level: 'debug' }],
    ['top --interval 5s', { intervalMs: 5_000 }],
    ['explain 0123', { id: '0123' }],
    ['explain --subject alice --virtual-host v --tool b_x', { subject: 'alice', virtualHost: 'v', tool: 'b_x' }],
    ['explain --subject alice --virtual-host v', { id: undefined, tool: undefined }],
  ] as const) {
    const address = { host: '127.0.0.1', port: 9_901 };
    t.match(load(`${line} --admin-address 127.0.0.1:9901`), { address, isJson: false, ...request }, line);
  }
  t.match(load('sessions --json', { SWITCHYARD_ADMIN_ADDRESS: '127.0.0.1:9902' }), {
    ...{ isJson: true, address: { port: 9_902 } },
  });
  t.match(faults('explain --admin-address 127.0.0.1:9901'), [
    /^--subject: is required/,
    /^--virtual-host: is required/,
  ]);
  t.match(faults('explain --admin-address 127.0.0.1:9901 --subject alice'), [/^--virtual-host: is required/]);
});

t.test('a copy of the store has a place to come from and one to go to', async (t) => {
  t.match(load('store copy /backup --store-path /var/lib/s'), {
    isJson: false,
    from: '/var/lib/s',
    directory: '/backup',
  });
  t.match(load('store copy /backup --store-path /var/lib/s --json'), { isJson: true });
  t.match(faults('store copy --store-path /var/lib/s'), [/^<directory>: is missing/]);
});

t.test('a completion script is for a shell that there is one for', async (t) => {
  for (const shell of ['bash', 'zsh', 'fish']) t.same(load(`completion ${shell}`), { shell });
  t.match(faults('completion tcsh'), [/^<shell>: expects one of bash, zsh, fish$/]);
  t.same(faults('completion'), ['<shell>: is missing']);
});

t.test('all faults are counted and told at once, with where to read more', async (t) => {
  const count = (line: string): string => {
    try {
      load(line);
    } catch (error) {
      return String(error);
    }
    return '';
  };
  t.match(
    count('completion tcsh'),
    /^OptionFaults: 1 fault in .*:\n {2}<shell>: .*\n`switchyard completion --help` lists the options/,
  );
  t.match(count('token --address 127.0.0.1:0'), /^OptionFaults: 3 faults in .*\n {2}--address.*\n {2}--.*\n {2}--.*\n/);
});
