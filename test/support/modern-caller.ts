// Requests of MCP 2026-07-28 as its clients send them: an envelope in the body and headers that mirror it. Every part may be
// replaced or left out, because most tests are about requests whose parts disagree.
import { EventReader } from './event-reader.js';
import type { McpCaller, RequestParts } from './mcp-caller.js';
import { encodeMirrored, META, MODERN_VERSION } from './modern-ladder.js';
import type { HeaderList, HttpAnswer } from './raw-http.js';

export interface ModernParts extends RequestParts {
  /** JSON text; `null` makes it a notification. */
  readonly id?: string | null;
  /** The members of `params` as JSON text, without the braces and without `_meta`. */
  readonly params?: string;
  /** JSON text; `null` leaves `_meta` out. */
  readonly meta?: string | null;
  /** JSON text of the capabilities; the rest of the envelope keeps its defaults. */
  readonly capabilities?: string;
  /** The mirror headers; `null` leaves one out. */
  readonly version?: string | null;
  readonly mcpMethod?: string | null;
  /** In the form that the header has. */
  readonly mcpName?: string | null;
}

/** The envelope of a client without capabilities unless given; `more` holds further members as JSON text. */
export function envelope(capabilities = '{}', more = ''): string {
  return (
    `{"${META}protocolVersion":"${MODERN_VERSION}","${META}clientInfo":{"name":"modern","version":"1.0.0"},` +
    `"${META}clientCapabilities":${capabilities}${more === '' ? '' : `,${more}`}}`
  );
}

/** The value of `name`, or of `uri` where the method is `resources/read`. */
function nameIn(method: string, params: string): string | null {
  if (!['tools/call', 'prompts/get', 'resources/read'].includes(method)) return null;
  const { name, uri } = JSON.parse(`{${params}}`) as { readonly name?: string; readonly uri?: string };
  const value = method === 'resources/read' ? uri : name;
  return value === undefined ? null : encodeMirrored(value);
}

export function modernParts(method: string, parts: ModernParts = {}): RequestParts {
  const { id = '7', params = '', capabilities, version, mcpMethod, mcpName, headers = [], ...rest } = parts;
  const meta = parts.meta === undefined ? envelope(capabilities) : parts.meta;
  const members = [params, meta === null ? '' : `"_meta":${meta}`].filter((text) => text !== '').join();
  const body = `{"jsonrpc":"2.0",${id === null ? '' : `"id":${id},`}"method":"${method}","params":{${members}}}`;
  const mirror: HeaderList = Object.entries({
    'mcp-protocol-version': version === undefined ? MODERN_VERSION : version,
    'mcp-method': mcpMethod === undefined ? method : mcpMethod,
    'mcp-name': mcpName === undefined ? nameIn(method, params) : mcpName,
  }).flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
  return { body, protocolVersion: null, ...rest, headers: [...mirror, ...headers] };
}

/** Sends one request on a connection of its own and reads the whole response. */
export async function ask(caller: McpCaller, method: string, parts: ModernParts = {}): Promise<HttpAnswer> {
  return caller.send(modernParts(method, parts));
}

/** `args` is JSON text. */
export async function callTool(
  caller: McpCaller,
  name: string,
  args = '{}',
  parts: ModernParts = {},
): Promise<HttpAnswer> {
  return ask(caller, 'tools/call', { params: `"name":${JSON.stringify(name)},"arguments":${args}`, ...parts });
}

/** Sends one request, and resolves with the head of the response. */
export async function openStream(caller: McpCaller, method: string, parts: ModernParts = {}): Promise<EventReader> {
  return EventReader.open(caller, modernParts(method, parts));
}
