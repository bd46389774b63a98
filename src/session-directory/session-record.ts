// Everything needed to continue a session in another process, as plain data and as bytes. The owner is not part of it: only the
// owner can open the record (seal.ts). Backends' instructions are not included: they are sent only once, with `initialize`.
import { limits } from '../shared/limits.js';

export interface SessionRecord {
  /** The protocol version used with the client. */
  readonly protocolVersion: string;
  /** The client's `clientInfo` from `initialize`: JSON, every byte as sent. */
  readonly clientInfo: Buffer;
  readonly capabilities: Buffer;
  /** The params of its last `logging/setLevel`, as JSON. */
  readonly logLevel: Buffer | undefined;
  readonly upstreams: readonly UpstreamRecord[];
  /** The backends' own URIs that the client has subscribed to, by backend name. */
  readonly subscriptions: Readonly<Record<string, readonly string[]>>;
  /** Hashes of the resource allow-lists that the subscriptions passed, by backend name; none for a backend without a list. */
  readonly allowLists: Readonly<Record<string, string>>;
  /** Seals the ids of requests from backends without sessions; absent if there can be none, or if an earlier version wrote the record. */
  readonly askingSecret?: string | undefined;
  /** The processes that have the session, if several machines share it: the one that ends it notifies them. Absent as above. */
  readonly listeners?: readonly string[] | undefined;
}

/** An open upstream session. */
export interface UpstreamRecord {
  readonly backendName: string;
  /** The origin where it was opened. */
  readonly origin: string;
  readonly path: string;
  /** `''` when the backend gave none. */
  readonly sessionId: string;
  readonly protocolVersion: string;
  /** Bits of `capability`. */
  readonly capabilities: number;
  /** Experimental capabilities and extensions that the backend declared; absent if none, or if an earlier version wrote the record. */
  readonly named?: readonly { readonly name: string; readonly isExtension?: boolean | undefined }[] | undefined;
}

/** Latin-1 maps each byte to one character, so every byte survives JSON. */
type Written = Omit<SessionRecord, 'clientInfo' | 'capabilities' | 'logLevel'> &
  Readonly<Record<'clientInfo' | 'capabilities', string>> & { readonly logLevel?: string | undefined };

/** Omits the subscriptions if the record would be too long with them. */
export function encodeSessionRecord(record: SessionRecord): Buffer {
  const bytes = encode(record);
  if (bytes.length <= limits.sessionRecordBytesMax) return bytes;
  return encode({ ...record, subscriptions: {} });
}

/** Copies member by member: an object spread would cost as much as all the copies together. */
function encode(record: SessionRecord): Buffer {
  const written: Written = {
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

/** @param bytes as they were encoded: the seal guarantees their integrity and format. */
export function decodeSessionRecord(bytes: Buffer): SessionRecord {
  const { clientInfo, capabilities, logLevel, ...rest } = JSON.parse(bytes.toString()) as Written;
  return {
    ...rest,
    clientInfo: Buffer.from(clientInfo, 'latin1'),
    capabilities: Buffer.from(capabilities, 'latin1'),
    logLevel: logLevel === undefined ? undefined : Buffer.from(logLevel, 'latin1'),
  };
}
