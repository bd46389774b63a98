// The HTTP client of one probe: bounds the bytes and JSON values of all responses together.
import { limits } from '../../shared/index.js';
import {
  type HttpUpstream,
  type UpstreamCall,
  upstreamFault,
  type UpstreamHandler,
  type UpstreamRequest,
} from '../../http-client/index.js';

/**
 * Commas and opening brackets in all answers to one probe; values cost more to parse than bytes. Beyond that, the server counts as failed.
 */
export const PROBE_VALUES_MAX = 524_288;

export class BoundedHttp implements HttpUpstream {
  readonly #http: HttpUpstream;
  #bytesLeft: number = limits.probeBytesMax;
  #valuesLeft: number = PROBE_VALUES_MAX;

  constructor(http: HttpUpstream) {
    this.#http = http;
  }

  /** Whether there was more than is read. */
  get isExceeded(): boolean {
    return this.#bytesLeft < 0 || this.#valuesLeft < 0;
  }

  dispatch(request: UpstreamRequest, handler: UpstreamHandler): UpstreamCall {
    const call = this.#http.dispatch(request, {
      onHead: (...head) => handler.onHead(...head),
      onData: (piece) => {
        this.#bytesLeft -= piece.length;
        this.#valuesLeft -= countValues(piece);
        if (!this.isExceeded) return handler.onData(piece);
        call.abort();
        handler.onFault(upstreamFault('answer-too-large'));
      },
      onEnd: () => handler.onEnd(),
      onFault: (fault) => handler.onFault(fault),
    });
    return call;
  }

  async close(): Promise<void> {
    await this.#http.close();
  }
}

/** An upper bound of the JSON values in these bytes: each but the first follows one of these characters, which also count in strings. */
function countValues(bytes: Buffer): number {
  let count = 0;
  for (const byte of bytes) if (byte === COMMA || byte === BRACE || byte === BRACKET) count += 1;
  return count;
}

const COMMA = 0x2c;
const BRACE = 0x7b;
const BRACKET = 0x5b;
