// How a backend's answer comes out, for whoever listens: nobody else has to know whether a tool has failed. Hot where somebody does.
import { errorCodeIn, isToolError } from '../../protocol/answer-outcome.js';
import type { BackendMessage } from '../../protocol/json-rpc.js';
import type { ExchangeWatcher } from '../exchange/exchange.js';

/** @param sentAtMs when the request went to the backend, on `performance`'s clock. */
export function tellOutcome(
  watcher: ExchangeWatcher | undefined,
  method: string,
  bytes: Buffer,
  { isError, bodyStart, bodyEnd }: BackendMessage,
  sentAtMs: number,
): void {
  if (watcher === undefined) return;
  const backendMs = performance.now() - sentAtMs;
  if (isError) watcher.onOutcome('rpc-error', errorCodeIn(bytes, bodyStart, bodyEnd), backendMs);
  else if (watcher.isToolErrorTold && method === 'tools/call' && isToolError(bytes, bodyStart, bodyEnd))
    watcher.onOutcome('tool-error', '', backendMs);
  else watcher.onOutcome('ok', '', backendMs);
}
