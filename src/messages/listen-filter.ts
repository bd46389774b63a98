// The filter of a `subscriptions/listen`, as read from the request and written in its acknowledgement (M25). Cold path.
import { type ClientMessage, capability } from '../mcp/index.js';
import { isObject, limits } from '../shared/index.js';

/**
 * For each kind of list change: `of`, the capability of a backend that has such lists; `member`, that of the filter; `bit`, the capability
 * of a backend that sends the notification; and `method`, the notification.
 */
export const listChanges = [
  {
    of: capability.tools,
    member: 'toolsListChanged',
    bit: capability.toolsListChanged,
    method: 'notifications/tools/list_changed',
  },
  {
    of: capability.prompts,
    member: 'promptsListChanged',
    bit: capability.promptsListChanged,
    method: 'notifications/prompts/list_changed',
  },
  {
    of: capability.resources,
    member: 'resourcesListChanged',
    bit: capability.resourcesListChanged,
    method: 'notifications/resources/list_changed',
  },
] as const;

export type ListChange = (typeof listChanges)[number];

export interface ListenFilter {
  readonly changes: readonly ListChange[];
  /** URIs of resources in the caller's form, without duplicates. */
  readonly uris: readonly string[];
  /** Whether the filter names tasks. */
  readonly wantsTasks?: boolean;
}

/** @returns the filter, or what is wrong with the params, as a text. */
export function readListenFilter(body: Buffer, { paramsStart, paramsEnd }: ClientMessage): ListenFilter | string {
  if (paramsEnd - paramsStart > limits.readAtOnceBytesMax) return 'params are too large';
  const { notifications } = JSON.parse(body.toString('utf8', paramsStart, paramsEnd)) as { notifications?: unknown };
  if (!isObject(notifications)) return 'notifications must be an object';
  const changes: ListChange[] = [];
  for (const change of listChanges) {
    const wanted = notifications[change.member] ?? false;
    if (typeof wanted !== 'boolean') return `${change.member} must be a boolean`;
    if (wanted) changes.push(change);
  }
  const uris = notifications['resourceSubscriptions'] ?? [];
  if (!Array.isArray(uris) || !uris.every((uri) => typeof uri === 'string'))
    return 'resourceSubscriptions must be an array of strings';
  if (uris.length > limits.subscriptionsMax)
    return `resourceSubscriptions must not have more than ${limits.subscriptionsMax} members`;
  const taskIds = notifications['taskIds'] ?? [];
  if (!Array.isArray(taskIds)) return 'taskIds must be an array of strings';
  // The empty string is no URI, but would be a prefix of each.
  return { changes, uris: [...new Set(uris)].filter((uri) => uri !== ''), wantsTasks: taskIds.length > 0 };
}

/** The filter as a JSON object that has only the requested members. */
export function filterJson({ changes, uris }: ListenFilter): string {
  const members = changes.map(({ member }) => `"${member}":true`);
  if (uris.length > 0) members.push(`"resourceSubscriptions":${JSON.stringify(uris)}`);
  return `{${members.join()}}`;
}
