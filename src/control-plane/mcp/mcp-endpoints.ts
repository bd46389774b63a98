// The MCP endpoints of the control plane: all active servers as one, and each composition as one.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { UpstreamOptions } from '../../config/dataplane-options.js';
import type { Logger } from '../../shared/logger.js';
import type { Compositions } from '../compositions/compositions.js';
import type { Registry } from '../registry/registry.js';

export interface McpEndpointsOptions {
  readonly registry: Registry;
  readonly compositions: Compositions;
  readonly upstream: UpstreamOptions;
  readonly sessionIdleTimeoutMs: number;
  readonly bodyBytesMax: number;
  readonly logger: Logger;
}

/**
 * For requests whose Host, Origin and token were checked. Of the request nothing but its head may have been read. The
 * answer is written to the response with everything that was set on it before (`response.setHeader`); nothing is thrown.
 */
export declare class McpEndpoints {
  constructor(options: McpEndpointsOptions);
  /** Any method on `/mcp`. */
  handleAggregate(subject: string, request: IncomingMessage, response: ServerResponse): void;
  /** Any method on `/servers/{reference}/mcp`; the reference is a composition's id or name, percent-decoded. */
  handleComposition(reference: string, subject: string, request: IncomingMessage, response: ServerResponse): void;
  /** Ends every session and tells the servers, then closes every connection to them. For after the drain. */
  stop(): Promise<void>;
}
