// What the rules of the transport need of a request's head, from Node's message.
import type { IncomingMessage } from 'node:http';
import type { TransportHead } from '../../relay/transport.js';

/** Must come once (decisions 2.2). Node itself refuses a second `content-length`. */
const SINGLE_HEADERS = ['content-length', 'host', 'authorization', 'mcp-session-id'];

export interface ReceivedHead extends TransportHead {
  readonly lastEventId: string;
  /** As it was sent, `''` when absent. */
  readonly contentLength: string;
}

export function readTransportHead({ headersDistinct }: IncomingMessage): ReceivedHead {
  const first = (name: string): string => headersDistinct[name]?.[0] ?? '';
  return {
    // Several `accept` headers are one list (RFC 9110, 5.3).
    accept: headersDistinct['accept']?.join(',') ?? '',
    contentType: first('content-type'),
    sessionId: first('mcp-session-id'),
    protocolVersion: first('mcp-protocol-version'),
    lastEventId: first('last-event-id'),
    contentLength: first('content-length'),
    isAmbiguous: SINGLE_HEADERS.some((name) => (headersDistinct[name]?.length ?? 0) > 1),
  };
}
