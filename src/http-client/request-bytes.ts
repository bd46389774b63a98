// Serializes requests. All requests of a session have the same array of headers, by which the head without the length is cached: as text at
// first, because many sessions send one request and then none for long; as bytes, which are faster to copy, from the second on. Hot path.
import { isHttpToken, KIB, PROGRAM_VERSION } from '../shared/index.js';
import type { ModernHead, TraceHeaders, UpstreamRequest } from './http-upstream.js';

/** A body up to this size is copied behind its head, so that one write sends both. */
export const UPSTREAM_COPIED_BODY_BYTES_MAX = 16 * KIB;

interface RememberedHead {
  readonly method: string;
  readonly path: string;
  readonly origin: string;
  readonly hasBody: boolean;
  /** The head: all of it if there is no body, otherwise up to the value of `content-length`. A text is in Latin-1. */
  head: string | Buffer;
}

const rememberedHeads = new WeakMap<readonly string[], RememberedHead>();

export interface RequestBytes {
  /** The head and a small body; of a large body only the beginning up to the end of `putIn`, if that is short. */
  readonly first: Buffer;
  readonly furtherParts: readonly Buffer[] | undefined;
}

/** The request in bytes. @returns `undefined` if a header cannot be sent. */
export function requestBytes(request: UpstreamRequest): RequestBytes | undefined {
  const head = headOf(request);
  if (head === undefined) return undefined;
  const { body, leftOut, putIn = NO_BYTES, requestId = '', trace, head: modernHead } = request;
  if (body === undefined)
    return { first: typeof head === 'string' ? Buffer.from(head, 'latin1') : head, furtherParts: undefined };
  const { start, end } = leftOut ?? EMPTY_SPAN;
  const bodyBytes = body.length - (end - start) + putIn.length;
  const isLarge = bodyBytes > UPSTREAM_COPIED_BODY_BYTES_MAX;
  // What comes before the end of the replaced span: it is short in most messages.
  const beginningBytes = start + putIn.length;
  const isBeginningLarge = beginningBytes > UPSTREAM_COPIED_BODY_BYTES_MAX;
  const copiedBytes = !isLarge ? bodyBytes : isBeginningLarge ? 0 : beginningBytes;
  const traceLines = trace === undefined ? '' : traceLinesOf(trace);
  const modernLines = modernHead === undefined ? '' : modernLinesOf(modernHead);
  if (modernLines === undefined) return undefined;
  // This header is not in the cached head, which would otherwise differ for every request.
  const idLine = requestId === '' ? '' : ID_HEADER + requestId;
  const lines = `${bodyBytes}${idLine}${traceLines}${modernLines}\r\n\r\n`;
  const first = Buffer.allocUnsafe(head.length + lines.length + copiedBytes);
  let at = typeof head === 'string' ? first.write(head, 'latin1') : head.copy(first);
  at += first.write(lines, at, 'latin1');
  if (isLarge && isBeginningLarge) return { first, furtherParts: [body.subarray(0, start), putIn, body.subarray(end)] };
  at += body.copy(first, at, 0, start);
  if (putIn.length > 0) at += putIn.copy(first, at);
  if (isLarge) return { first, furtherParts: [body.subarray(end)] };
  body.copy(first, at, end);
  return { first, furtherParts: undefined };
}

const NO_BYTES = Buffer.alloc(0);

const ID_HEADER = '\r\nx-request-id: ';

function traceLinesOf({ traceparent, tracestate }: TraceHeaders): string {
  return `\r\ntraceparent: ${traceparent}${tracestate === '' ? '' : `\r\ntracestate: ${tracestate}`}`;
}

function modernLinesOf({ method, name, params }: ModernHead): string | undefined {
  let lines = `\r\nmcp-method: ${method}`;
  if (!HEADER_VALUE.test(method) || !HEADER_VALUE.test(name)) return undefined;
  if (name !== '') lines += `\r\nmcp-name: ${name}`;
  for (let i = 0; i + 1 < params.length; i += 2) {
    if (!isHttpToken(params[i]!) || !HEADER_VALUE.test(params[i + 1]!)) return undefined;
    lines += `\r\n${params[i]}: ${params[i + 1]}`;
  }
  return lines;
}

const EMPTY_SPAN = { start: 0, end: 0 };

function headOf({ target, method, headers, body }: UpstreamRequest): Buffer | string | undefined {
  const known = rememberedHeads.get(headers);
  const hasBody = body !== undefined;
  if (
    known?.method === method &&
    known.path === target.path &&
    known.origin === target.origin &&
    known.hasBody === hasBody
  ) {
    if (typeof known.head === 'string') known.head = latin1Bytes(known.head);
    return known.head;
  }
  const host = target.origin.slice(target.origin.indexOf('//') + 2);
  let text = `${method} ${target.path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\naccept-encoding: identity\r\n`;
  let agentLine = AGENT_LINE;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? '';
    const value = headers[i + 1] ?? '';
    if (name.toLowerCase() === 'user-agent') agentLine = '';
    // A value with a line break could inject a second request.
    if (!isHttpToken(name) || !HEADER_VALUE.test(value)) return undefined;
    text += `${name}: ${value}\r\n`;
  }
  text += agentLine + (hasBody ? 'content-length: ' : '\r\n');
  rememberedHeads.set(headers, { method, path: target.path, origin: target.origin, hasBody, head: text });
  return text;
}

/** The text in bytes, in memory of its own: a small slice of `Buffer`'s pool would keep a whole block alive. */
function latin1Bytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(text.length);
  bytes.write(text, 'latin1');
  return bytes;
}

/** The `user-agent`, without which many firewalls refuse requests. A caller's own takes its place. */
const AGENT_LINE = `user-agent: switchyard/${PROGRAM_VERSION}\r\n`;

const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
