// Which notifications of a backend go on to the client, and as what: they keep every byte but for the URIs of resources,
// which get the backend's name. Cold: progress, which is frequent, is its call's affair.
import { findText } from '../protocol/json-member-text.js';
import type { BackendMessage } from '../protocol/json-rpc.js';
import type { CompiledBackend } from '../store/compiled-config.js';
import { uriInsertion, uriPrefix } from './uris.js';

/** @returns the message for the client, in parts one behind the other; `undefined` when it gets none. */
export function clientsNotification(
  backend: CompiledBackend,
  bytes: Buffer,
  message: BackendMessage,
): readonly Buffer[] | undefined {
  switch (message.method) {
    case 'notifications/resources/updated':
      return withCallersUri(backend, bytes, message);
    // Of a call they go on its stream, under the caller's own token; a backend's requests have their own way, too.
    case 'notifications/progress':
    case 'notifications/cancelled':
    // The ids of tasks are not relayed.
    case 'notifications/tasks/status':
      return undefined;
    default:
      return [bytes];
  }
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
