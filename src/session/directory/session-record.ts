// Everything needed to continue a session in another process, as plain data and as bytes. The record does not name the session's owner, but
// only the owner can open it (`sealRecord`). It has no instructions of backends: clients get these only once, with `initialize`.
import { hash } from 'node:crypto';
import { limits, SEAL_KEY_BYTES, seal as sealBytes, unseal as unsealBytes, RecentMap } from '../../shared/index.js';

// A record is encrypted. To find and open it takes the session's id, which only the client has, the subject and the virtual host. Cold
// path: a few times per session.

/** Recent sessions whose keys a process remembers. Beyond that, the keys are computed again. */
const SESSION_KEYS_KEPT = 1_024;

/** A session's id and its owner: a subject at one virtual host. */
export interface OwnedSession {
  readonly id: string;
  readonly subject: string;
  readonly virtualHostId: string;
}

/** The name of the record's format; records of another format cannot be opened. */
const RECORD_FORMAT = 'switchyard session record 2';

const LENGTH_BYTES = 4;

const recentKeys = new RecentMap<SessionKeys>(SESSION_KEYS_KEPT, Infinity, () => 0);

/** Two halves of one hash of a session id: neither reveals the other, or the id. */
export interface SessionKeys {
  readonly record: Buffer;
  readonly seal: Buffer;
}

export function sessionKeys(sessionId: string): SessionKeys {
  const known = recentKeys.get(sessionId);
  if (known !== undefined) return known;
  const halves = hash('sha512', RECORD_FORMAT + sessionId, 'buffer');
  const keys = { record: halves.subarray(0, SEAL_KEY_BYTES), seal: halves.subarray(SEAL_KEY_BYTES) };
  recentKeys.set(sessionId, keys);
  return keys;
}

export function sealRecord(session: OwnedSession, bytes: Buffer): Buffer {
  return sealBytes(sessionKeys(session.id).seal, associatedData(session), bytes);
}

/** Opens a record. @returns `undefined` for a record of another owner or format, or one that was tampered with. */
export function unsealRecord(session: OwnedSession, sealed: Buffer): Buffer | undefined {
  return unsealBytes(sessionKeys(session.id).seal, associatedData(session), sealed);
}

/** The bytes that tell owners apart. The subject's length comes first, so that no other subject and virtual host give the same bytes. */
function associatedData({ subject, virtualHostId }: OwnedSession): Buffer {
  const subjectBytes = Buffer.byteLength(subject);
  const data = Buffer.allocUnsafe(LENGTH_BYTES + subjectBytes + Buffer.byteLength(virtualHostId));
  data.writeUInt32BE(subjectBytes);
  data.write(subject, LENGTH_BYTES);
  data.write(virtualHostId, LENGTH_BYTES + subjectBytes);
  return data;
}

export interface SessionRecord {
  readonly protocolVersion: string;
  /** The client's `clientInfo` from `initialize`: JSON, every byte as sent. */
  readonly clientInfo: Buffer;
  readonly capabilities: Buffer;
  /** The params of the client's last `logging/setLevel`, as JSON. */
  readonly logLevel: Buffer | undefined;
  readonly upstreams: readonly UpstreamRecord[];
  /** The backends' own URIs that the client has subscribed to, by backend name. */
  readonly subscriptions: Readonly<Record<string, readonly string[]>>;
  /** Hashes of the resource allow-lists that granted the subscriptions, by backend name; none for a backend without such a list. */
  readonly allowLists: Readonly<Record<string, string>>;
  /** The secret that seals the ids of requests from backends without sessions; absent if there can be none, or in old records. */
  readonly askingSecret?: string | undefined;
  /** The processes that have the session, which must learn of its end, if several machines have it; absent in old records. */
  readonly listeners?: readonly string[] | undefined;
}

export interface UpstreamRecord {
  readonly backendName: string;
  readonly origin: string;
  readonly path: string;
  /** The id that the backend gave its session; `''` if it gave none. */
  readonly sessionId: string;
  /** The cookies as they are sent; absent if there are none, or in records of earlier versions. */
  readonly cookies?: string | undefined;
  readonly protocolVersion: string;
  /** What the backend has declared: bits of `capability`. */
  readonly capabilities: number;
  /** Experimental capabilities and extensions that the backend declared; absent in records of earlier versions. */
  readonly named?: readonly { readonly name: string; readonly isExtension?: boolean | undefined }[] | undefined;
}

/** The record as it is written, with Latin-1 strings in place of buffers: so every byte survives JSON. */
type WrittenRecord = Omit<SessionRecord, 'clientInfo' | 'capabilities' | 'logLevel'> &
  Readonly<Record<'clientInfo' | 'capabilities', string>> & { readonly logLevel?: string | undefined };

/** The record as bytes, without the subscriptions if it would be too long with them. */
export function encodeSessionRecord(record: SessionRecord): Buffer {
  const bytes = encode(record);
  if (bytes.length <= limits.sessionRecordBytesMax) return bytes;
  return encode({ ...record, subscriptions: {} });
}

/** Copies the record member by member, because an object spread would take twice as long. */
function encode(record: SessionRecord): Buffer {
  const written: WrittenRecord = {
    protocolVersion: record.protocolVersion,
    clientInfo: record.clientInfo.toString('latin1'),
    capabilities: record.capabilities.toString('latin1'),
    logLevel: record.logLevel?.toString('latin1'),
    upstreams: record.upstreams,
    subscriptions: record.subscriptions,
    allowLists: record.allowLists,
    askingSecret: record.askingSecret,
    listeners: record.listeners,
  };
  return Buffer.from(JSON.stringify(written));
}

/** Decodes a record. @param bytes as they were encoded: the seal proves that. */
export function decodeSessionRecord(bytes: Buffer): SessionRecord {
  const { clientInfo, capabilities, logLevel, ...rest } = JSON.parse(bytes.toString()) as WrittenRecord;
  return {
    ...rest,
    clientInfo: Buffer.from(clientInfo, 'latin1'),
    capabilities: Buffer.from(capabilities, 'latin1'),
    logLevel: logLevel === undefined ? undefined : Buffer.from(logLevel, 'latin1'),
  };
}
