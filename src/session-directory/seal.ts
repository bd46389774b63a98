// How a record is hidden from whoever reads the place where it is kept: nothing but the session's id, which only its client
// has, finds and opens it, and for its subject and its virtual host alone. Cold: a few times a session.
import { hash } from 'node:crypto';
import { limits } from '../shared/limits.js';
import { RecentMap } from '../shared/recent-map.js';
import * as sealing from '../shared/sealing.js';

export interface SessionOwner {
  readonly subject: string;
  readonly virtualHostId: string;
}

/** Names the form of what is sealed: what has another form is opened by nobody. */
const FORM = 'switchyard session record 2';

const LENGTH_BYTES = 4;

/** A session is written, found and removed in several steps, and a short one is soon at its end. */
const recentKeys = new RecentMap<SessionKeys>(limits.sessionKeysKept, Infinity, () => 0);

/** Two halves of one hash of a session's id: neither tells anything of the other, or of the id. */
export interface SessionKeys {
  /** Under which its record is found. */
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

export function seal(keys: SessionKeys, owner: SessionOwner, bytes: Buffer): Buffer {
  return sealing.seal(keys.cipher, associatedData(owner), bytes);
}

/** @returns `undefined` for what is another owner's, of another form, or was tampered with. */
export function unseal(keys: SessionKeys, owner: SessionOwner, sealed: Buffer): Buffer | undefined {
  return sealing.unseal(keys.cipher, associatedData(owner), sealed);
}

/** The subject behind its length, or a part of it could be taken for one of the virtual host. */
function associatedData({ subject, virtualHostId }: SessionOwner): Buffer {
  const subjectBytes = Buffer.byteLength(subject);
  const data = Buffer.allocUnsafe(LENGTH_BYTES + subjectBytes + Buffer.byteLength(virtualHostId));
  data.writeUInt32BE(subjectBytes);
  data.write(subject, LENGTH_BYTES);
  data.write(virtualHostId, LENGTH_BYTES + subjectBytes);
  return data;
}
