// The errors by which a server of MCP 2026-07-28 is known, and the versions that it names in one. Cold.
import type { Buffer } from 'node:buffer';
import { limits } from '../shared/limits.js';

/** Codes that no server of before gives a meaning. */
export const modernCodes = {
  headerMismatch: -32_020,
  capabilityMissing: -32_021,
  versionUnsupported: -32_022,
} as const;

const VERSION = /^\d{4}-\d{2}-\d{2}$/;

export interface SaidError {
  /** Of whatever kind. */
  readonly code: unknown;
  /** That the server says it speaks; none where it does not say. */
  readonly versions: readonly string[];
}

/** @param error JSON, the value of the message's `error`. What is too large to be read at once says nothing. */
export function readSaidError(error: Buffer): SaidError {
  const value = error.length <= limits.upstreamRefusalBytesMax ? valueOf(error) : undefined;
  return isObject(value)
    ? { code: value['code'], versions: versionsIn(value['data']) }
    : { code: undefined, versions: [] };
}

function valueOf(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString());
  } catch {
    return undefined;
  }
}

/** @param data of an error. */
export function versionsIn(data: unknown): string[] {
  const supported = isObject(data) ? data['supported'] : undefined;
  if (!Array.isArray(supported)) return [];
  return supported.filter((version): version is string => typeof version === 'string' && VERSION.test(version));
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
