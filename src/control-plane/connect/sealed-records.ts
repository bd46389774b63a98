// Records of the store whose values are sealed as JSON, each bound to its own key. Cold path.
import type { RecordKey, RecordStore } from '../../store/index.js';
import { openText, sealText, type SecretKeys } from '../../credentials/index.js';

interface SealedRead<Value> {
  /** As stored, for the swap that changes it. */
  readonly bytes: Buffer | undefined;
  /** `undefined` also for a record that no key opens. */
  readonly value: Value | undefined;
}

export class SealedRecords<Value> {
  readonly records: RecordStore;
  readonly #keys: SecretKeys;

  constructor(records: RecordStore, keys: SecretKeys) {
    this.records = records;
    this.#keys = keys;
  }

  async read(key: string): Promise<SealedRead<Value>> {
    const bytes = await this.records.read(place(key));
    return { bytes, value: this.open(key, bytes) };
  }

  /** @returns false when it was changed meanwhile, and nothing was done. @param value `undefined`: removes it. */
  async replace(key: string, expected: Buffer | undefined, value: Value | undefined): Promise<boolean> {
    const sealed = value && sealText(this.#keys.sealing, key, JSON.stringify(value));
    return this.records.swap([{ ...place(key), expected, value: sealed }]);
  }

  /** Not validated: only the gateway can have sealed it. */
  open(key: string, bytes: Buffer | undefined): Value | undefined {
    const opened = bytes && openText(this.#keys, key, bytes);
    return opened?.kind === 'opened' ? (JSON.parse(opened.text) as Value) : undefined;
  }
}

function place(key: string): RecordKey {
  return { space: 'records', key };
}
