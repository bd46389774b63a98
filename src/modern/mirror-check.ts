// Checks that the headers of a modern request agree with its body: an intermediary that routes, counts or refuses by them must not
// see something other than the backend does (M10, M12). Hot path: a few comparisons per modern request.
import { ESCAPE_BYTES_MAX, isString, stringValue } from '../bytes/index.js';
import type { ClientMessage } from '../mcp/index.js';
import type { MirrorHeaders } from '../exchange/index.js';
import { nameInHead } from '../calls/index.js';

const SENTINEL_START = '=?base64?';
const SENTINEL_END = '?=';
/** Canonical, padding included: of two spellings of one value an intermediary may recognise only one. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @returns the mismatch in words, if the version header is present and differs from the body: reported before any other fault. */
export function versionContradiction(body: Buffer, message: ClientMessage, mirror: MirrorHeaders): string | undefined {
  const { envelope } = message;
  if (envelope === undefined || mirror.protocolVersion === '') return undefined;
  const { protocolVersionStart: start, protocolVersionEnd: end } = envelope;
  // A version that is not a string is reported by the envelope check, which says more.
  if (body[start] !== QUOTE || isString(body, start, end, mirror.protocolVersion)) return undefined;
  return 'mcp-protocol-version differs from the body';
}

/** @returns the first mismatch in words, a missing header included. */
export function mirrorFault(body: Buffer, message: ClientMessage, mirror: MirrorHeaders): string | undefined {
  if (mirror.protocolVersion === '') return 'mcp-protocol-version is missing';
  if (mirror.method === '') return 'mcp-method is missing';
  if (mirror.method !== message.method) return 'mcp-method differs from the body';
  if (message.nameStart === -1) return undefined;
  const inHead = nameInHead(message.method);
  if (inHead === 'no' || (inHead === 'may' && mirror.name === '')) return undefined;
  if (mirror.name === '') return 'mcp-name is missing';
  const name = headerText(mirror.name);
  if (name === undefined) return 'mcp-name is not valid base64 of UTF-8';
  const { nameStart, nameEnd } = message;
  // A value too long to be this name differs without being decoded.
  const isSame =
    nameEnd - nameStart <= ESCAPE_BYTES_MAX * name.length + 2 && stringValue(body, nameStart, nameEnd) === name;
  return isSame ? undefined : 'mcp-name differs from the body';
}

/** A header's value, decoded if it is marked as base64; `undefined` if it is marked but is not canonical base64 of UTF-8. */
export function headerText(value: string): string | undefined {
  if (!value.startsWith(SENTINEL_START) || !value.endsWith(SENTINEL_END)) return value;
  const base64 = value.slice(SENTINEL_START.length, -SENTINEL_END.length);
  if (!BASE64.test(base64)) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  // Decoding ignores unused bits of the last character, so values that differ only in them are refused here.
  if (bytes.toString('base64') !== base64) return undefined;
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

const QUOTE = 0x22;
