// An edge alone: an HTTP library on its own port; the test gets its requests as exchanges.
import type { Test } from 'tap';
import type { ShareOptions } from '../../src/config/dataplane-options.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { createLogger } from '../../src/shared/logger.js';
import { createMessageMemories } from '../../src/fair/message-memory.js';
import type { EdgeContext } from '../../src/edge/incoming-request.js';
import { RequestIds } from '../../src/edge/request-head.js';
import { EdgeExchange } from '../../src/edge/edge-exchange.js';
import { readHead } from '../../src/edge/request-head.js';
import type { HttpResponse } from '../../src/edge/http-library.js';
import { loadLibrary } from '../../src/edge/choose-listener.js';
import { findFreePort } from '../support/free-port.js';
import { createAccounts } from '../support/shares.js';

export type Listener = 'uws' | 'node';

export interface EdgeServer {
  readonly port: number;
  readonly context: EdgeContext;
}

/** Passes each request to `onRequest`. */
export async function startEdge(
  t: Test,
  onRequest: (exchange: EdgeExchange) => void,
  overrides: Partial<EdgeContext> = {},
  shares: Partial<ShareOptions> = {},
  onResponse: (res: HttpResponse) => void = () => {},
  listener: Listener = 'uws',
): Promise<EdgeServer> {
  const library = await loadLibrary(listener);
  const deadlines = new DeadlineWheel();
  const memories = createMessageMemories(createAccounts(shares), deadlines);
  const context = {
    deadlines,
    requestMemory: memories.requests,
    answerMemory: memories.answers,
    requestIds: new RequestIds('off'),
    isTraced: false,
    bodyBytesMax: 1_000,
    isCopiedAtOnce: library.copiesAtOnce,
    slowReaderTimeoutMs: 60_000,
    streamKeepAliveMs: 14_000,
    logger: createLogger('silent', {}),
    isDraining: false,
    openGets: new Set<EdgeExchange>(),
    openExchangeCount: 0,
    onIdle: undefined,
    ...overrides,
  };
  const server = library.createListener();
  server.router.route('any', '/*', (res, req) => {
    onResponse(res);
    onRequest(new EdgeExchange(context, res, false, readHead(req, 'POST')));
  });
  const port = await findFreePort();
  const close = await server.listen('127.0.0.1', port);
  if (close === undefined) throw new Error('the port was taken meanwhile');
  t.teardown(() => {
    deadlines.stop();
    close();
  });
  return { port, context };
}
