// Where a server of the transport of 2024-11-05 wants its messages, as its `endpoint` event says it (C27, C28). Cold: once per stream.
import { limits } from '../../shared/limits.js';
import type { UpstreamTarget } from '../../user-config/upstream-target.js';
import { upstreamFault, type UpstreamFault } from '../http/upstream-fault.js';

/**
 * @param data of the event: a URL, or a part of one.
 * @param stream whose event it is: what a part is completed from, and whose origin the URL must be of. Else a server could have its
 * callers' credentials sent anywhere, past what guards the one origin.
 */
export function endpointTarget(data: Buffer, stream: UpstreamTarget): UpstreamTarget | UpstreamFault {
  if (data.length > limits.sseEndpointBytesMax) return upstreamFault('endpoint-missing');
  const text = data.toString().trim();
  const base = stream.origin + stream.path;
  if (text === '' || !URL.canParse(text, base)) return upstreamFault('endpoint-missing');
  const { origin, username, password, pathname, search } = new URL(text, base);
  if (origin !== stream.origin || username !== '' || password !== '') return upstreamFault('endpoint-elsewhere');
  return { origin, path: pathname + search };
}
