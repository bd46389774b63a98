// All that must be known to go on with a session elsewhere, as plain data and as bytes. Whose it is stands in neither: only
// its owner can open it (seal.ts). Instructions of backends are not in it: they are told once, with `initialize`.
import { limits } from '../shared/limits.js';

export interface SessionRecord {
  /** The version that is spoken with the client. */
  readonly protocolVersion: string;
  /** The client's own words of its `initialize`: JSON, every byte as sent. */
  readonly clientInfo: Buffer;
  readonly capabilities: Buffer;
  /** The params of its last `logging/setLevel`, as JSON. */
  readonly logLevel: Buffer | undefined;
  readonly upstreams: readonly UpstreamRecord[];
  /** The backends' own URIs that the client has subscribed to, by the backends' names. */
  readonly subscriptions: Readonly<Record<string, readonly string[]>>;
  /** What the allow-lists of resources were that these passed, by the backends' names: their hashes; none for a backend without a list. */
  readonly allowLists: Readonly<Record<string, string>>;
  /** Seals ids of what backends without sessions ask; absent where nothing can be asked, and where an earlier version has written it. */
  readonly askingSecret?: string | undefined;
  /** Processes that have the session, where several machines share it: who ends it tells them so. Absent as above. */
  readonly listeners?: readonly string[] | undefined;
}

/** An open upstream session. */
export interface UpstreamRecord {
  readonly backendName: string;
  /** Where it was opened. */
  readonly origin: string;
  readonly path: string;
  /** `''` when the backend gave none. */
  readonly sessionId: string;
  readonly protocolVersion: string;
  /** As bits of `capability`. */
  readonly capabilities: number;
  /** The names of what else the backend declared; absent for nothing, and where an earlier version has written it. */
  readonly experimental?: readonly string[] | undefined;
}

/** Latin-1 gives each byte a character, so that JSON brings all of them back. */
type Written = Omit<SessionRecord, 'clientInfo' | 'capabilities' | 'logLevel'> &
  Readonly<Record<'clientInfo' | 'capabilities', string>> & { readonly logLevel?: string | undefined };

/** Subscriptions are left out where the record would be too long with them. */
export function encodeSessionRecord(record: SessionRecord): Buffer {
  const bytes = encode(record);
  if (bytes.length <= limits.sessionRecordBytesMax) return bytes;
  return encode({ ...record, subscriptions: {} });
}

/** Member by member: a spread costs as much as all of them. */
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

/** @param bytes as they were encoded: the seal has vouched for them, and for their form. */
export function decodeSessionRecord(bytes: Buffer): SessionRecord {
  const { clientInfo, capabilities, logLevel, ...rest } = JSON.parse(bytes.toString()) as Written;
  return {
    ...rest,
    clientInfo: Buffer.from(clientInfo, 'latin1'),
    capabilities: Buffer.from(capabilities, 'latin1'),
    logLevel: logLevel === undefined ? undefined : Buffer.from(logLevel, 'latin1'),
  };
}
