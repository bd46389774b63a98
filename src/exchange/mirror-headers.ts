// Reads the mirror: the headers in which a caller of MCP 2026-07-28 repeats parts of its body, up to the bounds within which they are
// passed on. For legacy callers, which send at most a version, no object is created.
import { limits } from '../shared/index.js';
import { NO_MIRROR, type MirrorHeaders } from './exchange.js';

const PARAMETER = 'mcp-param-';
const NO_PARAMS: readonly string[] = Object.freeze([]);

/** The last mirror with only a version: nearly all legacy callers send the same version. */
let lastOfVersion = NO_MIRROR;

/** The mirror of a head that has no mirror header but the version. @param protocolVersion `''` for none. */
export function mirrorOfVersion(protocolVersion: string): MirrorHeaders {
  if (protocolVersion === '') return NO_MIRROR;
  if (lastOfVersion.protocolVersion !== protocolVersion)
    lastOfVersion = Object.freeze({ protocolVersion, method: '', name: '', params: NO_PARAMS });
  return lastOfVersion;
}

/**
 * @param headers all headers of a request: lower-case name, value, …
 * @returns `undefined` when there are too many `mcp-param-*` headers, or they are too long in total.
 */
export function mirrorIn(headers: readonly string[], protocolVersion: string): MirrorHeaders | undefined {
  let method = '';
  let name = '';
  let params: string[] | undefined;
  let bytes = 0;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const header = headers[i]!;
    if (!header.startsWith('mcp-')) continue;
    const value = withoutSpace(headers[i + 1]!);
    if (header === 'mcp-method') {
      method = combinedHeader(method, value);
    } else if (header === 'mcp-name') {
      name = combinedHeader(name, value);
    } else if (header.startsWith(PARAMETER)) {
      params ??= [];
      bytes += header.length + Buffer.byteLength(value);
      addParam(params, header, value);
      if (params.length > 2 * limits.mirroredParamsMax || bytes > limits.mirroredParamBytesMax) return undefined;
    }
  }
  return { protocolVersion, method, name, params: params ?? NO_PARAMS };
}

/** Combines the values of a header that occurs twice into `a, b`, as HTTP does; different values then agree with no body. */
export function combinedHeader(present: string, value: string): string {
  return present === '' || present === value ? value : `${present}, ${value}`;
}

function addParam(params: string[], header: string, value: string): void {
  for (let i = 0; i < params.length; i += 2) {
    if (params[i] !== header) continue;
    params[i + 1] = combinedHeader(params[i + 1]!, value);
    return;
  }
  params.push(header, value);
}

/** The value without the spaces and tabs around it (RFC 9110, 5.6.3). */
function withoutSpace(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isSpace(value.charCodeAt(start))) start++;
  while (end > start && isSpace(value.charCodeAt(end - 1))) end--;
  return value.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
