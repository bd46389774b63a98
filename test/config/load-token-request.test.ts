import t from 'tap';
import { commands } from '../../src/commands.js';
import { readCommandLine } from '../../src/config/command-line.js';
import { OptionFaults } from '../../src/config/values.js';
import { createKeyPair } from '../support/keys.js';

interface TokenRequest {
  readonly subject: string;
  readonly expiresInMs: number;
  readonly token: object;
}

function load(args: readonly string[], environment: NodeJS.ProcessEnv = {}): TokenRequest {
  const words = readCommandLine(['token', ...args], commands, environment);
  if (words.command === 'answer') throw new Error(words.text);
  return commands.token.read(words) as TokenRequest;
}

t.test('a token request has a subject, a key, and defaults for the rest', async (t) => {
  const { privateKeyPath } = createKeyPair(t, 'ed25519');
  const request = load(['--subject', 'alice'], { SWITCHYARD_TOKEN_VERIFICATION_PRIVATE_KEY: privateKeyPath });
  t.match(request, {
    subject: 'alice',
    expiresInMs: 3_600_000,
    token: { issuers: ['mcpgateway'], audience: 'mcpgateway-api', privateKey: /PRIVATE KEY/ },
  });
  t.ok(Object.isFrozen(request.token));
});

t.test('a token may live longer than a timer can run', async (t) => {
  const { privateKeyPath } = createKeyPair(t, 'ed25519');
  const args = ['--token-verification-private-key', privateKeyPath, '--subject', 'alice', '--expires-in'];
  t.equal(load([...args, '8760h']).expiresInMs, 8_760 * 3_600_000);
  t.throws(() => load([...args, '999ms']), { message: /--expires-in: expects a duration/ });
  t.throws(() => load([...args, '87601h']), { message: /--expires-in: expects a duration/ });
});

t.test('missing required options are reported together', async (t) => {
  const error = t.throws(() => load(['--expires-in', 'soon']));
  if (!(error instanceof OptionFaults)) throw new Error('not the faults of the options');
  t.match(error.faults, [
    /^--subject: is required; .*SWITCHYARD_SUBJECT/,
    /^--expires-in: /,
    /^--token-verification-private-key: is required/,
  ]);
  t.equal(error.faults.length, 3);
  t.throws(() => load(['--subject=']), { message: /--subject: must not be empty/ });
});
