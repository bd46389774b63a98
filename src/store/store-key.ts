// From a subject to its key in the store: the subject's UTF-8 bytes, exactly, without a prefix (decisions 2.7). Byte
// 0xFF is never part of UTF-8, so keys of the gateway's own that begin with it can be reached by no subject.
import { isUnicodeText } from '../shared/json-values.js';
import { limits } from '../shared/limits.js';
import type { StoreRead } from './store.js';

/** What a store answers to a subject without a key. */
export const unencodable: StoreRead = Object.freeze({
  kind: 'failed',
  reason: 'the subject cannot be encoded as a store key',
});

/** `undefined` for a subject that has no key: a lone surrogate in it, empty, or longer than a key may be. */
export function encodeStoreKey(subject: string): Buffer | undefined {
  if (!isUnicodeText(subject)) return undefined;
  const key = Buffer.from(subject, 'utf8');
  return key.length > 0 && key.length <= limits.storeKeyBytesMax ? key : undefined;
}

/**
 * What a record of the gateway's own is called where everything else is called by its subject. A token may name a subject
 * that begins so, as JSON can; none of these has a key, and whoever takes subjects has to refuse them before it looks.
 */
const RECORD_MARK = '\udfff';

export function recordName(recordKey: string): string {
  return RECORD_MARK + recordKey;
}

export function isRecordName(name: string): boolean {
  return name.startsWith(RECORD_MARK);
}

/** The record's key again; `undefined` for a subject. */
export function recordKeyOf(name: string): string | undefined {
  return isRecordName(name) ? name.slice(RECORD_MARK.length) : undefined;
}
