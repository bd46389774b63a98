// The id of each HTTP request, which connects its response, its log lines and the backend's own records of it. Hot path: a counter behind a
// prefix that no other worker has.
import { randomBytes } from 'node:crypto';

/** `make`: always a new id; `trust`: the request's own id if it is well-formed; `off`: none. */
type RequestIdMode = 'make' | 'trust' | 'off';

/** Such an id can be used in headers and logs as it is. */
const FIT = /^[\w.:@/+=-]{1,128}$/;

export class RequestIds {
  readonly #mode: RequestIdMode;
  readonly #beginning = `${randomBytes(6).toString('hex')}-`;
  #count = 0;

  constructor(mode: RequestIdMode) {
    this.#mode = mode;
  }

  /** @param given the request's `x-request-id`, `''` when absent. @returns `''` when ids are off. */
  of(given: string): string {
    if (this.#mode === 'off') return '';
    if (this.#mode === 'trust' && FIT.test(given)) return given;
    this.#count += 1;
    return this.#beginning + this.#count.toString(36);
  }
}
