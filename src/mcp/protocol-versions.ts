// The MCP revisions spoken on both sides of the gateway, four with sessions and one without; and its log levels.
import { isObject, modernCodes, rpcCodes } from '../shared/index.js';
import { versionsIn } from './modern-envelope.js';

const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/** A number that grows with the level's severity; -1 for an unknown level. */
export function severityOf(level: string): number {
  return LOG_LEVELS.indexOf(level);
}

/** MCP has sessions up to 2025-11-25 (legacy), and none since (modern). */
export type Era = 'legacy' | 'modern';

export const MODERN_PROTOCOL_VERSION = '2026-07-28';

export function eraOfVersion(protocolVersion: string): Era {
  return protocolVersion === MODERN_PROTOCOL_VERSION ? 'modern' : 'legacy';
}

/** The latest revision with sessions: offered to every backend, and to a caller that asks for an unsupported version (C05, S27). */
export const LATEST_LEGACY_VERSION = '2025-11-25';

/** The revisions with batches: 2025-03-26, and 2024-11-05, whose clients use streamable HTTP, if at all, as in 2025-03-26. */
export const BATCH_PROTOCOL_VERSIONS: ReadonlySet<string> = new Set(['2025-03-26', '2024-11-05']);

/** Whether clients of a version can resume streams: those of older versions cannot handle an event without data (S42). */
export function canResume(protocolVersion: string): boolean {
  return protocolVersion >= '2025-11-25';
}

/** The versions that a caller may negotiate and name in `mcp-protocol-version` (specification 2.4, S24). Newest first. */
export const LEGACY_VERSIONS: ReadonlySet<string> = new Set([
  LATEST_LEGACY_VERSION,
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
]);

/**
 * The versions that a backend may choose; later requests to it carry the chosen version (C08, C10). 2024-10-07 is a draft of the first
 * revision: some servers choose it, and the SDK's clients accept it.
 */
export const BACKEND_VERSIONS: ReadonlySet<string> = new Set([...LEGACY_VERSIONS, '2024-10-07']);

/**
 * What an error in response to `initialize` says about the versions that the server speaks. Modern servers have no `initialize`, and refuse
 * it in one of several ways.
 */
export interface VersionRefusal {
  /** `version-later`: the server has only versions without sessions; `initialize-unknown`: probably so, since it has no `initialize`. */
  readonly kind: 'version-later' | 'version-unsupported' | 'initialize-unknown';
  /** The versions that the server names, as text for messages. */
  readonly detail?: string;
}

/** Codes that no legacy server uses. */
const MODERN_ONLY_CODES: ReadonlySet<unknown> = new Set(Object.values(modernCodes));
const VERSIONS_NAMED_MAX = 4;

/** The refusal of a server that speaks only these versions, none of which the gateway can use. @param latest the gateway's latest version. */
export function versionRefusalOf(versions: readonly string[], latest: string): VersionRefusal {
  const isLater = versions.length > 0 && versions.every((version) => version > latest);
  const named = versions.slice(0, VERSIONS_NAMED_MAX).join(', ');
  return { kind: isLater ? 'version-later' : 'version-unsupported', ...(named !== '' && { detail: `(${named})` }) };
}

/** Reads what an error says about versions. @returns `undefined` when it is not about versions. */
export function readVersionRefusal(error: unknown): VersionRefusal | undefined {
  if (!isObject(error)) return undefined;
  const named = versionsIn(error['data']);
  if (named.some((version) => BACKEND_VERSIONS.has(version))) return undefined;
  const refusal = versionRefusalOf(named, LATEST_LEGACY_VERSION);
  if (MODERN_ONLY_CODES.has(error['code'])) return { ...refusal, kind: 'version-later' };
  if (named.length > 0) return refusal;
  const lacksInitialize = error['code'] === rpcCodes.methodNotFound || isAboutMissingEnvelope(error);
  return lacksInitialize ? { kind: 'initialize-unknown' } : undefined;
}

/** The first version with streamable HTTP, which most servers of later ones speak, too. */
const COMMON_VERSION = '2025-03-26';

/**
 * The version to offer after a backend has refused the latest version with sessions: the newest other version with sessions that the
 * refusal names; if it names none, the caller's own version, or, if it names only the one that was offered, one that most servers speak.
 * @param own the caller's version; the latest for callers that speak any.
 * @returns `undefined` when the refusal is not about versions, or there is no other version to offer.
 */
export function versionToOfferNext(refusal: string, own = LATEST_LEGACY_VERSION): string | undefined {
  if (!/version|supported/i.test(refusal)) return undefined;
  const named = refusal.match(/\b\d{4}-\d{2}-\d{2}\b/g) ?? [];
  const newest = named.filter(versionIfOfferable).sort().at(-1);
  if (newest !== undefined || named.some((version) => version > LATEST_LEGACY_VERSION)) return newest;
  const namesOffered = named.length > 0 && named.every((version) => version === LATEST_LEGACY_VERSION);
  return versionIfOfferable(own) ?? (namesOffered ? COMMON_VERSION : undefined);
}

/** The version, if it has sessions and is not the latest with sessions, which was offered first; else `undefined`. */
export function versionIfOfferable(version: string): string | undefined {
  return version !== LATEST_LEGACY_VERSION && BACKEND_VERSIONS.has(version) ? version : undefined;
}

/** Whether an error is about `_meta` of `initialize`, which only modern servers check (M09). */
function isAboutMissingEnvelope({ code, message }: Readonly<Record<string, unknown>>): boolean {
  return code === rpcCodes.invalidParams && typeof message === 'string' && message.includes('_meta');
}
