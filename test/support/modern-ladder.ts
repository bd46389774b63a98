// The refusals that a server of 2026-07-28 owes before it does anything: of a request whose envelope is incomplete, or whose
// mirror headers contradict its body. Written from the revision's text, independently of the gateway's own checks, so that
// each checks the other.
import type { ReceivedRequest } from './raw-backend.js';

export const MODERN_VERSION = '2026-07-28';
export const META = 'io.modelcontextprotocol/';

export interface Json {
  [member: string]: unknown;
}

/** The refusal of a request: an HTTP status, and a JSON-RPC error. */
export interface Refusal {
  readonly status: number;
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** A request that passed all checks. */
export interface Accepted {
  /** JSON text; `undefined` for a notification. */
  readonly id: unknown;
  readonly method: string;
  readonly params: Json;
  readonly meta: Json;
}

/** The methods that have `Mcp-Name`, and the member of `params` that it mirrors. */
const NAMED: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  // The tasks extension.
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};
/** Visible ASCII with spaces and tabs inside; any other value is sent in base64. */
const SAFE = /^[\x20-\x7e\t]*$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** @param schemaOf the input schema of a tool, for its `x-mcp-header` parameters. */
export function climb(
  request: ReceivedRequest,
  versions: readonly string[],
  schemaOf: (tool: string) => Json | undefined,
): Accepted | Refusal {
  let message: unknown;
  try {
    message = JSON.parse(request.text);
  } catch {
    return { status: 400, code: -32700, message: 'Parse error' };
  }
  if (!isJson(message) || Array.isArray(message) || typeof message['method'] !== 'string')
    return { status: 400, code: -32600, message: 'A single request or notification is expected' };
  const { id, method } = message;
  const params = isJson(message['params']) ? message['params'] : {};
  const meta = isJson(params['_meta']) ? params['_meta'] : {};
  const accepted = { id, method, params, meta };
  if (id === undefined) return accepted;
  return ofEnvelope(request, meta, versions) ?? ofMirror(request, accepted, schemaOf) ?? accepted;
}

export function isRefusal(value: Accepted | Refusal): value is Refusal {
  return 'code' in value;
}

function ofEnvelope(request: ReceivedRequest, meta: Json, versions: readonly string[]): Refusal | undefined {
  const claimed = meta[`${META}protocolVersion`];
  const header = request.headers['mcp-protocol-version'];
  if (typeof claimed !== 'string') return invalid(`_meta lacks ${META}protocolVersion`);
  if (header !== claimed) return mismatch(`MCP-Protocol-Version is ${header}, and ${claimed} in the body`);
  if (!isJson(meta[`${META}clientCapabilities`])) return invalid(`_meta lacks ${META}clientCapabilities`);
  if (versions.includes(claimed)) return undefined;
  const data = { supported: versions, requested: claimed };
  return { status: 400, code: -32022, message: 'Unsupported protocol version', data };
}

function ofMirror(
  request: ReceivedRequest,
  { method, params }: Accepted,
  schemaOf: (tool: string) => Json | undefined,
): Refusal | undefined {
  const said = request.headers['mcp-method'];
  if (said !== method) return mismatch(`Mcp-Method is ${said}, and ${method} in the body`);
  const named = NAMED[method];
  if (named !== undefined) {
    const name = decodeMirrored(request.headers['mcp-name']);
    if (name === undefined || name !== params[named])
      return mismatch(`Mcp-Name is ${request.headers['mcp-name']}, and ${String(params[named])} in the body`);
  }
  if (method !== 'tools/call') return undefined;
  const given = isJson(params['arguments']) ? params['arguments'] : {};
  for (const [path, header] of mirroredParameters(schemaOf(String(params['name'])))) {
    const value = path.reduce<unknown>((object, member) => (isJson(object) ? object[member] : undefined), given);
    const sent = request.headers[`mcp-param-${header.toLowerCase()}`];
    if (!isMirrored(value, sent))
      return mismatch(`Mcp-Param-${header} is ${sent}, unlike ${path.join('.')} in the body`);
  }
  return undefined;
}

/** The parameters of a schema that have a header, with the path to each. */
export function mirroredParameters(
  schema: Json | undefined,
  before: readonly string[] = [],
): (readonly [path: readonly string[], header: string])[] {
  const properties = schema?.['properties'];
  if (!isJson(properties)) return [];
  return Object.entries(properties).flatMap(([name, property]) => {
    if (!isJson(property)) return [];
    const path = [...before, name];
    const header = property['x-mcp-header'];
    const own = typeof header === 'string' ? [[path, header] as const] : [];
    return [...own, ...mirroredParameters(property, path)];
  });
}

function isMirrored(value: unknown, sent: string | undefined): boolean {
  if (value === undefined || value === null) return sent === undefined;
  if (sent === undefined) return false;
  const decoded = decodeMirrored(sent);
  if (decoded === undefined) return false;
  if (typeof value === 'number') return Number(decoded) === value;
  return decoded === (typeof value === 'string' ? value : JSON.stringify(value));
}

/** Decodes a mirrored value; `undefined` when the header is absent or malformed. */
export function decodeMirrored(header: string | undefined): string | undefined {
  if (header === undefined || !SAFE.test(header)) return undefined;
  const encoded = /^=\?base64\?(.*)\?=$/.exec(header)?.[1];
  if (encoded === undefined) return header;
  return BASE64.test(encoded) ? Buffer.from(encoded, 'base64').toString('utf8') : undefined;
}

/** The reverse: unchanged when the value can stand in a header and cannot be mistaken for an encoded one. */
export function encodeMirrored(value: string): string {
  const isPlain = SAFE.test(value) && value === value.trim() && !/^=\?base64\?.*\?=$/.test(value);
  return isPlain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}

function invalid(message: string): Refusal {
  return { status: 400, code: -32602, message: `Invalid params: ${message}` };
}

function mismatch(message: string): Refusal {
  return { status: 400, code: -32020, message: `Header mismatch: ${message}` };
}

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}
