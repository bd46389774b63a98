// Exchanges over another server of `node:http`, which has read the head and decides who may ask, for the control plane. Headers that were
// set on the response before are sent with it. A caller that reads slowly is waited for.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { MessageMemories } from '../fair/index.js';
import type { EdgeContext } from './edge-context.js';
import { EdgeExchange } from './edge-exchange.js';
import { NodeRequest, NodeResponse } from './node-response.js';
import { readHead } from './request-head.js';

export class NodeExchanges {
  readonly #context: EdgeContext;

  constructor(
    parts: Pick<EdgeContext, 'deadlines' | 'bodyBytesMax' | 'streamKeepAliveMs' | 'logger'>,
    memories: MessageMemories,
  ) {
    this.#context = {
      ...parts,
      requestMemory: memories.requests,
      answerMemory: memories.answers,
      // The other server has made it.
      requestIds: { of: (given) => given },
      // Requests are few here.
      isTraced: true,
      isCopiedAtOnce: false,
      slowReaderTimeoutMs: Infinity,
      isDraining: false,
      gets: new Set(),
      openCount: 0,
      onIdle: undefined,
    };
  }

  /** A method that the relay does not know is to be refused. */
  open(message: IncomingMessage, response: ServerResponse, requestId: string): EdgeExchange {
    const { method = '' } = message;
    const head = readHead(new NodeRequest(message, method, undefined));
    head.requestId = requestId;
    const answering = new NodeResponse(message, response, () => {});
    const known = method === 'GET' || method === 'DELETE' ? method : 'POST';
    return new EdgeExchange(this.#context, answering, false, known, head, method === 'HEAD');
  }
}
