// A request's trace as its backend is told of it: in a header, and in `params._meta` where the client has it there, so that the
// backend finds it where the client put it. No other byte of the message changes.
import { Buffer } from 'node:buffer';
import { findMember } from '../../protocol/json-member.js';
import type { ClientMessage } from '../../protocol/json-rpc.js';
import { JsonScanner, jsonKind } from '../../protocol/json-scanner.js';
import { limits } from '../../shared/limits.js';
import type { IdSpan } from '../../upstream/rpc/request-plan.js';
import type { ByteSpan, OutgoingMessage } from '../../upstream/http/http-upstream.js';
import type { RequestMetadata } from '../../upstream/http/request-metadata.js';
import { withEdit } from './bare-body.js';
import type { Exchange } from '../exchange/exchange.js';

const KEY = Buffer.from('"traceparent"');
/** `_meta`, and what is in it. */
const META_DEPTH = 2;

const scanner = new JsonScanner();

/** What of a relayed request its trace goes by. */
export interface TracedPlan {
  readonly exchange: Exchange;
  readonly message: ClientMessage;
  readonly metadata: RequestMetadata;
}

/** @returns the message as it goes out: as it is where there is nothing to tell. */
export function tracedMessage(
  { exchange, message, metadata }: TracedPlan,
  outgoing: OutgoingMessage,
  id: IdSpan,
): OutgoingMessage {
  const { watcher, request } = exchange;
  if (watcher?.isTraced !== true) return outgoing;
  const { body } = request;
  const span = traceparentIn(body, message);
  const inMessage = span === undefined ? '' : body.toString('latin1', span.start + 1, span.end - 1);
  const trace = watcher.onSending(inMessage, id);
  if (trace === undefined) return outgoing;
  const isTold = span === undefined || trace.traceparent === inMessage || !isFree(outgoing, body, span);
  const told = isTold ? outgoing : withEdit(outgoing, { ...span, putIn: Buffer.from(`"${trace.traceparent}"`) });
  // The caller's own header, where this backend is to have that.
  return metadata.headers.includes('traceparent') ? told : { ...told, trace };
}

/** Whether nothing else has been made of these bytes. */
function isFree({ body, leftOut }: OutgoingMessage, callers: Buffer, { start, end }: ByteSpan): boolean {
  return body === callers && (leftOut === undefined || end <= leftOut.start || start >= leftOut.end);
}

/** Where the value of `params._meta.traceparent` stands, with its quotes. Of what is too large to be read at once, nobody looks. */
function traceparentIn(body: Buffer, { paramsStart, paramsEnd }: ClientMessage): ByteSpan | undefined {
  if (paramsStart === -1 || paramsEnd - paramsStart > limits.readAtOnceBytesMax) return undefined;
  const params = body.subarray(paramsStart, paramsEnd);
  if (!params.includes(KEY) || !scanner.scan(params, META_DEPTH)) return undefined;
  const meta = findMember(scanner, params, 0, '_meta');
  if (meta < 0 || scanner.kind(meta) !== jsonKind.object) return undefined;
  const node = findMember(scanner, params, meta, 'traceparent');
  if (node < 0 || scanner.kind(node) !== jsonKind.string) return undefined;
  return { start: paramsStart + scanner.start(node), end: paramsStart + scanner.end(node) };
}
