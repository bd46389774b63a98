// Reads the arguments of a large call that headers must repeat (N03, M13): in slices, before the call is sent, from the pieces in which it
// will be sent. Cold path: only for large calls to tools with such parameters.
import { Buffer } from 'node:buffer';
import {
  ESCAPE_BYTES_MAX,
  stringValue,
  jsonKind,
  type JsonScanner,
  scanQueue,
  type Scan,
  partsOf,
} from '../bytes/index.js';
import type { MirroredParam } from '../mcp/index.js';
import { limits, rpcErrors, type RpcError } from '../shared/index.js';
import {
  MirroredPaths,
  type DecodeKey,
  scalarText,
  TOO_LONG,
  type MirroredValues,
  type ReadArguments,
} from '../messages/index.js';
import type { RelayedRequestPlan } from './era-rules.js';

/** The mirrored parameters that must be read from a large call before it is sent; `undefined` for a small call, or if there are none. */
export function mirroredParamsToRead({
  outgoing,
  message,
  upstream,
  bareName,
}: RelayedRequestPlan): readonly MirroredParam[] | undefined {
  const isSmall = outgoing.body.length + (outgoing.putIn?.length ?? 0) <= limits.readAtOnceBytesMax;
  if (isSmall) return undefined;
  // Legacy clients send no such headers, and legacy backends expect none.
  return upstream.isModern || message.envelope !== undefined
    ? upstream.mirroredParamsOf(message.method, bareName)
    : undefined;
}

/** Reads the arguments. @param done called once, never synchronously. */
export function readArguments(
  { outgoing, session }: RelayedRequestPlan,
  params: readonly MirroredParam[],
  done: (read: ReadArguments | RpcError) => void,
): Scan {
  const { body, leftOut, putIn = Buffer.alloc(0) } = outgoing;
  const whole = leftOut === undefined ? [body] : partsOf(body, [{ ...leftOut, putIn }]);
  const parts = whole.filter(({ length }) => length > 0);
  const paths = MirroredPaths.of(params);
  const decodeKey: DecodeKey = (start, end) => {
    const token = sliceOf(parts, start - 1, end + 1);
    return stringValue(token, 0, token.length);
  };
  let isRoot = true;
  // Records only values on the path to the parameters.
  const recordsContentsOf = (keyStart: number, keyEnd: number): boolean => {
    if (!isRoot) return keyStart !== -1 && paths.mayLeadToParam(keyStart, keyEnd, decodeKey);
    isRoot = false;
    return true;
  };
  const handler = (tape: JsonScanner | undefined): void => {
    if (tape === undefined) return done(rpcErrors.tooManyArguments);
    const nodes = paths.nodesIn(tape, decodeKey);
    const sentValues = nodes.map((node) => valueOf(tape, parts, node));
    const callersValues = sentValues.map((value, index) =>
      isInserted(tape, nodes[index]!, outgoing.leftOut, putIn) ? undefined : value,
    );
    done({ params, callersValues, sentValues });
  };
  const filter = { recordsContentsOf, nodesMax: limits.argumentsExaminedMax };
  return scanQueue.scanPieces(session.identity.subject, parts, paths.depth, handler, { filter });
}

/** The bytes of a span that lies within one part. @param start,end offsets in all parts together. */
function sliceOf(parts: readonly Buffer[], start: number, end: number): Buffer {
  let at = start;
  for (const part of parts) {
    if (at < part.length) return part.subarray(at, at + end - start);
    at -= part.length;
  }
  return Buffer.alloc(0);
}

function valueOf(tape: JsonScanner, parts: readonly Buffer[], node: number): MirroredValues[number] {
  if (node < 0) return undefined;
  const [start, end, kind] = [tape.start(node), tape.end(node), tape.kind(node)];
  if (kind === jsonKind.string && end - start > ESCAPE_BYTES_MAX * limits.mirroredParamBytesMax) return TOO_LONG;
  const token = sliceOf(parts, start, end);
  return scalarText(token, 0, token.length, kind);
}

/** Whether the gateway has inserted the value: an argument that the config fixes. */
function isInserted(
  tape: JsonScanner,
  node: number,
  leftOut: { readonly start: number } | undefined,
  { length }: Buffer,
): boolean {
  if (node < 0 || leftOut === undefined) return false;
  const start = tape.start(node);
  return start >= leftOut.start && start < leftOut.start + length;
}
