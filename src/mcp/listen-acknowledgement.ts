// Which parts of a `subscriptions/listen` a backend of MCP 2026-07-28 does not honour, according to its acknowledgement (M25). Cold path.
import type { Buffer } from 'node:buffer';
import { isObject, limits } from '../shared/index.js';
import type { BackendMessage } from './json-rpc.js';

export interface RefusedSubscriptions {
  /** Members of the filter, such as `toolsListChanged`. */
  readonly members: ReadonlySet<string>;
  /** The backend's own URIs. */
  readonly uris: ReadonlySet<string>;
}

/**
 * @param asked the filter that the backend was sent, as JSON.
 * @returns `undefined` when it honours all of it, does not say, or says too much to be read at once.
 */
export function readUnhonoured(
  asked: string,
  bytes: Buffer,
  { paramsStart, paramsEnd }: BackendMessage,
): RefusedSubscriptions | undefined {
  const bytesMax = limits.readAtOnceBytesMax;
  if (paramsStart === -1 || paramsEnd - paramsStart > bytesMax || asked.length > bytesMax) return undefined;
  const params: unknown = JSON.parse(bytes.toString('utf8', paramsStart, paramsEnd));
  const honoured = isObject(params) ? params['notifications'] : undefined;
  if (!isObject(honoured)) return undefined;
  const wanted = JSON.parse(asked) as Readonly<Record<string, unknown>>;
  const taken = new Set(urisOf(honoured));
  const members = Object.keys(wanted).filter((member) => wanted[member] === true && honoured[member] !== true);
  const uris = urisOf(wanted).filter((uri) => !taken.has(uri));
  return members.length === 0 && uris.length === 0 ? undefined : { members: new Set(members), uris: new Set(uris) };
}

function urisOf({ resourceSubscriptions: uris }: Readonly<Record<string, unknown>>): string[] {
  return Array.isArray(uris) ? uris.filter((uri): uri is string => typeof uri === 'string') : [];
}
