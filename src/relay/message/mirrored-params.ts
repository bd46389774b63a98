// The parameters of a call that the mirror repeats: read from the arguments as they go to the backend, and compared with the headers
// that the call came with (M13). Warm path: only for calls to tools with such parameters.
import { Buffer } from 'node:buffer';
import { jsonKind, JsonScanner } from '../../protocol/json-scanner.js';
import { stringValue } from '../../protocol/json-member.js';
import type { MirroredParam } from '../../protocol/tool-mirrors.js';
import { headerIn } from '../../shared/http-token.js';
import { limits } from '../../shared/limits.js';
import type { OutgoingMessage } from '../../upstream/http/http-upstream.js';
import { headText } from '../../upstream/session/modern-request.js';
import { partsOf } from './edits.js';
import { MirroredPaths, type KeyText } from './mirrored-nodes.js';

const scanner = new JsonScanner();
const WHOLE = /^-?\d+$/;
/** A call's values, in the order of its tool's parameters; `undefined` for one that is absent, or has no form in a header. */
export type MirroredValues = readonly (string | typeof TOO_LONG | undefined)[];

/** The values that were read from a call, in the order of its tool's parameters. */
export interface ReadArguments {
  /** The parameters that were looked for. */
  readonly known: readonly MirroredParam[];
  /** The values that the caller has written. */
  readonly own: MirroredValues;
  /** The values that go out, including those that the config fixes. */
  readonly sent: MirroredValues;
}

/** A string too long for any header, which is not decoded, or a number with more digits than any whole number in use. */
export const TOO_LONG = Symbol('too long');

/** @returns `undefined` for a message that is too large to be parsed at once. */
export function valuesIn(message: OutgoingMessage, params: readonly MirroredParam[]): MirroredValues | undefined {
  const { body, leftOut, putIn = NOTHING } = message;
  if (body.length + putIn.length > limits.readAtOnceBytesMax) return undefined;
  const bytes = leftOut === undefined ? body : Buffer.concat(partsOf(body, [{ ...leftOut, putIn }]));
  const paths = MirroredPaths.of(params);
  if (!scanner.scan(bytes, paths.depth)) return undefined;
  const keyText: KeyText = (start, end) => stringValue(bytes, start - 1, end + 1);
  return paths.nodesIn(scanner, keyText).map((node) => (node < 0 ? undefined : textOf(bytes, node)));
}

/**
 * @param passed headers that the call came with; those that the tool does not name are passed on.
 * @returns headers: name, value, …; `undefined` when they are too long to be sent.
 */
export function headersOf(
  params: readonly MirroredParam[],
  values: MirroredValues,
  passed: readonly string[] = NO_HEADERS,
): readonly string[] | undefined {
  const headers: string[] = [];
  let bytes = 0;
  if (values.includes(TOO_LONG)) return undefined;
  params.forEach(({ header }, index) => {
    const value = values[index];
    if (typeof value !== 'string') return;
    const written = headText(value);
    bytes += header.length + written.length;
    headers.push(header, written);
  });
  for (let at = 0; at + 1 < passed.length; at += 2)
    if (!params.some(({ header }) => header === passed[at])) headers.push(passed[at]!, passed[at + 1]!);
  return bytes > limits.mirroredParamBytesMax ? undefined : headers;
}

const NO_HEADERS: readonly string[] = [];
const NOTHING = Buffer.alloc(0);

/**
 * @param decode decodes a header's value; `undefined` for an invalid one.
 * @returns what is wrong with the first header that does not agree with the arguments; `undefined` when all agree.
 */
export function disagreement(
  params: readonly MirroredParam[],
  values: MirroredValues,
  passed: readonly string[],
  decode: (value: string) => string | undefined,
): string | undefined {
  for (const [index, { header }] of params.entries()) {
    const value = values[index];
    const said = headerIn(passed, header);
    if (value === undefined && said === undefined) continue;
    if (said === undefined) return `${header} is missing`;
    const decoded = decode(said);
    if (decoded === undefined) return `${header} is not valid base64 of UTF-8`;
    if (typeof value !== 'string' || !isSame(value, decoded)) return `${header} differs from the body`;
  }
  return undefined;
}

/** Compares the values; a whole number may be written in several ways. */
function isSame(value: string, said: string): boolean {
  if (value === said) return true;
  const [, whole] = /^(-?\d+)(?:\.0+)?$/.exec(said) ?? [];
  // BigInt, because JavaScript numbers cannot tell large whole numbers apart.
  return whole !== undefined && WHOLE.test(value) && BigInt(value) === BigInt(whole);
}

function textOf(bytes: Buffer, node: number): MirroredValues[number] {
  return scalarText(bytes, scanner.start(node), scanner.end(node), scanner.kind(node));
}

/** A value in the form that it has in a header; `undefined` for one that has no such form. */
export function scalarText(bytes: Buffer, start: number, end: number, kind: number): MirroredValues[number] {
  if (kind === jsonKind.string) return stringValue(bytes, start, end);
  if (kind !== jsonKind.boolean && kind !== jsonKind.number) return undefined;
  if (end - start > limits.mirroredNumberCharsMax) return TOO_LONG;
  const text = bytes.toString('latin1', start, end);
  if (kind === jsonKind.boolean) return text;
  if (WHOLE.test(text)) return text;
  const value = Number(text);
  return Number.isSafeInteger(value) ? String(value) : undefined;
}
