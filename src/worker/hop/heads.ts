// Encodes and parses the payloads of frames: the heads of requests and answers, and credit. Strings travel as UTF-16, which holds every
// JavaScript string in twice as many bytes as its length.
import {
  NO_MIRROR,
  type AcceptedTypes,
  type BodyType,
  type ExchangeRequest,
  type MirrorHeaders,
  mirrorOfVersion,
} from '../../exchange/index.js';
import { StreamFault, hopBounds } from './frames.js';
import type { HopSocket } from './socket.js';

export interface ForwardedIdentity {
  readonly subject: string;
  readonly virtualHostId: string;
}

export interface ForwardedRequestHead {
  readonly identity: ForwardedIdentity;
  readonly bodyBytes: number;
  /** The request, whose body is empty until it has arrived. */
  readonly request: Omit<ExchangeRequest, 'body'> & { body: Buffer };
}

export interface RespondHead {
  readonly status: number;
  readonly contentType: string;
  readonly sessionId: string | undefined;
  readonly headers: readonly string[];
  readonly bodyBytes: number;
}

interface BodyHead {
  readonly contentType: BodyType;
  readonly bodyBytes: number;
}

const NO_BODY = Buffer.alloc(0);
const HTTP_METHODS: readonly ExchangeRequest['method'][] = ['POST', 'DELETE', 'GET'];
const ACCEPTED_TYPES: readonly AcceptedTypes[] = ['json', 'event-stream', 'both'];
const BODY_TYPES: readonly BodyType[] = ['application/json', 'text/event-stream'];

/**
 * Sends the head of a request: body bytes (u32) · method (u8) · accepted types (u8) · count of mirror strings (u16) · subject, virtual
 * host, session, last event, request id, trace parent and state, mirror strings, header name, value, …
 * @returns false, and sends nothing, if the owner would refuse the head, for example because it is too large.
 */
export function trySendRequestHead(
  socket: HopSocket,
  stream: number,
  identity: ForwardedIdentity,
  request: ExchangeRequest,
): boolean {
  const { sessionId, lastEventId, requestId, traceparent, tracestate, passthroughHeaders } = request;
  const { subject, virtualHostId } = identity;
  const ownStrings = [subject, virtualHostId, sessionId, lastEventId, requestId, traceparent, tracestate];
  const mirror = mirrorStrings(request.mirror);
  const strings = [...ownStrings, ...mirror, ...passthroughHeaders];
  const payloadBytes = 8 + stringsBytes(strings);
  const method = HTTP_METHODS.indexOf(request.method);
  const acceptedTypes = ACCEPTED_TYPES.indexOf(request.acceptedTypes);
  if (method < 0 || acceptedTypes < 0 || payloadBytes > hopBounds.hopFrameBytesMax) return false;
  const payload = socket.addFrame('request', stream, payloadBytes);
  payload.writeUInt32LE(request.body.length, 0);
  payload[4] = method;
  payload[5] = acceptedTypes;
  payload.writeUInt16LE(mirror.length, 6);
  writeStrings(payload, 8, strings);
  return true;
}

const NO_STRINGS: readonly string[] = [];

/** The mirror's strings: none, only the version, or all: version, method, name, parameter name, value, … */
function mirrorStrings(mirror: MirrorHeaders): readonly string[] {
  const { protocolVersion, method, name, params } = mirror;
  if (mirror === NO_MIRROR) return NO_STRINGS;
  return method === '' && name === '' && params.length === 0
    ? [protocolVersion]
    : [protocolVersion, method, name, ...params];
}

function mirrorOf(strings: readonly string[]): MirrorHeaders {
  const [protocolVersion, method, name, ...params] = strings;
  if (protocolVersion === undefined) return NO_MIRROR;
  if (method === undefined) return mirrorOfVersion(protocolVersion);
  if (name === undefined || params.length % 2 !== 0) throw new StreamFault('request head incomplete');
  return { protocolVersion, method, name, params };
}

/** The request's own strings, in the order in which they are sent. */
type RequestStrings = readonly [string, string, string, string, string, string, string, ...string[]];
const REQUEST_STRINGS_COUNT = 7;

export function parseRequestHead(payload: Buffer): ForwardedRequestHead {
  if (payload.length < 8) throw new StreamFault('request head too short');
  const method = HTTP_METHODS[payload[4] as number];
  const acceptedTypes = ACCEPTED_TYPES[payload[5] as number];
  if (method === undefined || acceptedTypes === undefined) throw new StreamFault('request head with unknown codes');
  const strings = parseStrings(payload, 8);
  const mirrorEnd = REQUEST_STRINGS_COUNT + payload.readUInt16LE(6);
  if (strings.length < mirrorEnd) throw new StreamFault('request head incomplete');
  const [subject, virtualHostId, sessionId, lastEventId, requestId, traceparent, tracestate] =
    strings as unknown as RequestStrings;
  return {
    identity: { subject, virtualHostId },
    bodyBytes: payload.readUInt32LE(0),
    request: {
      method,
      sessionId,
      lastEventId,
      requestId,
      traceparent,
      tracestate,
      acceptedTypes: acceptedTypes,
      mirror: mirrorOf(strings.slice(REQUEST_STRINGS_COUNT, mirrorEnd)),
      passthroughHeaders: strings.slice(mirrorEnd),
      body: NO_BODY,
    },
  };
}

/**
 * Sends the head of an answer: body bytes (u32) · status (u16) · content type, session (empty: none), header name, value, …
 * @returns false, and sends nothing, if the head or the body is too large for a hop.
 */
export function trySendRespondHead(socket: HopSocket, stream: number, head: RespondHead): boolean {
  const strings = [head.contentType, head.sessionId ?? '', ...head.headers];
  const payloadBytes = 6 + stringsBytes(strings);
  if (head.bodyBytes > hopBounds.hopAnswerBytesMax || payloadBytes > hopBounds.hopFrameBytesMax) return false;
  const payload = socket.addFrame('respond', stream, payloadBytes);
  payload.writeUInt32LE(head.bodyBytes, 0);
  payload.writeUInt16LE(head.status, 4);
  writeStrings(payload, 6, strings);
  return true;
}

export function parseRespondHead(payload: Buffer): RespondHead {
  if (payload.length < 6) throw new StreamFault('answer head too short');
  const [contentType, sessionId, ...headers] = parseStrings(payload, 6);
  if (contentType === undefined || sessionId === undefined) throw new StreamFault('answer head incomplete');
  return {
    status: payload.readUInt16LE(4),
    contentType,
    sessionId: sessionId === '' ? undefined : sessionId,
    headers,
    bodyBytes: payload.readUInt32LE(0),
  };
}

/** Sends a text. @param text a stream's session id, if it has one, or a backend's URL; nothing is sent if it is too long for a frame. */
export function sendText(
  socket: HopSocket,
  kind: 'open-stream' | 'sessionless',
  stream: number,
  text: string | undefined,
): void {
  const strings = text === undefined ? [] : [text];
  const payloadBytes = stringsBytes(strings);
  if (payloadBytes <= hopBounds.hopFrameBytesMax) writeStrings(socket.addFrame(kind, stream, payloadBytes), 0, strings);
}

export function parseText(payload: Buffer): string | undefined {
  return parseStrings(payload, 0)[0];
}

export function sendOpenBody(socket: HopSocket, stream: number, { contentType, bodyBytes }: BodyHead): void {
  const payload = socket.addFrame('open-body', stream, 5);
  payload.writeUInt32LE(bodyBytes, 0);
  payload[4] = BODY_TYPES.indexOf(contentType);
}

export function parseOpenBody(payload: Buffer): BodyHead {
  const contentType = BODY_TYPES[payload[4] ?? BODY_TYPES.length];
  if (payload.length !== 5 || contentType === undefined) throw new StreamFault('head of a body malformed');
  return { contentType, bodyBytes: payload.readUInt32LE(0) };
}

export function sendCredit(socket: HopSocket, stream: number, creditBytes: number): void {
  socket.addFrame('credit', stream, 4).writeUInt32LE(creditBytes, 0);
}

export function parseCredit(payload: Buffer): number {
  if (payload.length !== 4) throw new StreamFault('credit is four bytes');
  return payload.readUInt32LE(0);
}

function stringsBytes(strings: readonly string[]): number {
  let bytes = 0;
  for (const text of strings) bytes += 4 + text.length * 2;
  return bytes;
}

/** Writes each string as its byte length (u32) and UTF-16; the strings fill the payload, so they are not counted. */
function writeStrings(payload: Buffer, from: number, strings: readonly string[]): void {
  let at = from;
  for (const text of strings) {
    at = payload.writeUInt32LE(text.length * 2, at);
    at += payload.write(text, at, 'utf16le');
  }
}

function parseStrings(payload: Buffer, from: number): string[] {
  const strings: string[] = [];
  let at = from;
  while (at < payload.length) {
    if (payload.length - at < 4) throw new StreamFault('string without its length');
    const bytes = payload.readUInt32LE(at);
    at += 4;
    if (bytes > payload.length - at || bytes % 2 !== 0) throw new StreamFault('string of a wrong length');
    strings.push(payload.toString('utf16le', at, at + bytes));
    at += bytes;
  }
  return strings;
}
