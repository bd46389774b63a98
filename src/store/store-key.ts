// Encodes a subject as its key in the store: exactly its UTF-8 bytes, without a prefix (decisions 2.7). Byte 0xFF never occurs in UTF-8, so
// no subject can reach the gateway's own keys, which begin with it.
import { isUnicodeText } from '../shared/json-values.js';
import { limits } from '../shared/limits.js';
import type { StoreRead } from './store.js';

/** The result of reading a subject that has no valid key. */
export const unencodable: StoreRead = Object.freeze({
  kind: 'failed',
  reason: 'the subject cannot be encoded as a store key',
});

/** `undefined` for a subject that has no key: it contains a lone surrogate, is empty, or is longer than a key may be. */
export function encodeStoreKey(subject: string): Buffer | undefined {
  if (!isUnicodeText(subject)) return undefined;
  const key = Buffer.from(subject, 'utf8');
  return key.length > 0 && key.length <= limits.storeKeyBytesMax ? key : undefined;
}

/**
 * Prefix that names one of the gateway's own records where everything else is named by subject. A token's subject may begin with it, since
 * JSON allows that; such a subject has no key, and code that takes subjects must reject it before it looks anything up.
 */
const RECORD_MARK = '\udfff';

export function recordName(recordKey: string): string {
  return RECORD_MARK + recordKey;
}

export function isRecordName(name: string): boolean {
  return name.startsWith(RECORD_MARK);
}

/** The record key in a record name; `undefined` for a subject. */
export function recordKeyOf(name: string): string | undefined {
  return isRecordName(name) ? name.slice(RECORD_MARK.length) : undefined;
}
