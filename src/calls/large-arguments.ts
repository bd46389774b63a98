// Reads the arguments of a large call that must be sent as headers, too (N03, M13): in slices, before the call is sent, from the pieces
// in which it will be sent, without joining them. Cold path: only for large calls to tools with such parameters.
import { Buffer } from 'node:buffer';
import {
  ESCAPE_BYTES_MAX,
  stringValue,
  jsonKind,
  type JsonScanner,
  type NodeFilter,
  readings,
  type Reading,
} from '../bytes/index.js';
import type { MirroredParam } from '../mcp/index.js';
import { limits, rpcErrors, type RpcError } from '../shared/index.js';
import {
  partsOf,
  MirroredPaths,
  type KeyText,
  scalarText,
  TOO_LONG,
  type MirroredValues,
  type ReadArguments,
} from '../messages/index.js';
import type { RelayedRequestPlan } from './relayed-request-plan.js';

/** The parameters for which a call must be read before it goes out; `undefined` if it need not be, or is small enough to read at once. */
export function argumentsToRead({
  outgoing,
  message,
  upstream,
  bareName,
}: RelayedRequestPlan): readonly MirroredParam[] | undefined {
  const isSmall = outgoing.body.length + (outgoing.putIn?.length ?? 0) <= limits.readAtOnceBytesMax;
  if (isSmall) return undefined;
  // Legacy clients send no such headers, and legacy backends look at none.
  return upstream.isModern || message.envelope !== undefined
    ? upstream.mirroredBy(message.method, bareName)
    : undefined;
}

/** @param done called once, never from within. */
export function readArguments(
  { outgoing, session }: RelayedRequestPlan,
  known: readonly MirroredParam[],
  done: (read: ReadArguments | RpcError) => void,
): Reading {
  const { body, leftOut, putIn = Buffer.alloc(0) } = outgoing;
  const parts = leftOut === undefined ? [body] : partsOf(body, [{ ...leftOut, putIn }]);
  const text = new PartedText(parts.filter(({ length }) => length > 0));
  const paths = MirroredPaths.of(known);
  const keyText: KeyText = (start, end) => text.key(start, end);
  const filter = new PathFilter(paths, keyText);
  const handler = (tape: JsonScanner | undefined): void => {
    if (tape === undefined) return done(rpcErrors.tooManyArguments);
    const nodes = paths.nodesIn(tape, keyText);
    const sent = nodes.map((node) => valueOf(tape, text, node));
    const own = sent.map((value, index) => (isPutIn(tape, nodes[index]!, outgoing.leftOut, putIn) ? undefined : value));
    done({ known, own, sent });
  };
  return readings.readPieces(session.identity.subject, text.parts, paths.depth, handler, { filter });
}

/** A text in parts. No token that is looked at spans two parts. */
class PartedText {
  readonly parts: readonly Buffer[];

  constructor(parts: readonly Buffer[]) {
    this.parts = parts;
  }

  /** Offsets are those of the whole text. */
  slice(start: number, end: number): Buffer {
    let at = start;
    for (const part of this.parts) {
      if (at < part.length) return part.subarray(at, at + end - start);
      at -= part.length;
    }
    return Buffer.alloc(0);
  }

  /** The text of the key between the offsets, which leave out its quotes. */
  key(start: number, end: number): string {
    const token = this.slice(start - 1, end + 1);
    return stringValue(token, 0, token.length);
  }
}

/** Records only the nodes that lead to the parameters, and not the members of other arguments. */
class PathFilter implements NodeFilter {
  readonly nodesMax = limits.argumentsExaminedMax;
  readonly #paths: MirroredPaths;
  readonly #keyText: KeyText;
  #isRoot = true;

  constructor(paths: MirroredPaths, keyText: KeyText) {
    this.#paths = paths;
    this.#keyText = keyText;
  }

  wants(keyStart: number, keyEnd: number): boolean {
    const isRoot = this.#isRoot;
    this.#isRoot = false;
    return isRoot || (keyStart !== -1 && this.#paths.mayLead(keyStart, keyEnd, this.#keyText));
  }
}

function valueOf(tape: JsonScanner, text: PartedText, node: number): MirroredValues[number] {
  if (node < 0) return undefined;
  const [start, end, kind] = [tape.start(node), tape.end(node), tape.kind(node)];
  if (kind === jsonKind.string && end - start > ESCAPE_BYTES_MAX * limits.mirroredParamBytesMax) return TOO_LONG;
  const token = text.slice(start, end);
  return scalarText(token, 0, token.length, kind);
}

/** Whether the value was put in by the gateway: in arguments, only the values that the config fixes are. */
function isPutIn(
  tape: JsonScanner,
  node: number,
  leftOut: { readonly start: number } | undefined,
  { length }: Buffer,
): boolean {
  if (node < 0 || leftOut === undefined) return false;
  const start = tape.start(node);
  return start >= leftOut.start && start < leftOut.start + length;
}
