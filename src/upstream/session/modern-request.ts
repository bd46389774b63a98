// Messages to a backend of MCP 2026-07-28 have an envelope in `params._meta`, and headers that repeat parts of the message. Cold path,
// unless a client with sessions uses such a backend.
import {
  TASKS_EXTENSION,
  CLIENT_CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  PROTOCOL_VERSION_KEY,
  MODERN_PROTOCOL_VERSION,
} from '../../mcp/index.js';
import { isObject, KIB } from '../../shared/index.js';
import type { ClientIntroduction } from './client-introduction.js';
import type { ModernHead, OutgoingMessage } from '../../http-client/index.js';

/** The most bytes of an encoded `mcp-name`: backends may not accept more. Beyond that, the request is answered with an error. */
export const MIRRORED_NAME_BYTES_MAX = 8 * KIB;

const NO_PARAMS: readonly string[] = [];
const BEFORE_CAPABILITIES = Buffer.from(
  `"${PROTOCOL_VERSION_KEY}":"${MODERN_PROTOCOL_VERSION}","${CLIENT_CAPABILITIES_KEY}":`,
);
const BEFORE_CLIENT_INFO = Buffer.from(`,"${CLIENT_INFO_KEY}":`);

export function envelopeOf({ capabilities, clientInfo }: ClientIntroduction): Buffer {
  return Buffer.concat([BEFORE_CAPABILITIES, capabilities, BEFORE_CLIENT_INFO, clientInfo]);
}

/** The introduction without tasks, for clients with sessions, which do not know this era's tasks. */
export function withoutTasks(introduction: ClientIntroduction): ClientIntroduction {
  if (!introduction.capabilities.includes(TASKS_EXTENSION)) return introduction;
  const capabilities: unknown = JSON.parse(introduction.capabilities.toString());
  const extensions = isObject(capabilities) ? capabilities['extensions'] : undefined;
  if (!isObject(capabilities) || !isObject(extensions)) return introduction;
  const others = Object.entries(extensions).filter(([name]) => name !== TASKS_EXTENSION);
  const declared = { ...capabilities, extensions: Object.fromEntries(others) };
  return { ...introduction, capabilities: Buffer.from(JSON.stringify(declared)) };
}

/** A request of the gateway's own to a modern backend. @param id as JSON. @param members of its params, as JSON; `''` for none. */
export function modernRequest(id: Buffer, method: string, members: string, envelope: Buffer): OutgoingMessage {
  const before = Buffer.from(`{"jsonrpc":"2.0","id":${id.toString()},"method":"${method}","params":{"_meta":{`);
  return {
    body: Buffer.concat([before, envelope, Buffer.from(`}${members === '' ? '' : `,${members}`}}}`)]),
    head: modernHead(method, ''),
  };
}

/** The headers that mirror a message. @param name what the message is about; `''` for nothing. @param params headers: name, value, … */
export function modernHead(method: string, name: string, params = NO_PARAMS): ModernHead {
  return { method: headerValueOf(method), name: name === '' ? '' : headerValueOf(name), params };
}

export function isNameTooLong(name: string): boolean {
  const max = MIRRORED_NAME_BYTES_MAX;
  return name.length > max / ENCODED_BYTES_PER_CHAR_MAX && headerValueOf(name).length > max;
}

/** More than enough: a character of a text takes at most 3 bytes of UTF-8, which are 4 bytes of base64. */
const ENCODED_BYTES_PER_CHAR_MAX = 8;

const PLAIN_VALUE = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/;
const ENCODED_VALUE = /^=\?base64\?.*\?=$/i;

/** A text as the value of a header, encoded only if necessary. */
export function headerValueOf(text: string): string {
  if (PLAIN_VALUE.test(text) && !ENCODED_VALUE.test(text)) return text;
  return `=?base64?${Buffer.from(text).toString('base64')}?=`;
}
