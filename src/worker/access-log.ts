// One line per request when the option is on (decisions 1): who (a hash), what and how it went; never arguments, tokens
// or whole session ids. The owner of a session writes it, because only the owner knows what the request was.
import type { Caller } from '../relay/relay.js';
import type { Exchange } from '../relay/exchange.js';
import { limits } from '../shared/limits.js';
import { subjectHash, type Logger } from '../shared/logger.js';
import type { Refusal } from '../shared/refusals.js';

export class AccessLog {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Has a line written when the exchange is over, and one for each message of its batch. */
  watch(caller: Caller, exchange: Exchange): void {
    const startedAtMs = performance.now();
    let what: What = { method: exchange.request.method };
    exchange.onIdentified = (method, backend, tool) => {
      what = {
        method: bounded(method),
        ...(backend !== '' && { backend }),
        ...(tool !== '' && { tool: bounded(tool) }),
      };
    };
    exchange.onPart = (part) => this.watch(caller, part);
    exchange.onDone = (status, bytes, ending) => {
      const durationMs = Math.round((performance.now() - startedAtMs) * 10) / 10;
      const { subject, virtualHost } = caller;
      const who = { subject: subjectHash(subject), virtualHost: virtualHost.id };
      const how = { bytes, durationMs, callerGone: exchange.isAborted, ...(ending === 'cut' && { cut: true }) };
      // Where the answer was cut before it began, there is no status.
      this.#logger.info({ ...who, ...what, ...(status !== 0 && { status }), ...how }, 'request');
    };
  }

  /** A request that was refused before it reached the relay. */
  refused(method: string, virtualHost: string, refusal: Refusal): void {
    this.#logger.info(
      { virtualHost: bounded(virtualHost), method, status: refusal.status, refusal: refusal.code },
      'request',
    );
  }
}

/** What the request turned out to be. */
interface What {
  readonly method: string;
  readonly backend?: string;
  readonly tool?: string;
}

/** What a caller made up may be as long as a request. */
function bounded(words: string): string {
  return words.slice(0, limits.accessLogNameCharsMax);
}
