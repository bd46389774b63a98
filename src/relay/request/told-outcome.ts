// Tells an exchange's watcher how a backend's answer came out. Without a watcher, answers are not searched for tool errors. Hot path if
// there is a watcher.
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
