// Reads what the transport rules need of a request's head from Node's message.
import type { IncomingMessage } from 'node:http';
import { NO_MIRROR, type MirrorHeaders } from '../../relay/exchange/exchange.js';
import { combinedHeader, mirrorIn } from '../../relay/exchange/mirror-headers.js';
import type { TransportHead } from '../../relay/exchange/transport.js';

/** Must come once (decisions 2.2). Node itself refuses a second `content-length`. */
const SINGLE_HEADERS = ['content-length', 'host', 'authorization', 'mcp-session-id'];

export interface ReceivedHead extends TransportHead {
  readonly lastEventId: string;
  /** As it was sent, `''` when absent. */
  readonly contentLength: string;
  readonly mirror: MirrorHeaders;
}

export function readTransportHead({ headersDistinct, rawHeaders }: IncomingMessage): ReceivedHead {
  const first = (name: string): string => headersDistinct[name]?.[0] ?? '';
  const protocolVersion = (headersDistinct['mcp-protocol-version'] ?? []).reduce(combinedHeader, '');
  const mirror = mirrorIn(
    rawHeaders.map((text, at) => (at % 2 === 0 ? text.toLowerCase() : text)),
    protocolVersion,
  );
  return {
    // Several `accept` headers are one list (RFC 9110, 5.3).
    accept: headersDistinct['accept']?.join(',') ?? '',
    contentType: first('content-type'),
    sessionId: first('mcp-session-id'),
    protocolVersion,
    mirror: mirror ?? NO_MIRROR,
    isMirrorTooLarge: mirror === undefined,
    lastEventId: first('last-event-id'),
    contentLength: first('content-length'),
    isAmbiguous: SINGLE_HEADERS.some((name) => (headersDistinct[name]?.length ?? 0) > 1),
  };
}
