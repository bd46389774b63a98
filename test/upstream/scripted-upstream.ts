// An upstream HTTP client whose backend is the test: every request is recorded, and answered by hand, callback by callback. It keeps the
// interface's promise that nothing is called back after an abort.
import type {
  HttpUpstream,
  UpstreamCall,
  UpstreamHandler,
  UpstreamRequest,
} from '../../src/http-client/http-upstream.js';
import { upstreamFault, type UpstreamFault, type UpstreamFaultKind } from '../../src/http-client/upstream-fault.js';

/** A placeholder in a response's text: replaced by the id that the gateway gave the request. */
export const REQUEST_ID = 'id of the request';

export class ScriptedUpstream implements HttpUpstream {
  /** Every request so far, in order. */
  readonly calls: ScriptedCall[] = [];

  dispatch(request: UpstreamRequest, handler: UpstreamHandler): UpstreamCall {
    const call = new ScriptedCall(request, handler);
    this.calls.push(call);
    return call;
  }

  async close(): Promise<void> {}

  /** The request with this index; throws when fewer were sent. */
  call(index: number): ScriptedCall {
    const call = this.calls.at(index);
    if (call === undefined) throw new Error(`no request ${index}: ${this.summary.join(', ')}`);
    return call;
  }

  get last(): ScriptedCall {
    return this.call(-1);
  }

  /** What was sent: for each request its JSON-RPC method or, without a body, its HTTP method. */
  get summary(): string[] {
    return this.calls.map((call) => call.summary);
  }
}

export class ScriptedCall implements UpstreamCall {
  readonly request: UpstreamRequest;
  isAborted = false;
  isPaused = false;
  isSent = false;
  readonly #handler: UpstreamHandler;

  constructor(request: UpstreamRequest, handler: UpstreamHandler) {
    this.request = request;
    this.#handler = handler;
  }

  get text(): string {
    const { body, leftOut, putIn } = this.request;
    const beginning = body?.toString('utf8', 0, leftOut?.start) ?? '';
    return `${beginning}${putIn?.toString() ?? ''}${body?.toString('utf8', leftOut?.end ?? body.length) ?? ''}`;
  }

  /** The JSON-RPC id of the request, as JSON. */
  get idText(): string {
    return JSON.stringify((JSON.parse(this.text) as { id?: unknown }).id);
  }

  get summary(): string {
    const { method } = this.request;
    if (this.text === '') return method;
    return (JSON.parse(this.text) as { method?: string }).method ?? 'response';
  }

  /** The value of a request header; `undefined` when absent. */
  header(name: string): string | undefined {
    const index = this.request.headers.findIndex((item, at) => at % 2 === 0 && item === name);
    return index === -1 ? undefined : this.request.headers[index + 1];
  }

  abort(): void {
    this.isAborted = true;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  head(status: number, contentType: string, sessionId = '', bodyBytes = -1, location = ''): this {
    if (!this.isAborted) this.#handler.onHead(status, contentType, sessionId, bodyBytes, location);
    return this;
  }

  /** The memory is overwritten afterwards, as that of a real chunk may be. */
  data(text: string): this {
    const isForOwnId = text.includes(`"${REQUEST_ID}"`);
    const chunk = Buffer.from(isForOwnId ? text.replace(`"${REQUEST_ID}"`, this.idText) : text);
    if (!this.isAborted) this.#handler.onData(chunk);
    chunk.fill('!');
    return this;
  }

  /** The same with a buffer that the call owns from here on. */
  chunk(bytes: Buffer): this {
    if (!this.isAborted) this.#handler.onData(bytes);
    bytes.fill('!');
    return this;
  }

  end(): this {
    if (!this.isAborted) this.#handler.onEnd();
    return this;
  }

  fault(fault: UpstreamFault | UpstreamFaultKind): this {
    if (!this.isAborted) this.#handler.onFault(typeof fault === 'string' ? upstreamFault(fault) : fault);
    return this;
  }

  /** A whole JSON response. */
  json(text: string, sessionId = '', status = 200): this {
    return this.head(status, 'application/json', sessionId).data(text).end();
  }

  /** The same in one piece whose head states its length; overwritten once the response has ended. */
  whole(text: string): this {
    const bytes = Buffer.from(text);
    this.head(200, 'application/json', '', bytes.length);
    if (!this.isAborted) this.#handler.onData(bytes);
    this.end();
    bytes.fill('!');
    return this;
  }

  /** A whole response without a body. */
  empty(status = 202): this {
    return this.head(status, '').end();
  }
}
