// Seals again, with the first key, the users' grants and the gateway's clients that are sealed with another one, so that an old key can be
// removed. Cold path.
import type { RecordKey, RecordStore } from '../store/record-store.js';
import { walkRecords } from '../store/record-walk.js';
import type { SecretKey, SecretKeys } from './secret-keys.js';
import { openText, sealText } from './sealed-text.js';
import { CLIENT_PREFIX, GRANT_PREFIX } from './user-grants.js';

export interface Resealing {
  readonly resealed: number;
  /** Records that no key opens, or that kept changing meanwhile. */
  readonly failed: number;
}

const TRIES_MAX = 3;

/** Consents in progress are left out: they expire within minutes. */
export async function resealGrants(records: RecordStore, keys: SecretKeys, key: SecretKey): Promise<Resealing> {
  const counts = { resealed: 0, failed: 0 };
  for (const prefix of [GRANT_PREFIX, CLIENT_PREFIX]) {
    for await (const found of walkRecords(records, prefix)) {
      for (const { key: name } of found) {
        const outcome = await reseal(records, keys, key, name);
        if (outcome !== 'same') counts[outcome] += 1;
      }
    }
  }
  return counts;
}

async function reseal(
  records: RecordStore,
  keys: SecretKeys,
  key: SecretKey,
  name: string,
): Promise<'resealed' | 'failed' | 'same'> {
  const place: RecordKey = { space: 'records', key: name };
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const expected = await records.read(place);
    if (expected === undefined) return 'same';
    const opened = openText(keys, name, expected);
    if (opened.kind === 'failed') return 'failed';
    if (opened.keyId === key.id) return 'same';
    const value = sealText(key, name, opened.text);
    if (await records.swap([{ ...place, expected, value }])) return 'resealed';
  }
  return 'failed';
}
