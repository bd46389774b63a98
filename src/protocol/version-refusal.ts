// Reads what a server's error in response to `initialize` says about the MCP versions that it speaks. Servers that speak only 2026-07-28
// have no `initialize`, and say so in one of several ways. Cold path.
import { isObject } from '../shared/json-values.js';
import { modernCodes, rpcCodes } from '../shared/refusals.js';
import { versionsIn } from './modern-error.js';
import { BACKEND_VERSIONS, LATEST_PROTOCOL_VERSION } from './protocol-versions.js';

export interface VersionRefusal {
  /** `later`: only versions later than those spoken here; `initialize-unknown`: probably so, as it does not know `initialize`. */
  readonly kind: 'later' | 'other' | 'initialize-unknown';
  /** The versions that it names, for a person; `''` when it names none. */
  readonly versions: string;
}

/** Codes to which no legacy server gives a meaning. */
const LATER_CODES: ReadonlySet<unknown> = new Set(Object.values(modernCodes));
const VERSIONS_TOLD_MAX = 4;

/** The first few versions, for a person. */
export function versionsTold(versions: readonly string[]): string {
  return versions.slice(0, VERSIONS_TOLD_MAX).join(', ');
}

/** @param error the value of the message's `error`. @returns `undefined` when the error is about something else. */
export function readVersionRefusal(error: unknown): VersionRefusal | undefined {
  if (!isObject(error)) return undefined;
  const named = versionsIn(error['data']);
  if (named.some((version) => BACKEND_VERSIONS.has(version))) return undefined;
  const versions = versionsTold(named);
  if (LATER_CODES.has(error['code'])) return { kind: 'later', versions };
  if (named.length > 0) {
    return { kind: named.every((version) => version > LATEST_PROTOCOL_VERSION) ? 'later' : 'other', versions };
  }
  const isUnknown = error['code'] === rpcCodes.methodNotFound || lacksEnvelope(error);
  return isUnknown ? { kind: 'initialize-unknown', versions: '' } : undefined;
}

/**
 * What to offer after a refusal of the latest version with sessions: the newest other one that the refusal names, in `data.supported` or in
 * words; where it names none, and none of later revisions, the caller's own.
 * @param own the latest for callers that speak any.
 * @returns `undefined` when it is about something else, or there is nothing else to offer.
 */
export function otherVersionIn(refusal: string, own = LATEST_PROTOCOL_VERSION): string | undefined {
  if (!/version|supported/i.test(refusal)) return undefined;
  const named = refusal.match(/\b\d{4}-\d{2}-\d{2}\b/g) ?? [];
  const newest = named.filter(offerable).sort().at(-1);
  return newest ?? (named.some((version) => version > LATEST_PROTOCOL_VERSION) ? undefined : offerable(own));
}

/** @returns the version, if it has sessions and is not the latest, which was offered first. */
export function offerable(version: string): string | undefined {
  return version !== LATEST_PROTOCOL_VERSION && BACKEND_VERSIONS.has(version) ? version : undefined;
}

/** Only servers of 2026-07-28 complain of something missing in the `_meta` of an `initialize` (M09). */
function lacksEnvelope({ code, message }: Readonly<Record<string, unknown>>): boolean {
  return code === rpcCodes.invalidParams && typeof message === 'string' && message.includes('_meta');
}
