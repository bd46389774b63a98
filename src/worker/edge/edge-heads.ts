// The request head and the response head of an exchange. Hot path.
import type { ExchangeRequest } from '../../relay/exchange/exchange.js';
import { ExchangeHooks } from '../../relay/exchange/exchange-hooks.js';
import { NO_HEADERS, writeHead, writeHeaders } from './answer-head.js';
import type { EdgeContext } from './edge-context.js';
import type { HttpResponse } from './http-library.js';
import { IncomingRequest } from './incoming-request.js';
import type { RequestHead } from './request-head.js';

export abstract class EdgeHeads extends ExchangeHooks {
  readonly head: RequestHead;
  readonly incoming: IncomingRequest;
  readonly isTls: boolean;
  readonly isPart = false;
  protected readonly context: EdgeContext;
  protected readonly res: HttpResponse;
  protected readonly isHead: boolean;
  #corsHeaders: readonly string[] = NO_HEADERS;

  /** @param isHead a HEAD request: the answer has the headers of a GET and no body (RFC 9110, 9.3.2). */
  constructor(
    context: EdgeContext,
    res: HttpResponse,
    isTls: boolean,
    method: ExchangeRequest['method'],
    head: RequestHead,
    isHead: boolean,
  ) {
    super();
    this.context = context;
    this.res = res;
    this.isHead = isHead;
    this.isTls = isTls;
    this.head = head;
    this.incoming = new IncomingRequest(context, res, method, head);
  }

  get request(): ExchangeRequest {
    return this.incoming.request;
  }

  /** An ambiguous request is answered in a later turn, when lent memory is no longer valid. */
  override get takesLent(): boolean {
    return this.context.isCopiedAtOnce && !this.head.isAmbiguous;
  }

  /** Sets the CORS headers (name, value, …) for an origin that may read the answer. */
  allowOrigin(corsHeaders: readonly string[]): void {
    this.#corsHeaders = corsHeaders;
  }

  /** Nothing to do: only a part of a batch passes its reading on. */
  onRead(): void {}

  releaseBody(): void {
    this.incoming.releaseBody();
  }

  /** Call within a `cork`. */
  protected writeHead(
    status: number,
    contentType: string,
    sessionId: string | undefined,
    headers: readonly string[],
  ): void {
    writeHead(this.res, status, contentType, sessionId, headers);
    const { requestId } = this.incoming.request;
    if (requestId !== '') this.res.writeHeader('x-request-id', requestId);
    writeHeaders(this.res, this.#corsHeaders);
  }

  /** While draining, for answers after which the library cannot close the connection by itself. */
  protected writeCloseHeader(): void {
    if (this.context.isDraining) this.res.writeHeader('connection', 'close');
  }
}
