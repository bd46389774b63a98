// The id of each HTTP request, by which its answer, its lines in the log and what a backend has noted of it are found
// together. Hot: a counter behind a beginning that no other worker has.
import { randomBytes } from 'node:crypto';

/** `make`: ours alone; `trust`: the one that came with the request, if it is fit; `off`: none. */
export type RequestIdMode = 'make' | 'trust' | 'off';

/** Goes into headers and logs as it is. */
const FIT = /^[\w.:@/+=-]{1,128}$/;

export class RequestIds {
  readonly #mode: RequestIdMode;
  readonly #beginning = `${randomBytes(6).toString('hex')}-`;
  #count = 0;

  constructor(mode: RequestIdMode) {
    this.#mode = mode;
  }

  /** @param given `x-request-id` of the request, `''` when absent. @returns `''` where requests have none. */
  of(given: string): string {
    if (this.#mode === 'off') return '';
    if (this.#mode === 'trust' && FIT.test(given)) return given;
    this.#count += 1;
    return this.#beginning + this.#count.toString(36);
  }
}
