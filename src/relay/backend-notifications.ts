// Which notifications of a backend go on to the client, and as what: they keep every byte but for the URIs of resources and
// the ids of tasks, which get the backend's name. Cold: progress, which is frequent, mostly comes from backends without tasks.
import { findText } from '../protocol/json-member-text.js';
import type { BackendMessage } from '../protocol/json-rpc.js';
import { taskPlace } from '../protocol/task-places.js';
import type { CompiledBackend } from '../store/compiled-config.js';
import { partsOf } from './edits.js';
import { belongsToTask, callersTaskEdits, type TaskForm } from './task-ids.js';
import { uriInsertion, uriPrefix } from './uris.js';

/**
 * @param tasks `undefined` for a backend without any.
 * @param isOwnProgress whether it is progress of the call on whose stream it came, under the caller's own token.
 * @returns the message for the client, in parts one behind the other; `undefined` when it gets none.
 */
export function clientsNotification(
  backend: CompiledBackend,
  tasks: TaskForm | undefined,
  bytes: Buffer,
  message: BackendMessage,
  isOwnProgress = false,
): readonly Buffer[] | undefined {
  switch (message.method) {
    case 'notifications/resources/updated':
      return withCallersUri(backend, bytes, message);
    // The token of a call stays good for as long as the task that it has become, on whatever stream.
    case 'notifications/progress':
      if (!isOwnProgress && (tasks === undefined || !belongsToTask(bytes, message))) return undefined;
      return withCallersTask(tasks, taskPlace.related, bytes, message);
    case 'notifications/tasks/status':
      return tasks && withCallersTask(tasks, taskPlace.own | taskPlace.related, bytes, message);
    // A backend's requests have their own way.
    case 'notifications/cancelled':
      return undefined;
    default:
      return withCallersTask(tasks, taskPlace.related, bytes, message);
  }
}

function withCallersTask(
  tasks: TaskForm | undefined,
  places: number,
  bytes: Buffer,
  message: BackendMessage,
): readonly Buffer[] {
  return tasks === undefined ? [bytes] : partsOf(bytes, callersTaskEdits(bytes, message, places, tasks));
}

function withCallersUri(
  backend: CompiledBackend,
  bytes: Buffer,
  { paramsStart, paramsEnd }: BackendMessage,
): readonly Buffer[] | undefined {
  // Whoever may reach none of its resources need not know that there are some.
  if (backend.allowedNames.resources?.size === 0) return undefined;
  const uri = paramsStart === -1 ? undefined : findText(bytes.subarray(paramsStart, paramsEnd), 'uri');
  if (uri === undefined) return undefined;
  const { at, putIn } = uriInsertion(bytes, paramsStart + uri.start, paramsStart + uri.end, uriPrefix(backend.uriName));
  return [bytes.subarray(0, at), putIn, bytes.subarray(at)];
}
