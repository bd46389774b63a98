// What an operator reads after a configuration mistake: what is wrong and what to do, in one line, before anything listens. Uses
// the real program; its exit status tells a supervisor that a retry is useless.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { runProgram } from '../support/gateway.js';
import { createKeyPair } from '../support/keys.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const CONTENT = 'content-of-a-file-that-nobody-should-see';
const directory = createScratchDirectory(t);
const key = createKeyPair(t);

function file(name: string, content: string | Buffer): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

const junk = file('junk', `${CONTENT}\n`);
const unknownMember = file(
  'config.json',
  '{"virtual_hosts":{"v":{"backends":{"b":{"url":"https://b.example/mcp","allowed_tools":["x"]}}}}}',
);
const halfKeys = file('two.pem', `${key.publicKeyPem}-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n`);
const damagedStore = createScratchDirectory(t);
writeFileSync(join(damagedStore, 'data.mdb'), CONTENT.repeat(300));

interface Misconfiguration {
  readonly words: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** 64 for the command line and the environment, unless given. */
  readonly exitStatus?: number;
  readonly said: RegExp;
}

const check = (...words: string[]): string[] => ['dataplane', '--check', ...words];

const misconfigurations: Readonly<Record<string, Misconfiguration>> = {
  'a command that is misspelt': {
    words: ['dataplan'],
    said: /dataplan: unknown command \(did you mean dataplane\?\); the commands are dataplane, /,
  },
  'an option that is misspelt': {
    words: check('--adress', '127.0.0.1:1'),
    said: /--adress: .*correct it to --address/,
  },
  'a variable that is misspelt': {
    words: check(),
    environment: { SWITCHYARD_REDIS_ADRESS: 'redis' },
    said: /SWITCHYARD_REDIS_ADRESS: no option reads it; correct it to SWITCHYARD_REDIS_ADDRESS/,
  },
  'an option without its value': {
    words: check('--address'),
    said: /--address: needs a value; write --address <host:port>/,
  },
  'an address without a port': { words: check('--address', 'localhost'), said: /--address: expects host:port, as in / },
  'a duration without its unit': {
    words: check('--session-idle-timeout', '5'),
    said: /expects a duration with its unit, as in /,
  },
  'a size that is too small': {
    words: check('--worker-memory', '1MiB'),
    said: /expects a size, .* from 192MiB to 1024GiB/,
  },
  'a number out of range': {
    words: check('--number-of-cpus', '0'),
    said: /--number-of-cpus: expects a whole number from 1 to 1024/,
  },
  'a word that is none of a few': {
    words: check('--log-level', 'loud'),
    said: /--log-level: expects one of fatal, error, /,
  },
  'a key that is not there': {
    words: check('--token-verification-public-key', join(directory, 'nothing.pem')),
    said: /--token-verification-public-key: the file cannot be read \(ENOENT\)/,
  },
  'a file that is no key': {
    words: check('--token-verification-public-key', junk),
    said: /is not a public key in PEM; write one with `openssl pkey -pubout`/,
  },
  'the private key in place of the public one': {
    words: check('--token-verification-public-key', key.privateKeyPath),
    said: /holds a private key; give the file of its public key/,
  },
  'the public key in place of the private one': {
    words: ['token', '--subject', 'a', '--token-verification-private-key', key.publicKeyPath],
    said: /holds a public key or a certificate; give the file of its private key/,
  },
  'a user config that is no JSON': {
    words: ['config', 'check', file('broken.json', '{\n  "virtual_hosts": {\n    "v": "content" "x"\n')],
    exitStatus: 65,
    said: /broken\.json: error: not JSON: at line 3, column 20 a comma is missing/,
  },
  'a second key that is broken': {
    words: check('--token-verification-public-key', halfKeys),
    said: /key 2 in the file cannot be parsed; write it again with `openssl pkey -pubout`, or remove it/,
  },
  'one address for callers and operators': {
    words: check('--address', '127.0.0.1:8001', '--admin-address', '127.0.0.1:8001'),
    said: /--admin-address: is the same as --address; give it another port, or off/,
  },
  'a Redis as a URL with a password': {
    words: check('--redis-address', `redis://:${CONTENT}@redis.internal:6379`),
    said: /--redis-address: expects a host name or address without a port, .*; the port has its own option/,
  },
  'a password on the command line': {
    words: check('--redis-password', CONTENT),
    said: /--redis-password: unknown option; correct it to --redis-password-file/,
  },
  'a command that wants a token': {
    words: ['servers', 'list'],
    said: /SWITCHYARD_TOKEN: is not set; set it to an access token, as minted by `switchyard token`/,
  },
  'TLS without a certificate': {
    words: check('--tls-address', '127.0.0.1:8443'),
    said: /--server-certificate: is required by --tls-address[^]*--server-private-key: is required by --tls-address/,
  },
  'how a Redis is spoken to, and no Redis': {
    words: check('--redis-mode', 'tls'),
    said: /--redis-mode: has no effect without --redis-address, --redis-sentinels or --redis-cluster/,
  },
  'a Redis, and sentinels that know another': {
    words: check('--redis-address', 'a', '--redis-sentinels', 'b:1'),
    said: /--redis-address: contradicts --redis-sentinels; give one of them/,
  },
  'a network that is none': {
    words: check('--upstream-allowed-networks', '10.0.0.0/33'),
    said: /entry 1 is not a network, as in /,
  },
  'authorities that are none': {
    words: check('--upstream-ca', junk),
    said: /--upstream-ca: holds no PEM certificate/,
  },
  'a directory of secrets that is not there': {
    words: check('--secrets-directory', join(directory, 'secrets')),
    said: /--secrets-directory: the directory cannot be read \(ENOENT\); give the path of a readable directory/,
  },
  'a file in the place of the directory of secrets': {
    words: check('--secrets-directory', junk),
    said: /--secrets-directory: the directory cannot be read \(ENOTDIR\)/,
  },
  'keys of secrets that are none': {
    words: check('--secrets-key-file', junk),
    said: /has a line that is not a key of 32 bytes; write one with `openssl rand -base64 32`/,
  },
  'keys of issuers over plain http': {
    words: check('--token-jwks-url', 'http://issuer.example/keys'),
    said: /--token-jwks-url: entry 1 is not .*write an https URL/,
  },
  'a share that is larger than the whole': {
    words: check('--upstream-connections', '10', '--upstream-connections-per-subject', '20'),
    said: /--upstream-connections-per-subject: is more than --upstream-connections; give at most as many/,
  },
  'a proxy that is spoken to over TLS': {
    words: check(),
    environment: { https_proxy: 'https://proxy.example:3128' },
    said: /--upstream-proxy \(from https_proxy\): expects an HTTP proxy, as in http:/,
  },
  'the password of a proxy where every user reads it': {
    words: check('--upstream-proxy', 'http://user:pass@proxy.example:3128'),
    said: /--upstream-proxy: has a password that every user of this machine could read; give it as HTTPS_PROXY/,
  },
  'a proxy, and networks that it does not know': {
    words: check('--upstream-allowed-networks', '10.0.0.0/8'),
    environment: { HTTPS_PROXY: 'http://proxy.example:3128' },
    said: /--upstream-proxy \(from HTTPS_PROXY\): looks up names itself, .* leave out one of the two/,
  },
  'an address of the console with a path': {
    words: ['control-plane', '--check', '--connect-url', 'https://gateway.example/path'],
    said: /--connect-url: expects scheme, host and port, as in /,
  },
  'a token without a key': {
    words: ['token', '--subject', 'a'],
    said: /--token-verification-private-key: is required; give it, or set SWITCHYARD_/,
  },
  'a member of a user config that is misspelt': {
    words: ['config', 'check', unknownMember],
    exitStatus: 65,
    said: /backends\.b\.allowed_tools: is not known; did you mean allowed_tool_names\?/,
  },
  'a store that is damaged': {
    words: ['dataplane', '--address', '127.0.0.1:0', '--number-of-cpus', '1', '--store-path', damagedStore],
    exitStatus: 73,
    said: /the embedded store in .* is damaged: .*Restore its files from a copy, or move them away/,
  },
  'a store where no directory can be made': {
    words: ['dataplane', '--address', '127.0.0.1:0', '--number-of-cpus', '1', '--store-path', '/proc/store'],
    exitStatus: 73,
    said: /the store cannot be opened: ENOENT.*; give --store-path a directory that this user may write/,
  },
  'a store that is a file': {
    words: ['dataplane', '--address', '127.0.0.1:0', '--number-of-cpus', '1', '--store-path', junk],
    exitStatus: 73,
    said: /the store cannot be opened: ENOTDIR.*; give --store-path a directory that this user may write/,
  },
  'an admin listener that is not there': {
    words: ['sessions', '--admin-address', '127.0.0.1:1'],
    environment: {},
    exitStatus: 69,
    said: /no admin listener answers at http:\/\/127\.0\.0\.1:1; start a dataplane, or give its --admin-address/,
  },
  'an address of another machine': {
    words: ['dataplane', '--address', '198.51.100.7:8001', '--store-path', join(directory, 'store')],
    exitStatus: 69,
    said: /cannot listen on 198\.51\.100\.7:8001: no interface of this machine has that address/,
  },
};

t.jobs = 2;

for (const [name, { words, environment, exitStatus = 64, said }] of Object.entries(misconfigurations)) {
  t.test(name, async (t) => {
    const { code, output, errorOutput } = await runProgram(words, environment && { environment });
    const text = output + errorOutput;
    t.equal(code, exitStatus);
    t.match(text, said);
    t.notMatch(text, CONTENT, 'nothing of a file that was not what it should be');
    t.notMatch(text, /^ +at /m, 'no stack');
    t.notMatch(text, /"listening"|listening on/, 'nothing listened');
  });
}
