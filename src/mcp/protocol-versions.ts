// The MCP revisions spoken on both sides of the gateway, four with sessions and one without; and its log levels.
import { isObject, modernCodes, rpcCodes } from '../shared/index.js';
import { versionsIn } from './modern-envelope.js';

/** From the least severe to the most. */
const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/** Higher is more severe; -1 for an unknown level. */
export function severityOf(level: string): number {
  return LOG_LEVELS.indexOf(level);
}

/** MCP has sessions up to 2025-11-25 (legacy), and none since (modern). */
export type Era = 'legacy' | 'modern';

/** The only supported revision without sessions. */
export const MODERN_PROTOCOL_VERSION = '2026-07-28';

export function eraOfVersion(protocolVersion: string): Era {
  return protocolVersion === MODERN_PROTOCOL_VERSION ? 'modern' : 'legacy';
}

/** Offered to every backend, and to a caller that asks for an unsupported version (C05, S27). */
export const LATEST_PROTOCOL_VERSION = '2025-11-25';

/**
 * The revisions in which a POST may carry several messages in an array: 2025-03-26, and the one before it, whose clients use streamable
 * HTTP, if at all, as in 2025-03-26.
 */
export const BATCH_PROTOCOL_VERSIONS: ReadonlySet<string> = new Set(['2025-03-26', '2024-11-05']);

/** Whether a client of this version can resume a broken stream: older clients cannot handle an event without data (S42). */
export function canResume(protocolVersion: string): boolean {
  return protocolVersion >= '2025-11-25';
}

/** The versions that a caller may negotiate and name in `mcp-protocol-version` (decisions 2.4, S24). Newest first. */
export const PROTOCOL_VERSIONS: ReadonlySet<string> = new Set([
  LATEST_PROTOCOL_VERSION,
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
]);

/**
 * The versions that a backend may choose; later requests to it carry the version it chose (C08, C10). 2024-10-07 is a draft of the first
 * revision: servers answer it, and the SDK's clients take it.
 */
export const BACKEND_VERSIONS: ReadonlySet<string> = new Set([...PROTOCOL_VERSIONS, '2024-10-07']);

/**
 * What a server's error in response to `initialize` says about the MCP versions that it speaks. Servers that speak only 2026-07-28
 * have no `initialize`, and say so in one of several ways.
 */
export interface VersionRefusal {
  /** `version-later`: only versions later than those spoken here; `initialize-unknown`: probably so, as it does not know `initialize`. */
  readonly kind: 'version-later' | 'version-unsupported' | 'initialize-unknown';
  /** The versions that it names, for a person. */
  readonly detail?: string;
}

/** Codes to which no legacy server gives a meaning. */
const LATER_CODES: ReadonlySet<unknown> = new Set(Object.values(modernCodes));
const VERSIONS_TOLD_MAX = 4;

/** @param versions that a server says it speaks, none of which is of use. @param latest spoken here. */
export function versionRefusalOf(versions: readonly string[], latest: string): VersionRefusal {
  const isLater = versions.length > 0 && versions.every((version) => version > latest);
  const told = versions.slice(0, VERSIONS_TOLD_MAX).join(', ');
  return { kind: isLater ? 'version-later' : 'version-unsupported', ...(told !== '' && { detail: `(${told})` }) };
}

/** @param error the value of the message's `error`. @returns `undefined` when the error is about something else. */
export function readVersionRefusal(error: unknown): VersionRefusal | undefined {
  if (!isObject(error)) return undefined;
  const named = versionsIn(error['data']);
  if (named.some((version) => BACKEND_VERSIONS.has(version))) return undefined;
  const refusal = versionRefusalOf(named, LATEST_PROTOCOL_VERSION);
  if (LATER_CODES.has(error['code'])) return { ...refusal, kind: 'version-later' };
  if (named.length > 0) return refusal;
  const isUnknown = error['code'] === rpcCodes.methodNotFound || lacksEnvelope(error);
  return isUnknown ? { kind: 'initialize-unknown' } : undefined;
}

/**
 * What to offer after a refusal of the latest version with sessions: the newest other one that the refusal names, in `data.supported` or in
 * words; where it names none, and none of later revisions, the caller's own.
 * @param own the latest for callers that speak any.
 * @returns `undefined` when it is about something else, or there is nothing else to offer.
 */
export function versionToOfferNext(refusal: string, own = LATEST_PROTOCOL_VERSION): string | undefined {
  if (!/version|supported/i.test(refusal)) return undefined;
  const named = refusal.match(/\b\d{4}-\d{2}-\d{2}\b/g) ?? [];
  const newest = named.filter(versionIfOfferable).sort().at(-1);
  return newest ?? (named.some((version) => version > LATEST_PROTOCOL_VERSION) ? undefined : versionIfOfferable(own));
}

/** @returns the version, if it has sessions and is not the latest, which was offered first. */
export function versionIfOfferable(version: string): string | undefined {
  return version !== LATEST_PROTOCOL_VERSION && BACKEND_VERSIONS.has(version) ? version : undefined;
}

/** Only servers of 2026-07-28 complain of something missing in the `_meta` of an `initialize` (M09). */
function lacksEnvelope({ code, message }: Readonly<Record<string, unknown>>): boolean {
  return code === rpcCodes.invalidParams && typeof message === 'string' && message.includes('_meta');
}
