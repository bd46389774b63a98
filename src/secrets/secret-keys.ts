// The keys that seal secrets of the store. The first one seals; all of them open, so that a new key can come in front of the
// old one, and the old one go when everything is sealed anew. Cold.
import { createHash } from 'node:crypto';

export interface SecretKey {
  /** Stands in what it has sealed; tells nothing of the key. */
  readonly id: string;
  readonly bytes: Buffer;
}

const ID_CHARS = 16;

export class SecretKeys {
  readonly #byId: ReadonlyMap<string, SecretKey>;
  /** Which one seals; `undefined` when there are none. */
  readonly first: SecretKey | undefined;

  /** @param keys as the options have them: 32 bytes each, in base64. */
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
