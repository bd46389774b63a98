// The filter of a `subscriptions/listen`, as read from the request and written in its acknowledgement (M25). Cold path.
import { type ClientMessage, capability } from '../mcp/index.js';
import { isObject, limits } from '../shared/index.js';

/**
 * List changes: the capability of a backend that has such lists, the member of the filter, the capability of a backend that notifies of
 * them, and the notification.
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
  /** In the caller's form, each once. */
  readonly uris: readonly string[];
  /** Whether it asks for notifications about tasks. */
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
  // The empty string, a prefix of every URI, is no URI itself.
  return { changes, uris: [...new Set(uris)].filter((uri) => uri !== ''), wantsTasks: taskIds.length > 0 };
}

/** The filter as a JSON object, without the members that are not asked for. */
export function filterJson({ changes, uris }: ListenFilter): string {
  const members = changes.map(({ member }) => `"${member}":true`);
  if (uris.length > 0) members.push(`"resourceSubscriptions":${JSON.stringify(uris)}`);
  return `{${members.join()}}`;
}
