// Hides a record from anyone who can read its storage: only with the session's id, which only its client has, can
// the record be found and opened, and only for its subject and its virtual host. Cold path: a few times per session.
import { hash } from 'node:crypto';
import { RecentMap } from '../shared/recent-map.js';
import * as sealing from '../shared/sealing.js';

/** Recent sessions whose record key a process remembers. Beyond it, the key is computed again. */
const SESSION_KEYS_KEPT = 1_024;

export interface SessionOwner {
  readonly subject: string;
  readonly virtualHostId: string;
}

/** Names the format of sealed records; records of another format cannot be opened. */
const FORM = 'switchyard session record 2';

const LENGTH_BYTES = 4;

/** Keys are cached because a session's record is used in several steps, and short sessions end soon. */
const recentKeys = new RecentMap<SessionKeys>(SESSION_KEYS_KEPT, Infinity, () => 0);

/** Two halves of one hash of a session id: neither reveals the other, or the id. */
export interface SessionKeys {
  /** The key under which the record is stored. */
  readonly place: Buffer;
  readonly cipher: Buffer;
}

export function sessionKeys(sessionId: string): SessionKeys {
  const known = recentKeys.get(sessionId);
  if (known !== undefined) return known;
  const halves = hash('sha512', FORM + sessionId, 'buffer');
  const keys = { place: halves.subarray(0, sealing.SEAL_KEY_BYTES), cipher: halves.subarray(sealing.SEAL_KEY_BYTES) };
  recentKeys.set(sessionId, keys);
  return keys;
}

export function sealRecord(keys: SessionKeys, owner: SessionOwner, bytes: Buffer): Buffer {
  return sealing.seal(keys.cipher, associatedData(owner), bytes);
}

/** @returns `undefined` for a record of another owner, of another format, or one that was tampered with. */
export function unsealRecord(keys: SessionKeys, owner: SessionOwner, sealed: Buffer): Buffer | undefined {
  return sealing.unseal(keys.cipher, associatedData(owner), sealed);
}

/** The subject's length comes first: otherwise the end of the subject could be taken for the start of the virtual host. */
function associatedData({ subject, virtualHostId }: SessionOwner): Buffer {
  const subjectBytes = Buffer.byteLength(subject);
  const data = Buffer.allocUnsafe(LENGTH_BYTES + subjectBytes + Buffer.byteLength(virtualHostId));
  data.writeUInt32BE(subjectBytes);
  data.write(subject, LENGTH_BYTES);
  data.write(virtualHostId, LENGTH_BYTES + subjectBytes);
  return data;
}
