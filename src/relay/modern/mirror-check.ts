// Whether the headers of a modern request say what its body says. Whoever routes, counts or refuses by them on the way must not be
// told something else than the backend (M10, M12). Hot: once per modern request, some comparisons.
import { ESCAPE_BYTES_MAX, isString, stringValue } from '../../protocol/json-member.js';
import type { ClientMessage } from '../../protocol/json-rpc.js';
import type { MirrorHeaders } from '../exchange/exchange.js';
import { nameInHead } from '../request/targets.js';

const SENTINEL_START = '=?base64?';
const SENTINEL_END = '?=';
/** Canonical, padding included: of two spellings of one value an intermediary may know only one. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @returns which header does not agree, in words, where it is there and disagrees: that counts before anything else. */
export function versionContradiction(body: Buffer, message: ClientMessage, mirror: MirrorHeaders): string | undefined {
  const { envelope } = message;
  if (envelope === undefined || mirror.protocolVersion === '') return undefined;
  const { protocolVersionStart: start, protocolVersionEnd: end } = envelope;
  // What is no string at all has another fault, which says more.
  if (body[start] !== QUOTE || isString(body, start, end, mirror.protocolVersion)) return undefined;
  return 'mcp-protocol-version differs from the body';
}

/** @returns the same for all of them, and for one that is missing. */
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
  // What is too long to be the name need not be decoded to tell.
  const isSame =
    nameEnd - nameStart <= ESCAPE_BYTES_MAX * name.length + 2 && stringValue(body, nameStart, nameEnd) === name;
  return isSame ? undefined : 'mcp-name differs from the body';
}

/** What a header's value means; `undefined` for what should be base64 and is not. */
export function headerText(value: string): string | undefined {
  if (!value.startsWith(SENTINEL_START) || !value.endsWith(SENTINEL_END)) return value;
  const base64 = value.slice(SENTINEL_START.length, -SENTINEL_END.length);
  if (!BASE64.test(base64)) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  // Bits that belong to no byte are cut off, whatever they are.
  if (bytes.toString('base64') !== base64) return undefined;
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

const QUOTE = 0x22;
