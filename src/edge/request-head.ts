// The head of a request, copied while the HTTP library's handler runs: the library's request object is unreadable
// afterwards. Hot path: one pass over the headers, which also detects duplicates of headers that may come only once.
import { type ExchangeRequest, NO_MIRROR, combinedHeader, mirrorIn, mirrorOfVersion } from '../exchange/index.js';
import { NO_HEADERS } from './answer-head.js';
import type { HttpRequest } from './http-library.js';

export const NO_BODY = Buffer.alloc(0);

export interface RequestHead {
  /** The path's virtual host id, percent-decoded; `undefined` when it cannot be decoded. */
  readonly virtualHostId: string | undefined;
  /** What the relay gets, as far as the head tells it; the rest is set once the caller is let in and the body has ended. */
  readonly request: { -readonly [Member in keyof ExchangeRequest]: ExchangeRequest[Member] };
  /** Header values, `''` when absent. */
  host: string;
  origin: string;
  authorization: string;
  contentType: string;
  contentLength: string;
  accept: string;
  /** A header that may come only once came twice (decisions 2.2), or the transfer coding does not tell where the body ends. */
  isAmbiguous: boolean;
  /** There are more `mcp-param-*` headers than are accepted, or longer ones; the request's mirror then has none of them. */
  isMirrorTooLarge: boolean;
  /** Every header as received: lower-case name, value, name, value, …; emptied once a stream has begun. */
  headers: readonly string[];
}

export function readHead(req: HttpRequest, method: ExchangeRequest['method']): RequestHead {
  const headers: string[] = [];
  const head: RequestHead = {
    virtualHostId: decodeSegment(req.getParameter(0) ?? ''),
    // One literal: an object composed from others is slow to create, and slow to use ever after.
    request: {
      method,
      sessionId: '',
      lastEventId: '',
      requestId: '',
      traceparent: '',
      tracestate: '',
      acceptedTypes: 'json',
      passthroughHeaders: NO_HEADERS,
      mirror: NO_MIRROR,
      body: NO_BODY,
    },
    host: '',
    origin: '',
    authorization: '',
    contentType: '',
    contentLength: '',
    accept: '',
    isAmbiguous: false,
    isMirrorTooLarge: false,
    headers,
  };
  current = head;
  currentHeaders = headers;
  seen = 0;
  hasMirror = false;
  protocolVersion = '';
  req.forEach(takeHeader);
  const mirror = hasMirror ? mirrorIn(headers, protocolVersion) : mirrorOfVersion(protocolVersion);
  if (mirror === undefined) head.isMirrorTooLarge = true;
  else head.request.mirror = mirror;
  return head;
}

/** Drops what is not needed once a long stream has begun, above all the token. */
export function forgetHeaders(head: RequestHead): void {
  head.headers = NO_HEADERS;
  head.authorization = '';
  head.accept = '';
  head.host = '';
}

/** The head that `takeHeader` fills, and its headers; `forEach` is synchronous, so one function serves all requests. */
let current: RequestHead;
let currentHeaders: string[];

/** Whether a header came that may be part of the mirror: it repeats something in the body. */
let hasMirror = false;
let protocolVersion = '';

/** Bit set of the single-occurrence headers seen so far, empty or not. */
let seen = 0;
const HOST = 1;
const AUTHORIZATION = 2;
const SESSION_ID = 4;
const CONTENT_LENGTH = 8;
const ORIGIN = 16;

/** @returns the value that counts: the first non-empty one, so that a caller without a valid token gets 401 rather than 400. */
function single(header: number, present: string, value: string): string {
  if ((seen & header) !== 0) current.isAmbiguous = true;
  seen |= header;
  return present === '' ? value : present;
}

function takeHeader(name: string, value: string): void {
  currentHeaders.push(name, value);
  const { request } = current;
  switch (name) {
    case 'host':
      current.host = single(HOST, current.host, value);
      break;
    case 'authorization':
      current.authorization = single(AUTHORIZATION, current.authorization, value);
      break;
    case 'mcp-session-id':
      request.sessionId = single(SESSION_ID, request.sessionId, value);
      break;
    case 'content-length':
      current.contentLength = single(CONTENT_LENGTH, current.contentLength, value);
      break;
    case 'transfer-encoding':
      // uWebSockets.js takes any value for `chunked`, but only a final `chunked` marks the body's end (RFC 9112, 6.3).
      if (value.toLowerCase() !== 'chunked') current.isAmbiguous = true;
      break;
    case 'origin':
      // Two joined values are not a valid origin, so no allow list matches them.
      current.origin = (seen & ORIGIN) === 0 ? value : `${current.origin}, ${value}`;
      seen |= ORIGIN;
      break;
    case 'content-type':
      current.contentType = value;
      break;
    case 'accept':
      // Several `accept` headers form one list (RFC 9110, 5.3).
      current.accept = current.accept === '' ? value : `${current.accept},${value}`;
      break;
    case 'mcp-protocol-version':
      protocolVersion = combinedHeader(protocolVersion, value);
      break;
    case 'last-event-id':
      request.lastEventId = value;
      break;
    case 'traceparent':
      // Two are treated as none: the parent span would be ambiguous.
      request.traceparent = request.traceparent === '' ? value : 'ambiguous';
      break;
    case 'tracestate':
      request.tracestate = request.tracestate === '' ? value : `${request.tracestate},${value}`;
      break;
    case 'x-request-id':
      request.requestId = value;
      break;
    default:
      if (name.startsWith('mcp-')) hasMirror = true;
  }
}

function decodeSegment(segment: string): string | undefined {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
