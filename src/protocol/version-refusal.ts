// What a server's error in answer to `initialize` says of the versions of MCP that it speaks. Servers that speak only
// 2026-07-28 have no `initialize`, and say so in one of several ways. Cold.
import { PROTOCOL_VERSIONS, LATEST_PROTOCOL_VERSION } from './protocol-versions.js';

export interface VersionRefusal {
  /** `later`: only versions after those spoken here; `initialize-unknown`: so it seems, as it knows no `initialize`. */
  readonly kind: 'later' | 'other' | 'initialize-unknown';
  /** Those that it names, for people; `''` when it names none. */
  readonly versions: string;
}

/** 2026-07-28's own: headers that do not fit, capabilities that are missing, a version that is not spoken. */
const LATER_CODES: ReadonlySet<unknown> = new Set([-32_020, -32_021, -32_022]);
const METHOD_NOT_FOUND = -32_601;
const VERSION = /^\d{4}-\d{2}-\d{2}$/;
const VERSIONS_TOLD_MAX = 4;

/** @param error the value of the message's `error`. @returns `undefined` when it is about something else. */
export function readVersionRefusal(error: unknown): VersionRefusal | undefined {
  if (!isObject(error)) return undefined;
  const named = versionsIn(error['data']);
  if (named.some((version) => PROTOCOL_VERSIONS.has(version))) return undefined;
  const versions = named.slice(0, VERSIONS_TOLD_MAX).join(', ');
  if (LATER_CODES.has(error['code'])) return { kind: 'later', versions };
  if (named.length > 0) {
    return { kind: named.every((version) => version > LATEST_PROTOCOL_VERSION) ? 'later' : 'other', versions };
  }
  return error['code'] === METHOD_NOT_FOUND ? { kind: 'initialize-unknown', versions: '' } : undefined;
}

function versionsIn(data: unknown): string[] {
  const supported = isObject(data) ? data['supported'] : undefined;
  if (!Array.isArray(supported)) return [];
  return supported.filter((version): version is string => typeof version === 'string' && VERSION.test(version));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
