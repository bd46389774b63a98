import t from 'tap';
import { compileUserConfig } from '../../src/user-config/compile-config.js';
import { decodeUserConfig } from '../../src/user-config/user-config-schema.js';
import { limits } from '../../src/shared/limits.js';
import type { CompiledUserConfig, UserConfigRead } from '../../src/user-config/compiled-config.js';
import { EmbeddedStore } from '../../src/store/embedded-store.js';
import { hostReader, UserConfigs, CONFIG_INLINE_BYTES_MAX } from '../../src/user-config/user-configs.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { configsOf, ScriptedStore } from './scripted-store.js';

const url = 'https://b.example/mcp';
const oneBackend = configBytes({ b: { url } });

function configBytes(backends: Record<string, unknown>): Buffer {
  return Buffer.from(JSON.stringify({ virtual_hosts: { vh: { backends } } }));
}

function found(read: UserConfigRead | Promise<UserConfigRead>): CompiledUserConfig {
  if (read instanceof Promise || read.kind !== 'found') throw new Error('not found at once');
  return read.config;
}

t.test('on a real store, a config is compiled once per change of its bytes', async (t) => {
  const store = new EmbeddedStore(createScratchDirectory(t));
  t.teardown(() => store.close());
  const configs = new UserConfigs(store, 'tls-only');
  t.same(configs.read('alice'), { kind: 'missing' });

  await store.write('alice', oneBackend);
  const first = found(configs.read('alice'));
  t.ok(first.virtualHosts.get('vh')?.backends.has('b'));
  t.equal(found(configs.read('alice')), first);

  await store.write('alice', configBytes({ c: { url } }));
  const second = found(configs.read('alice'));
  t.not(second, first);
  t.ok(second.virtualHosts.get('vh')?.backends.has('c'));

  await store.write('alice', Buffer.alloc(0));
  t.same(configs.read('alice'), { kind: 'missing' }, 'an empty value');
  await store.write('alice', Buffer.from('{'));
  t.match(configs.read('alice'), { kind: 'failed', reason: /cannot be decoded: not JSON/ });
  t.match(configs.read('\ud800'), { kind: 'failed', reason: /cannot be encoded/ });
});

t.test('equal bytes in another buffer keep the compiled config', async (t) => {
  const store = new ScriptedStore();
  const configs = new UserConfigs(store, 'tls-only');
  store.answer = { kind: 'found', value: oneBackend };
  const first = found(configs.read('alice'));
  store.answer = { kind: 'found', value: Buffer.from(oneBackend) };
  t.equal(found(configs.read('alice')), first);
  store.answer = { kind: 'missing' };
  t.same(configs.read('alice'), { kind: 'missing' });
  store.answer = { kind: 'found', value: Buffer.from(oneBackend) };
  t.equal(found(configs.read('alice')), first, 'also after it was away');
});

t.test('a store that needs time is waited for', async (t) => {
  const store = new ScriptedStore();
  const configs = new UserConfigs(store, 'tls-only');
  store.answer = Promise.resolve({ kind: 'found', value: oneBackend } as const);
  const reads = [configs.read('alice'), configs.read('alice')];
  t.ok(reads.every((read) => read instanceof Promise));
  const [one, other] = await Promise.all(reads.map((read) => Promise.resolve(read)));
  t.equal(found(one!), found(other!), 'two at once share what is compiled');
  store.answer = Promise.resolve({ kind: 'failed', reason: 'lost' } as const);
  t.same(await configs.read('alice'), { kind: 'failed', reason: 'lost' });
});

t.test('an invalid config is decoded once', async (t) => {
  const store = new ScriptedStore();
  const configs = new UserConfigs(store, 'tls-only');
  store.answer = { kind: 'found', value: Buffer.from('{}') };
  const read = configs.read('alice');
  t.match(read, { kind: 'failed', reason: /virtual_hosts: is missing/ });
  t.equal(configs.read('alice'), read);
});

t.test('a value over the limit fails', async (t) => {
  const store = new ScriptedStore();
  store.answer = { kind: 'found', value: Buffer.alloc(limits.userConfigBytesMax + 1, ' ') };
  t.match(new UserConfigs(store, 'tls-only').read('alice'), { kind: 'failed', reason: /larger than/ });
});

t.test('the upstream mode reaches the backends', async (t) => {
  const store = new ScriptedStore();
  store.answer = { kind: 'found', value: configBytes({ b: { url: 'http://b.example/' } }) };
  for (const [mode, obstacle] of [
    ['tls-only', 'plain-text-refused'],
    ['plain-text-or-tls', undefined],
  ] as const) {
    const config = found(new UserConfigs(store, mode).read('alice'));
    t.equal(config.virtualHosts.get('vh')?.backends.get('b')?.obstacle, obstacle);
  }
});

t.test('members that look misspelled are logged, once for each config, small or large', async (t) => {
  const told: string[] = [];
  const store = new ScriptedStore();
  const configs = new UserConfigs(store, 'tls-only', (subject, oddities) => told.push(`${subject}: ${oddities}`));
  t.teardown(() => configs.close());
  const odd = { b: { url, allowed_tools: ['a'], description: 'mine' } };
  const text = configBytes(odd).toString();
  const expected = 'alice: virtual_hosts.vh.backends.b.allowed_tools: is not known; did you mean allowed_tool_names?';
  store.answer = { kind: 'found', value: Buffer.from(text) };
  found(await configs.read('alice'));
  found(await configs.read('alice'));
  t.same(told, [expected]);
  store.answer = { kind: 'found', value: Buffer.from(text.padEnd(CONFIG_INLINE_BYTES_MAX + 1)) };
  found(await configs.read('alice'));
  t.same(told, [expected, expected], 'the large one is another config');
  store.answer = { kind: 'found', value: configBytes({ b: { url, allowed_tool_names: ['a'], description: 'mine' } }) };
  found(await configs.read('alice'));
  t.equal(told.length, 2);
});

t.test('a member that is known elsewhere has no effect in the wrong place', async (t) => {
  const decoding = decodeUserConfig(Buffer.from('{"virtual_hosts":{"vh":{"backends":{},"allowed_tool_names":["a"]}}}'));
  t.match(decoding, { ok: true, oddities: 'virtual_hosts.vh.allowed_tool_names: has no effect here' });
});

t.test('forgetting is left to the store', async (t) => {
  const store = new ScriptedStore();
  new UserConfigs(store, 'tls-only').forget('alice');
  t.same(store.forgotten, ['alice']);
});

/** Names that JSON escapes, and every member that a backend may have. */
const colourful = configBytes({
  'é"\n\u2028': {
    url: 'http://b.example/mcp?x=1',
    allowed_tool_names: ['a', '"', 'é'],
    passthrough_headers: ['X-A', 'x-b'],
  },
  long: { url, transport: 'SSE', allowed_tool_names: Array.from({ length: 3_000 }, (_, index) => `tool-${index}`) },
  ...Object.fromEntries(
    Array.from({ length: 700 }, (_, index) => [`b${index}`.padEnd(1 + (index % 40), 'x'), { url }]),
  ),
});

t.test('a large config compiles to the same as a small one would', async (t) => {
  t.ok(colourful.length > CONFIG_INLINE_BYTES_MAX);
  const { store, configs } = configsOf(t);
  store.answer = { kind: 'found', value: colourful };
  const reading = configs.read('alice');
  t.ok(reading instanceof Promise, 'in its own time');
  t.equal(await configs.read('alice'), await reading, 'once for all who ask meanwhile');
  const decoding = decodeUserConfig(colourful);
  if (!decoding.ok) throw new Error(decoding.issues);
  const read = configs.read('alice');
  const expected = compileUserConfig(decoding.config, 'tls-only');
  t.strictSame(found(read), expected);
  const names = (config: CompiledUserConfig): unknown =>
    [...config.virtualHosts.values()].map(({ backends, backendsByNameLength }) => [
      [...backends.keys()],
      backendsByNameLength.map(({ name }) => name),
    ]);
  t.strictSame(names(found(read)), names(expected), 'in the same order');
  t.equal(configs.read('alice'), read, 'and is remembered');
});

t.test('of two large configs the one written last is cached', async (t) => {
  const { store, configs } = configsOf(t);
  store.answer = { kind: 'found', value: colourful };
  const first = configs.read('alice');
  const newer = Buffer.from(colourful.toString().replace('tool-1"', 'other"'));
  store.answer = { kind: 'found', value: newer };
  const second = configs.read('alice');
  t.not(await first, await second);
  t.equal(configs.read('alice'), await second);
});

t.test('a small config stays cached when an older large one has been compiled', async (t) => {
  const { store, configs } = configsOf(t);
  store.answer = { kind: 'found', value: colourful };
  const older = configs.read('alice');
  store.answer = { kind: 'found', value: oneBackend };
  const newer = found(configs.read('alice'));
  found(await older);
  t.equal(found(configs.read('alice')), newer);
});

t.test('an invalid large config is reported like a small one, and cached', async (t) => {
  const { store, configs } = configsOf(t);
  const faulty = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`b${index}`, { url: 'none' }]));
  store.answer = { kind: 'found', value: configBytes(faulty) };
  const read = await configs.read('alice');
  t.match(read, { kind: 'failed', reason: /b0\.url: must be an http.*and 4990 more/ });
  t.equal(configs.read('alice'), read);
});

t.test('a config that consists of faults is refused', async (t) => {
  const members = Array.from({ length: 200_000 }, (_, index) => `"b${index}":0`).join();
  const bytes = Buffer.from(`{"virtual_hosts":{"vh":{"backends":{${members}}}}}`);
  t.ok(bytes.length <= limits.userConfigBytesMax);
  t.strictSame(decodeUserConfig(bytes), { ok: false, issues: 'too many invalid members to list' });
});

t.test('the current state of a virtual host: gone with its config, unknown while that cannot be read', async (t) => {
  const store = new ScriptedStore();
  const configs = new UserConfigs(store, 'tls-only');
  const read = hostReader(configs);
  t.equal(read('alice', 'vh'), 'gone');
  store.answer = { kind: 'found', value: oneBackend };
  const host = found(configs.read('alice')).virtualHosts.get('vh');
  t.equal(read('alice', 'vh'), host, 'the same while it is');
  t.equal(read('alice', 'other'), 'gone');
  store.answer = Promise.resolve({ kind: 'failed', reason: 'the store is away' });
  t.equal(await read('alice', 'vh'), 'unknown');
});
