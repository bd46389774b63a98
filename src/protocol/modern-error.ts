// The errors by which a server of MCP 2026-07-28 is known, and the versions that it names in one. Cold.
import type { Buffer } from 'node:buffer';
import { isObject } from '../shared/json-values.js';
import { limits } from '../shared/limits.js';

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
