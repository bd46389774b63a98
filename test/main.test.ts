// The program as a user runs it: exit statuses, and what goes to which stream. Serving is tested elsewhere.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { TokenVerifier } from '../src/auth/token-verifier.js';
import { PROGRAM_VERSION } from '../src/shared/program.js';
import { tokenOptions } from './auth/token-options.js';
import { createKeyPair, type KeyKind } from './support/keys.js';
import { createScratchDirectory } from './support/scratch-directory.js';

const builtSources = fileURLToPath(new URL('../src', import.meta.url));

interface Run {
  readonly status: number | null;
  readonly output: string;
  readonly errors: string;
}

async function run(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
  program = join(builtSources, 'main.js'),
): Promise<Run> {
  const child = spawn(process.execPath, [program, ...args], { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  const exit = once(child, 'close') as Promise<[number | null]>;
  const [output, errors, [status]] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  return { status, output, errors };
}

t.test('--version and --help end with 0', async (t) => {
  t.strictSame(await run(['--version']), { status: 0, output: `${PROGRAM_VERSION}\n`, errors: '' });
  const help = await run(['dataplane', '--help']);
  t.match(help, { status: 0, errors: '' });
  t.match(help.output, /--token-verification-public-key/);
});

t.test('faults of the options end with 64, all at once on standard error', async (t) => {
  const { status, output, errors } = await run(['--adress', 'x', '--log-level', 'loud', '--max-body-bytes'], {
    SWITCHYARD_NUMBER_OF_CPUS: 'all',
  });
  t.equal(status, 64);
  t.equal(output, '');
  t.match(errors, /^switchyard: 4 faults/);
  for (const fault of [
    '--adress: unknown option',
    '--log-level: expects one of',
    '--max-body-bytes: needs a value',
    '--number-of-cpus (from SWITCHYARD_NUMBER_OF_CPUS): expects a whole number',
  ]) {
    t.ok(errors.includes(fault), fault);
  }
});

t.test('an unknown command ends with 64 and names the known ones', async (t) => {
  t.match(await run(['dataplan']), {
    status: 64,
    output: '',
    errors: /dataplan: unknown command .*dataplane, control-plane, token/,
  });
});

for (const kind of ['rsa', 'ec', 'ed25519'] satisfies KeyKind[]) {
  t.test(`token prints a token and nothing else, with an ${kind} key`, async (t) => {
    const key = createKeyPair(t, kind);
    const args = ['token', '--subject', 'alice', '--expires-in', '5m', '--token-issuer', 'us'];
    const { status, output, errors } = await run(args, {
      SWITCHYARD_TOKEN_VERIFICATION_PRIVATE_KEY: key.privateKeyPath,
      SWITCHYARD_TOKEN_ISSUER: 'them',
    });
    t.equal(errors, '');
    t.equal(status, 0);
    t.match(output, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const options = tokenOptions({ publicKey: key.publicKeyPem, issuers: ['us'] });
    const header = `Bearer ${output.trim()}`;
    t.strictSame(await new TokenVerifier(options).verify(header), { kind: 'subject', subject: 'alice' });
    const later = new TokenVerifier(options, () => Date.now() + 300_000);
    t.match(await later.verify(header), { reason: 'expired' });
  });
}

t.test('token without a subject or a key ends with 64', async (t) => {
  const { status, output, errors } = await run(['token']);
  t.equal(status, 64);
  t.equal(output, '');
  t.match(errors, /--subject: is required/);
  t.match(errors, /--token-verification-private-key: is required/);
});

t.test('an unexpected error is one line and ends with 70', async (t) => {
  // A copy of the program whose primary throws as soon as it runs.
  const directory = createScratchDirectory(t);
  const copy = join(directory, 'src');
  await cp(builtSources, copy, { recursive: true });
  await symlink(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(directory, 'node_modules'));
  await cp(fileURLToPath(new URL('../../package.json', import.meta.url)), join(directory, 'package.json'));
  await writeFile(
    join(copy, 'primary', 'run-primary.js'),
    "export async function runPrimary() { throw new Error('first line\\nsecond line'); }\n",
  );
  const { status, output, errors } = await run([], {}, join(copy, 'main.js'));
  t.equal(status, 70);
  t.equal(output, '');
  t.match(errors, /^switchyard: internal error: first line second line at .*run-primary\.js:1:\d+\)?\n$/);
});
