// The JSON-RPC ids of the gateway's own requests to backends. An id is never used twice in an upstream session (S32), whichever process
// continues it: hence a random prefix for each process. Cold path: a few ids per session.
import { randomBytes } from 'node:crypto';

const PREFIX_BYTES = 6;

export class OwnIds {
  /** A string, so that it is unlikely to equal an id that a caller has chosen. */
  readonly #prefix = `"switchyard-${randomBytes(PREFIX_BYTES).toString('base64url')}-`;
  #count = 0;

  /** The next id, as JSON. */
  next(): Buffer {
    this.#count += 1;
    return Buffer.from(`${this.#prefix}${this.#count}"`);
  }
}
