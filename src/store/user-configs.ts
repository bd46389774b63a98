// A worker's user configs, compiled. Answers from what was compiled before for as long as the stored bytes are the same,
// so that the identity of a compiled virtual host says whether its config changed. Hot.
import type { UpstreamOptions } from '../config/dataplane-options.js';
import { limits } from '../shared/limits.js';
import { compileUserConfig } from './compile-config.js';
import type { UserConfigRead } from './compiled-config.js';
import { RecentMap } from '../shared/recent-map.js';
import type { Store, StoreRead } from './store.js';
import { decodeUserConfig } from './user-config-schema.js';

interface Compiled {
  readonly value: Buffer;
  readonly read: UserConfigRead;
}

const missing: UserConfigRead = Object.freeze({ kind: 'missing' });

export class UserConfigs {
  readonly #store: Store;
  readonly #upstreamMode: UpstreamOptions['mode'];
  readonly #compiled = new RecentMap<Compiled>(
    limits.userConfigCacheEntriesMax,
    limits.userConfigCacheBytesMax,
    ({ value }) => value.length,
  );

  constructor(store: Store, upstreamMode: UpstreamOptions['mode']) {
    this.#store = store;
    this.#upstreamMode = upstreamMode;
  }

  /** The config under a subject; without a promise whenever the store needs none. Never throws or rejects. */
  read(subject: string): UserConfigRead | Promise<UserConfigRead> {
    const stored = this.#store.read(subject);
    return stored instanceof Promise
      ? stored.then((settled) => this.#compile(subject, settled))
      : this.#compile(subject, stored);
  }

  /** The next read sees what was written before this call. What was compiled stays: the bytes decide. */
  forget(subject: string): void {
    this.#store.forget(subject);
  }

  #compile(subject: string, stored: StoreRead): UserConfigRead {
    if (stored.kind !== 'found') return stored;
    const { value } = stored;
    const known = this.#compiled.get(subject);
    if (known !== undefined) {
      if (known.value === value) return known.read;
      if (known.value.equals(value)) {
        this.#compiled.set(subject, { value, read: known.read });
        return known.read;
      }
    }
    if (value.length === 0) return missing;
    // What cannot be decoded is remembered too: asking again must not cost a parse each time.
    const read = this.#decode(value);
    this.#compiled.set(subject, { value, read });
    return read;
  }

  #decode(value: Buffer): UserConfigRead {
    const decoding = decodeUserConfig(value);
    return decoding.ok
      ? { kind: 'found', config: compileUserConfig(decoding.config, this.#upstreamMode) }
      : { kind: 'failed', reason: `the user config cannot be decoded: ${decoding.issues}` };
  }
}
