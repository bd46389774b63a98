// The URL to which a server of the 2024-11-05 transport wants its messages posted, from its `endpoint` event (C27, C28). Cold path: once
// per stream.
import { limits } from '../../shared/limits.js';
import type { UpstreamTarget } from '../../user-config/upstream-target.js';
import { upstreamFault, type UpstreamFault } from '../http/upstream-fault.js';

/**
 * @param data of the event: an absolute or relative URL.
 * @param stream that the event came on: a relative URL is resolved against it, and the result must have its origin. Otherwise a server
 *   could have its callers' credentials sent to any address, bypassing the guards of its origin.
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
