// Requests of MCP 2026-07-28, valid ones and ones with wrong parts.
import type { ExchangeRequest } from '../../src/exchange/exchange.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import type { WiredCaller } from '../relay/wired-relay.js';

export const VERSION = '2026-07-28';
const META = 'io.modelcontextprotocol/';

/** What differs from a usual, valid request. */
export interface ModernRequest {
  readonly id?: unknown;
  readonly params?: Readonly<Record<string, unknown>>;
  /** Replaces required members of `_meta`, or adds others; `undefined` leaves one out. */
  readonly meta?: Readonly<Record<string, unknown>>;
  /** Replaces the headers that repeat the body. */
  readonly headers?: Partial<ExchangeRequest['mirror']>;
  readonly sessionId?: string;
  readonly answerForms?: ExchangeRequest['acceptedTypes'];
  readonly passthroughHeaders?: readonly string[];
  /** Replaces the whole body. */
  readonly body?: string;
}

export function bodyOf(method: string, { id = 1, params = {}, meta = {} }: ModernRequest = {}): string {
  const _meta = { [`${META}protocolVersion`]: VERSION, [`${META}clientCapabilities`]: {}, ...meta };
  return JSON.stringify({ jsonrpc: '2.0', ...(id !== null && { id }), method, params: { ...params, _meta } });
}

export function post(caller: WiredCaller, method: string, request: ModernRequest = {}): RecordedExchange {
  const { params, headers, sessionId = '', answerForms = 'both', passthroughHeaders = [] } = request;
  const name = params?.['name'] ?? params?.['uri'];
  return caller.request({
    sessionId,
    acceptedTypes: answerForms,
    passthroughHeaders,
    mirror: {
      ...{ protocolVersion: VERSION, method, name: typeof name === 'string' ? name : '', params: [] },
      ...headers,
    },
    body: Buffer.from(request.body ?? bodyOf(method, request)),
  });
}
