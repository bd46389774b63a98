// The keys that seal secrets in the store. The first one seals; all of them open, so that a new key can be put in front
// of the old one, and the old one removed once everything is sealed again. Cold path.
import { createHash } from 'node:crypto';

export interface SecretKey {
  /** Stored with what the key has sealed; reveals nothing of the key. */
  readonly id: string;
  readonly bytes: Buffer;
}

const ID_CHARS = 16;

export class SecretKeys {
  readonly #byId: ReadonlyMap<string, SecretKey>;
  /** The key that seals; `undefined` when there are none. */
  readonly first: SecretKey | undefined;

  /** @param keys from the options: 32 bytes each, in base64. */
  constructor(keys: readonly string[]) {
    const all = keys.map((text) => {
      const bytes = Buffer.from(text, 'base64');
      return { id: idOf(bytes), bytes };
    });
    this.first = all[0];
    this.#byId = new Map(all.map((key) => [key.id, key]));
  }

  find(id: string): SecretKey | undefined {
    return this.#byId.get(id);
  }
}

function idOf(bytes: Buffer): string {
  return createHash('sha256').update('switchyard secret key id').update(bytes).digest('hex').slice(0, ID_CHARS);
}
