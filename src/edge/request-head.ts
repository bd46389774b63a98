// The head of a request, copied while the HTTP library's handler runs. Hot path: one pass over the headers, which also detects duplicates
// of headers that may occur only once.
import { randomBytes } from 'node:crypto';
import { type ExchangeRequest, NO_MIRROR, combinedHeader, mirrorIn, mirrorOfVersion } from '../exchange/index.js';
import type { HttpRequest } from './http-library.js';

export const NO_BODY = Buffer.alloc(0);
export const NO_HEADERS: readonly string[] = Object.freeze([]);

export interface RequestHead {
  /** The id in the path, decoded; `undefined` when it cannot be. */
  readonly virtualHostId: string | undefined;
  /** The request that the relay gets. Accepted types, forwarded headers and body are set later, as they become known. */
  readonly request: { -readonly [Member in keyof ExchangeRequest]: ExchangeRequest[Member] };
  /** The value of the `host` header; here and below `''` for an absent header. */
  host: string;
  origin: string;
  authorization: string;
  contentType: string;
  contentLength: string;
  accept: string;
  /** Whether a header occurs twice that may occur only once (specification 2.2), or it is unclear where the body ends. */
  isAmbiguous: boolean;
  /** Whether the `mcp-param-*` headers are too many or too long; then the mirror has none of them. */
  isMirrorTooLarge: boolean;
  /** All headers as received: lower-case name, value, …; emptied once a stream has begun. */
  headers: readonly string[];
}

export function readHead(req: HttpRequest, method: ExchangeRequest['method']): RequestHead {
  const headers: string[] = [];
  const head: RequestHead = {
    virtualHostId: decodeSegment(req.getParameter(0) ?? ''),
    // The request is one literal, because composed objects are slow to create, and to use.
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
  currentHead = head;
  currentHeaders = headers;
  seenHeaderBits = 0;
  hasMirror = false;
  protocolVersion = '';
  req.forEach(takeHeader);
  const mirror = hasMirror ? mirrorIn(headers, protocolVersion) : mirrorOfVersion(protocolVersion);
  if (mirror === undefined) head.isMirrorTooLarge = true;
  else head.request.mirror = mirror;
  return head;
}

/** Drops what a long stream does not need, above all the token. */
export function forgetHeaders(head: RequestHead): void {
  head.headers = NO_HEADERS;
  head.authorization = '';
  head.accept = '';
  head.host = '';
}

/** The head that is being read. `forEach` is synchronous, so one `takeHeader` can serve all requests. */
let currentHead: RequestHead;
let currentHeaders: string[];

let hasMirror = false;
let protocolVersion = '';

/** Headers seen so far that may occur only once, as bits. */
let seenHeaderBits = 0;
const HOST = 1;
const AUTHORIZATION = 2;
const SESSION_ID = 4;
const CONTENT_LENGTH = 8;
const ORIGIN = 16;

/** Notes a header that may occur only once. @returns the first non-empty value: a caller without a valid token gets 401 and not 400. */
function singleValue(header: number, present: string, value: string): string {
  if ((seenHeaderBits & header) !== 0) currentHead.isAmbiguous = true;
  seenHeaderBits |= header;
  return present === '' ? value : present;
}

function takeHeader(name: string, value: string): void {
  currentHeaders.push(name, value);
  const { request } = currentHead;
  switch (name) {
    case 'host':
      currentHead.host = singleValue(HOST, currentHead.host, value);
      break;
    case 'authorization':
      currentHead.authorization = singleValue(AUTHORIZATION, currentHead.authorization, value);
      break;
    case 'mcp-session-id':
      request.sessionId = singleValue(SESSION_ID, request.sessionId, value);
      break;
    case 'content-length':
      currentHead.contentLength = singleValue(CONTENT_LENGTH, currentHead.contentLength, value);
      break;
    case 'transfer-encoding':
      // uWebSockets.js takes any value for `chunked`; only a final `chunked` marks the end (RFC 9112, 6.3).
      if (value.toLowerCase() !== 'chunked') currentHead.isAmbiguous = true;
      break;
    case 'origin':
      // Two origins become one text, which no allow-list matches.
      currentHead.origin = (seenHeaderBits & ORIGIN) === 0 ? value : `${currentHead.origin}, ${value}`;
      seenHeaderBits |= ORIGIN;
      break;
    case 'content-type':
      currentHead.contentType = value;
      break;
    case 'accept':
      // Several `accept` headers are one list (RFC 9110, 5.3).
      currentHead.accept = currentHead.accept === '' ? value : `${currentHead.accept},${value}`;
      break;
    case 'mcp-protocol-version':
      protocolVersion = combinedHeader(protocolVersion, value);
      break;
    case 'last-event-id':
      request.lastEventId = value;
      break;
    case 'traceparent':
      // Two `traceparent` headers count as none.
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

/** Where request ids come from. `make`: each is new; `trust`: the request's own if it is well-formed; `off`: there are none. */
type RequestIdMode = 'make' | 'trust' | 'off';

/** What an id that is put into headers and logs may look like. */
const WELL_FORMED_ID = /^[\w.:@/+=-]{1,128}$/;

/**
 * The id of each HTTP request, in its response, log lines, and requests to backends. Hot path: a counter behind a prefix that no other
 * worker has.
 */
export class RequestIds {
  readonly #mode: RequestIdMode;
  readonly #prefix = `${randomBytes(6).toString('hex')}-`;
  #count = 0;

  constructor(mode: RequestIdMode) {
    this.#mode = mode;
  }

  /** The request's id. @param given the `x-request-id`, or `''`. @returns `''` when ids are off. */
  of(given: string): string {
    if (this.#mode === 'off') return '';
    if (this.#mode === 'trust' && WELL_FORMED_ID.test(given)) return given;
    this.#count += 1;
    return this.#prefix + this.#count.toString(36);
  }
}
