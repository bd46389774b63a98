// Reads errors of servers of MCP 2026-07-28, by which such servers are recognized, and the versions that an error names. Cold path.
import type { Buffer } from 'node:buffer';
import { isObject } from '../shared/json-values.js';
import { limits } from '../shared/limits.js';

const VERSION = /^\d{4}-\d{2}-\d{2}$/;

export interface SaidError {
  /** Of any type. */
  readonly code: unknown;
  /** `''` when it is no string. */
  readonly message: string;
  /** The versions that the server says it speaks; empty when it does not say. */
  readonly versions: readonly string[];
}

/** @param error the value of the message's `error`, as JSON. An error too large to be read at once counts as empty. */
export function readSaidError(error: Buffer): SaidError {
  const value = error.length <= limits.upstreamRefusalBytesMax ? valueOf(error) : undefined;
  if (!isObject(value)) return { code: undefined, message: '', versions: [] };
  const { code, message, data } = value;
  return { code, message: typeof message === 'string' ? message : '', versions: versionsIn(data) };
}

function valueOf(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString());
  } catch {
    return undefined;
  }
}

/** @param data the `data` of an error. */
export function versionsIn(data: unknown): string[] {
  const supported = isObject(data) ? data['supported'] : undefined;
  if (!Array.isArray(supported)) return [];
  return supported.filter((version): version is string => typeof version === 'string' && VERSION.test(version));
}
