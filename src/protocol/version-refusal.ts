// What a server's error in answer to `initialize` says of the versions of MCP that it speaks. Servers that speak only
// 2026-07-28 have no `initialize`, and say so in one of several ways. Cold.
import { isObject } from '../shared/json-values.js';
import { modernCodes, rpcCodes } from '../shared/refusals.js';
import { versionsIn } from './modern-error.js';
import { PROTOCOL_VERSIONS, LATEST_PROTOCOL_VERSION } from './protocol-versions.js';

export interface VersionRefusal {
  /** `later`: only versions after those spoken here; `initialize-unknown`: so it seems, as it knows no `initialize`. */
  readonly kind: 'later' | 'other' | 'initialize-unknown';
  /** Those that it names, for people; `''` when it names none. */
  readonly versions: string;
}

/** Codes that no server of before gives a meaning. */
const LATER_CODES: ReadonlySet<unknown> = new Set(Object.values(modernCodes));
const VERSIONS_TOLD_MAX = 4;

/** The first of them, for people. */
export function versionsTold(versions: readonly string[]): string {
  return versions.slice(0, VERSIONS_TOLD_MAX).join(', ');
}

/** @param error the value of the message's `error`. @returns `undefined` when it is about something else. */
export function readVersionRefusal(error: unknown): VersionRefusal | undefined {
  if (!isObject(error)) return undefined;
  const named = versionsIn(error['data']);
  if (named.some((version) => PROTOCOL_VERSIONS.has(version))) return undefined;
  const versions = versionsTold(named);
  if (LATER_CODES.has(error['code'])) return { kind: 'later', versions };
  if (named.length > 0) {
    return { kind: named.every((version) => version > LATEST_PROTOCOL_VERSION) ? 'later' : 'other', versions };
  }
  const isUnknown = error['code'] === rpcCodes.methodNotFound || lacksEnvelope(error);
  return isUnknown ? { kind: 'initialize-unknown', versions: '' } : undefined;
}

/** Only servers of 2026-07-28 miss something in the `_meta` of an `initialize` (M09). */
function lacksEnvelope({ code, message }: Readonly<Record<string, unknown>>): boolean {
  return code === rpcCodes.invalidParams && typeof message === 'string' && message.includes('_meta');
}
