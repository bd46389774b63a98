import t from 'tap';
import { limits } from '../../src/shared/limits.js';
import type { CompiledUserConfig, UserConfigRead } from '../../src/store/compiled-config.js';
import { EmbeddedStore } from '../../src/store/embedded-store.js';
import type { Store, StoreRead } from '../../src/store/store.js';
import { UserConfigs } from '../../src/store/user-configs.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const url = 'https://b.example/mcp';
const oneBackend = configBytes({ b: { url } });

function configBytes(backends: Record<string, unknown>): Buffer {
  return Buffer.from(JSON.stringify({ virtual_hosts: { vh: { backends } } }));
}

function found(read: UserConfigRead | Promise<UserConfigRead>): CompiledUserConfig {
  if (read instanceof Promise || read.kind !== 'found') throw new Error('not found at once');
  return read.config;
}

/** A store that answers whatever the test sets, at once or later. */
class ScriptedStore implements Store {
  readonly kind = 'redis';
  answer: StoreRead | Promise<StoreRead> = { kind: 'missing' };
  readonly forgotten: string[] = [];

  read(_subject: string): StoreRead | Promise<StoreRead> {
    return this.answer;
  }

  write(_subject: string, _value: Buffer): Promise<void> {
    return Promise.reject(new Error('not written to'));
  }

  forget(subject: string): void {
    this.forgotten.push(subject);
  }

  async close(): Promise<void> {}
}

t.test('on a real store: compiled once per change of the bytes', async (t) => {
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

t.test('equal bytes in another buffer keep what was compiled', async (t) => {
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

t.test('what cannot be decoded is decoded once', async (t) => {
  const store = new ScriptedStore();
  const configs = new UserConfigs(store, 'tls-only');
  store.answer = { kind: 'found', value: Buffer.from('{}') };
  const read = configs.read('alice');
  t.match(read, { kind: 'failed', reason: /virtual_hosts: must be an object/ });
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

t.test('to forget is the work of the store', async (t) => {
  const store = new ScriptedStore();
  new UserConfigs(store, 'tls-only').forget('alice');
  t.same(store.forgotten, ['alice']);
});
