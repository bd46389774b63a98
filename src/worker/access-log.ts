// One line per request when the option is on (decisions 1): who (a hash), what and how it went; never arguments, tokens
// or whole session ids. The owner of a session writes it, because only the owner knows what the request was.
import type { ClientReading } from '../protocol/json-rpc.js';
import type { Caller } from '../relay/relay.js';
import type { BodyType, Exchange, ExchangeRequest } from '../relay/exchange.js';
import { limits } from '../shared/limits.js';
import { subjectHash, type Logger } from '../shared/logger.js';
import type { Refusal } from '../shared/refusals.js';

export class AccessLog {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** The same exchange, with an ear on how it ends. */
  watch(caller: Caller, exchange: Exchange): Exchange {
    return new WatchedExchange(exchange, caller, this.#logger);
  }

  /** A request that was refused before it reached the relay. */
  refused(method: string, virtualHost: string, refusal: Refusal): void {
    this.#logger.info(
      { virtualHost: bounded(virtualHost), method, status: refusal.status, refusal: refusal.code },
      'request',
    );
  }
}

class WatchedExchange implements Exchange {
  readonly #exchange: Exchange;
  readonly #caller: Caller;
  readonly #logger: Logger;
  readonly #startedAtMs = performance.now();
  #what: { method: string; backend?: string; tool?: string };
  /** As the answer's head says; it is not known before there is one. */
  #status: number | undefined;
  #isLogged = false;

  constructor(exchange: Exchange, caller: Caller, logger: Logger) {
    this.#exchange = exchange;
    this.#caller = caller;
    this.#logger = logger;
    this.#what = { method: exchange.request.method };
    exchange.whenSettled?.((isWhole) => this.#log(isWhole));
  }

  get request(): ExchangeRequest {
    return this.#exchange.request;
  }

  get isAborted(): boolean {
    return this.#exchange.isAborted;
  }

  get onDrain(): (() => void) | undefined {
    return this.#exchange.onDrain;
  }

  set onDrain(handler: (() => void) | undefined) {
    this.#exchange.onDrain = handler;
  }

  get onAbort(): (() => void) | undefined {
    return this.#exchange.onAbort;
  }

  set onAbort(handler: (() => void) | undefined) {
    this.#exchange.onAbort = handler;
  }

  annotate(method: string, backend: string, tool: string): void {
    this.#what = {
      method: bounded(method),
      ...(backend !== '' && { backend }),
      ...(tool !== '' && { tool: bounded(tool) }),
    };
  }

  get isPart(): boolean {
    return this.#exchange.isPart === true;
  }

  onRead(message: ClientReading): void {
    this.#exchange.onRead?.(message);
  }

  /** Each message of a batch has a line of its own. */
  watchPart(part: Exchange): Exchange {
    return new WatchedExchange(part, this.#caller, this.#logger);
  }

  countInPieces(bytes: number): void {
    this.#exchange.countInPieces?.(bytes);
  }

  releaseBody(): void {
    this.#exchange.releaseBody?.();
  }

  respond(
    status: number,
    contentType: string,
    body: Uint8Array | string,
    sessionId?: string,
    headers?: readonly string[],
  ): void {
    this.#status ??= status;
    this.#exchange.respond(status, contentType, body, sessionId, headers);
    this.#logUnlessAwaited(true);
  }

  openStream(sessionId?: string): void {
    this.#status ??= 200;
    this.#exchange.openStream(sessionId);
  }

  openBody(contentType: BodyType, bodyBytes: number): void {
    this.#status ??= 200;
    this.#exchange.openBody(contentType, bodyBytes);
  }

  write(bytes: Uint8Array): boolean {
    return this.#exchange.write(bytes);
  }

  end(): void {
    this.#exchange.end();
    this.#logUnlessAwaited(true);
  }

  reset(): void {
    this.#exchange.reset();
    this.#logUnlessAwaited(false);
  }

  /** Of an exchange that says when it is settled the line waits for that; of one that is gone nothing more is said. */
  #logUnlessAwaited(isWhole: boolean): void {
    if (this.#exchange.whenSettled === undefined || this.isAborted) this.#log(isWhole);
  }

  #log(isWhole: boolean): void {
    // Gone before there was an answer: the line is written when what was asked for has come to its end.
    if (this.#status === undefined && this.isAborted && !isWhole) return;
    if (this.#isLogged) return;
    this.#isLogged = true;
    const durationMs = Math.round((performance.now() - this.#startedAtMs) * 10) / 10;
    const { subject, virtualHost } = this.#caller;
    const who = { subject: subjectHash(subject), virtualHost: virtualHost.id };
    const how = { status: this.#status, durationMs, callerGone: this.isAborted, ...(!isWhole && { cut: true }) };
    this.#logger.info({ ...who, ...this.#what, ...how }, 'request');
  }
}

/** What a caller made up may be as long as a request. */
function bounded(words: string): string {
  return words.slice(0, limits.accessLogNameCharsMax);
}
