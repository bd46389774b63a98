// User configs on a store whose answers the test sets.
import type { Test } from 'tap';
import type { Store, StoreRead } from '../../src/store/store.js';
import { UserConfigs } from '../../src/user-config/user-configs.js';

/** A store that returns what the test sets, at once or later. */
export class ScriptedStore implements Omit<Store, 'readRecord' | 'swapRecord'> {
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

export function configsOf(t: Test): { store: ScriptedStore; configs: UserConfigs } {
  const store = new ScriptedStore();
  const configs = new UserConfigs(store, 'tls-only');
  t.teardown(() => configs.close());
  return { store, configs };
}
