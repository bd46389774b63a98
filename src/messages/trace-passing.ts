// Passes a request's trace to its backend: in a header, and also in `params._meta` if the client has a `traceparent` there. No other byte
// changes.
import { Buffer } from 'node:buffer';
import { findMember, JsonScanner, jsonKind } from '../bytes/index.js';
import type { ClientMessage } from '../mcp/index.js';
import { headerIn, limits } from '../shared/index.js';
import type { IdSpan } from '../upstream/index.js';
import type { ByteSpan, OutgoingMessage, RequestMetadata } from '../http-client/index.js';
import { withEdit } from './rewriting.js';
import type { Exchange, ExchangeWatcher } from '../exchange/index.js';

const TRACEPARENT_KEY = Buffer.from('"traceparent"');
/** The depth of the members of `_meta` in `params`. */
const META_DEPTH = 2;

const scanner = new JsonScanner();

interface TracedPlan {
  readonly exchange: Exchange;
  readonly message: ClientMessage;
  readonly metadata: RequestMetadata;
}

/** The message with its trace. @param watcher gives the trace to pass, if there is one. */
export function tracedMessage(
  watcher: ExchangeWatcher,
  { exchange, message, metadata }: TracedPlan,
  outgoing: OutgoingMessage,
  id: IdSpan,
): OutgoingMessage {
  const { body } = exchange.request;
  const span = traceparentIn(body, message);
  const inMessage = span === undefined ? '' : body.toString('latin1', span.start + 1, span.end - 1);
  const trace = watcher.onSending(inMessage, id);
  if (trace === undefined) return outgoing;
  const needsNoEdit = span === undefined || trace.traceparent === inMessage || !isSentUnchanged(outgoing, body, span);
  const edited = needsNoEdit ? outgoing : withEdit(outgoing, { ...span, putIn: Buffer.from(`"${trace.traceparent}"`) });
  // A backend that lists `traceparent` gets the caller's own header instead, if there is one.
  return headerIn(metadata.headers, 'traceparent') === undefined ? { ...edited, trace } : edited;
}

/** Whether these bytes of the caller's body are sent, and not replaced. */
function isSentUnchanged({ body, leftOut }: OutgoingMessage, callersBody: Buffer, { start, end }: ByteSpan): boolean {
  return body === callersBody && (leftOut === undefined || end <= leftOut.start || start >= leftOut.end);
}

/** The span of the `traceparent`, with its quotes. Params that are too large to be parsed at once are not searched. */
function traceparentIn(body: Buffer, { paramsStart, paramsEnd }: ClientMessage): ByteSpan | undefined {
  if (paramsStart === -1 || paramsEnd - paramsStart > limits.readAtOnceBytesMax) return undefined;
  const params = body.subarray(paramsStart, paramsEnd);
  if (!params.includes(TRACEPARENT_KEY) || !scanner.scan(params, META_DEPTH)) return undefined;
  const meta = findMember(scanner, params, 0, '_meta');
  if (meta < 0 || scanner.kind(meta) !== jsonKind.object) return undefined;
  const node = findMember(scanner, params, meta, 'traceparent');
  if (node < 0 || scanner.kind(node) !== jsonKind.string) return undefined;
  return { start: paramsStart + scanner.start(node), end: paramsStart + scanner.end(node) };
}
