// Which of the caller's headers go to a backend (specification 2.6). The config's compiler has removed those that must never be copied;
// the exchange has those that any backend of the virtual host lists; here each backend gets the ones it lists itself. Hot path.
import { bearerToken, headerIn } from '../shared/index.js';
import { NO_METADATA, type RequestMetadata } from '../http-client/index.js';
import type { CompiledBackend } from '../user-config/index.js';
import type { ExchangeRequest } from './exchange.js';

const NONE = NO_METADATA.headers;

/** What this backend is told about the caller's HTTP request. */
export function metadataFor(backend: CompiledBackend, request: ExchangeRequest): RequestMetadata {
  const { requestId } = request;
  const callerToken =
    backend.auth?.type === 'token-exchange'
      ? bearerToken(headerIn(request.passthroughHeaders, 'authorization') ?? '')
      : '';
  const headers = backend.passthroughHeaders.size === 0 ? NONE : headersFor(backend.passthroughHeaders, request);
  if (headers.length === 0 && requestId === '' && callerToken === '') return NO_METADATA;
  // A backend that lists `x-request-id` gets the caller's own header, if there is one, instead of our request id.
  const hasOwnId = headers.length > 0 && headerIn(headers, 'x-request-id') !== undefined;
  return { headers, requestId: hasOwnId ? '' : requestId, callerToken };
}

/** @returns name, value, name, value, … */
function headersFor(listed: ReadonlySet<string>, { passthroughHeaders: offered }: ExchangeRequest): readonly string[] {
  if (offered.length === 0) return NONE;
  const copied: string[] = [];
  for (let i = 0; i + 1 < offered.length; i += 2) {
    const name = offered[i];
    const value = offered[i + 1];
    if (name !== undefined && value !== undefined && listed.has(name)) copied.push(name, value);
  }
  return copied;
}
