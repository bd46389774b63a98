// The JSON-RPC ids of the gateway's own requests to backends. An id is never used twice in an upstream session (S32),
// whichever process goes on with that session: hence a beginning that no other process has. Cold: a few a session.
import { randomBytes } from 'node:crypto';

const PREFIX_BYTES = 6;

export class OwnIds {
  /** A string, so that no id of a caller's own is likely to be taken for it. */
  readonly #prefix = `"switchyard-${randomBytes(PREFIX_BYTES).toString('base64url')}-`;
  #count = 0;

  /** The next id, as JSON. */
  next(): Buffer {
    this.#count += 1;
    return Buffer.from(`${this.#prefix}${this.#count}"`);
  }
}
