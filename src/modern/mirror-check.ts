// Checks that the headers of a modern request agree with its body: an intermediary that routes, counts or refuses by them must not
// see something other than the backend does (M10, M12). Hot path: a few comparisons per modern request.
import { ESCAPE_BYTES_MAX, isStringEqual, stringValue } from '../bytes/index.js';
import type { ClientMessage } from '../mcp/index.js';
import type { MirrorHeaders } from '../exchange/index.js';
import { nameInHead } from '../calls/index.js';
import { headerText } from '../messages/index.js';

/** @returns the mismatch in words, if the version header is present and differs from the body: reported before any other fault. */
export function versionContradiction(body: Buffer, message: ClientMessage, mirror: MirrorHeaders): string | undefined {
  const { envelope } = message;
  if (envelope === undefined || mirror.protocolVersion === '') return undefined;
  const { protocolVersionStart: start, protocolVersionEnd: end } = envelope;
  // A version that is not a string is reported by the envelope check, which says more.
  if (body[start] !== QUOTE || isStringEqual(body, start, end, mirror.protocolVersion)) return undefined;
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

const QUOTE = 0x22;
