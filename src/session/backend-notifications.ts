// Decides which notifications of a backend the client gets. Every byte is kept, except that resource URIs and task ids get the backend's
// name. Cold path, except for progress, which is forwarded unchanged if the backend has no tasks.
import { findStringMember, stringValue, insertion, partsOf, type Edit } from '../bytes/index.js';
import { type BackendMessage, taskLocation } from '../mcp/index.js';
import { limits } from '../shared/index.js';
import type { CompiledBackend } from '../user-config/index.js';
import { belongsToTask, callersTaskEdits, type TaskOwnership, uriInsertion, uriPrefix } from '../messages/index.js';
import { grantByAllowList } from '../lists/index.js';
import type { Subscriptions } from './subscriptions.js';
import type { UpstreamSession } from '../upstream/index.js';

export interface NotifiedSession {
  readonly subscriptionsIfAny: Subscriptions | undefined;
  taskOwnership(upstream: UpstreamSession): TaskOwnership | undefined;
}

/**
 * The notification for the client. @param isOwnProgress whether the client itself chose the token of a progress notification.
 * @returns the message for the client, as consecutive parts; `undefined` when the client gets none.
 */
export function adaptedForClient(
  session: NotifiedSession,
  upstream: UpstreamSession,
  bytes: Buffer,
  message: BackendMessage,
  isOwnProgress = false,
): readonly Buffer[] | undefined {
  const tasks = session.taskOwnership(upstream);
  switch (message.method) {
    case 'notifications/resources/updated':
      return withCallersUri(session, upstream.backend, tasks, bytes, message);
    // A task's progress keeps the token of the call that became the task, and may come on any stream.
    case 'notifications/progress':
      if (!isOwnProgress && (tasks === undefined || !belongsToTask(bytes, message))) return undefined;
      return withCallersTask(tasks, taskLocation.related, bytes, message);
    case 'notifications/tasks/status':
      return tasks && withCallersTask(tasks, taskLocation.own | taskLocation.related, bytes, message);
    default:
      return withCallersTask(tasks, taskLocation.related, bytes, message);
  }
}

/** The message with the task id as callers write it; `undefined` if that id would lead callers to another backend. */
function withCallersTask(
  tasks: TaskOwnership | undefined,
  locations: number,
  bytes: Buffer,
  message: BackendMessage,
  otherEdits: readonly Edit[] = [],
): readonly Buffer[] | undefined {
  const taskEdits = tasks === undefined ? [] : callersTaskEdits(bytes, message, locations, tasks);
  if (taskEdits === undefined) return undefined;
  const edits = [...otherEdits, ...taskEdits];
  return edits.length === 0 ? [bytes] : partsOf(bytes, edits);
}

function withCallersUri(
  session: NotifiedSession,
  backend: CompiledBackend,
  tasks: TaskOwnership | undefined,
  bytes: Buffer,
  message: BackendMessage,
): readonly Buffer[] | undefined {
  const { paramsStart, paramsEnd } = message;
  const span = paramsStart === -1 ? undefined : findStringMember(bytes.subarray(paramsStart, paramsEnd), 'uri');
  if (span === undefined) return undefined;
  const [start, end] = [paramsStart + span.start, paramsStart + span.end];
  if (!mayKnowOf(session, backend, stringValue(bytes, start, end))) return undefined;
  const uriEdit = insertion(uriInsertion(bytes, start, end, uriPrefix(backend.uriName)));
  return withCallersTask(tasks, taskLocation.related, bytes, message, [uriEdit]);
}

/** Whether the client may learn that the resource exists: it may read the resource, or has subscribed to exactly this URI. */
function mayKnowOf(session: NotifiedSession, backend: CompiledBackend, uri: string): boolean {
  // Lists have no URIs this long, and each URI may be matched against hundreds of templates.
  if (uri.length > limits.uriBytesMax) return false;
  const grant = grantByAllowList(backend, uri);
  return grant === 'granted' || (grant === 'unknown' && session.subscriptionsIfAny?.has(backend.name, uri) === true);
}
