// Requests of MCP 2026-07-28, which have no session: each states everything about itself, in its body and in its headers.

export const MODERN_VERSION = '2026-07-28';

const META = `"_meta":{"io.modelcontextprotocol/protocolVersion":"${MODERN_VERSION}","io.modelcontextprotocol/clientInfo":{"name":"switchyard-bench","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}`;

/** @param params its members, as JSON. */
export function modernBody(id: number, method: string, params: string): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{${params}${params === '' ? '' : ','}${META}}}`;
}

/** @param name of the tool, where the method has one. */
export function modernHeaders(method: string, name?: string): Readonly<Record<string, string>> {
  return {
    'mcp-protocol-version': MODERN_VERSION,
    'mcp-method': method,
    ...(name !== undefined && { 'mcp-name': name }),
  };
}
