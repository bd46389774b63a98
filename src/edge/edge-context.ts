// State shared by all exchanges of one worker's listeners, and the ids of their requests.
import { randomBytes } from 'node:crypto';
import type { MessageMemory, DeadlineWheel } from '../fair/index.js';
import type { Logger } from '../shared/index.js';

/** `make`: always a new id; `trust`: the request's own id if it is well-formed; `off`: none. */
type RequestIdMode = 'make' | 'trust' | 'off';

/** Such an id can be used in headers and logs as it is. */
const FIT = /^[\w.:@/+=-]{1,128}$/;

/**
 * The id of each HTTP request, which connects its response, its log lines and the backend's own records of it. Hot path: a counter behind a
 * prefix that no other worker has.
 */
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

export interface EdgeContext {
  readonly requestIds: Pick<RequestIds, 'of'>;
  readonly isTraced: boolean;
  readonly deadlines: DeadlineWheel;
  readonly bodyBytesMax: number;
  /** Whether the HTTP library no longer needs an answer's memory once the write call returns. */
  readonly isCopiedAtOnce: boolean;
  /** Memory for large requests, and for large answers that their callers read slowly. */
  readonly requestMemory: MessageMemory;
  readonly answerMemory: MessageMemory;
  /** How long a caller may read nothing of its answer before it is disconnected. */
  readonly slowReaderTimeoutMs: number;
  /** Silence on an event stream before a comment is sent. */
  readonly streamKeepAliveMs: number;
  readonly logger: Logger;
  /** True from the announcement of a drain: every answer closes its connection, so that callers move on to another process. */
  isDraining: boolean;
  /** Open exchanges of GET requests. */
  readonly gets: Set<{ leaveStream(): void }>;
  /** Exchanges without a complete answer. */
  openCount: number;
  /** Called whenever `openCount` has become 0. */
  onIdle: (() => void) | undefined;
}
