// What a `subscriptions/listen` asks to hear of, as it is read from the request and said in its acknowledgement (M25). Cold.
import type { ClientMessage } from '../../protocol/json-rpc.js';
import { capability } from '../../protocol/capabilities.js';
import { isObject } from '../../shared/json-values.js';
import { limits } from '../../shared/limits.js';

/** Changes of lists: the member of a filter, what a backend declares that tells of them, and the notification. */
export const listChanges = [
  {
    member: 'toolsListChanged',
    bit: capability.toolsListChanged,
    method: 'notifications/tools/list_changed',
  },
  {
    member: 'promptsListChanged',
    bit: capability.promptsListChanged,
    method: 'notifications/prompts/list_changed',
  },
  {
    member: 'resourcesListChanged',
    bit: capability.resourcesListChanged,
    method: 'notifications/resources/list_changed',
  },
] as const;

export type ListChange = (typeof listChanges)[number];

export interface ListenFilter {
  readonly changes: readonly ListChange[];
  /** As the caller has them; each once. */
  readonly uris: readonly string[];
  /** Whether it asks to hear of tasks. */
  readonly wantsTasks?: boolean;
}

/** @returns what is wrong with the params, in words. */
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
  // Every URI begins with an empty one, which is none.
  return { changes, uris: [...new Set(uris)].filter((uri) => uri !== ''), wantsTasks: taskIds.length > 0 };
}

/** As an object of JSON: what is not there is not asked for. */
export function filterJson({ changes, uris }: ListenFilter): string {
  const members = changes.map(({ member }) => `"${member}":true`);
  if (uris.length > 0) members.push(`"resourceSubscriptions":${JSON.stringify(uris)}`);
  return `{${members.join()}}`;
}
