// The latest requests of this process: an operator with a request's id can see how it ended. Hot path if metrics are collected and
// requests have ids.
import { limits, subjectHash } from '../shared/index.js';

/** Requests that can be looked up. Beyond that, the oldest is forgotten. */
const RECENT_REQUESTS_KEPT = 1_024;

const TEXTS = ['requestId', 'subject', 'virtualHost', 'method', 'backend', 'tool', 'outcome'] as const;
const NUMBERS = ['status', 'durationMs', 'backendMs', 'endedAtMs'] as const;

/** A request that has ended. `backendMs` is -1 if no backend was asked; `endedAtMs` is wall clock. */
export type RecentRequest = Readonly<
  Record<(typeof TEXTS)[number], string> & Record<(typeof NUMBERS)[number], number> & { detail: string | number }
>;

/** A ring buffer with a column for each field, which allocates nothing. */
export class RecentRequests {
  readonly #kept: number;
  readonly #texts: string[][];
  readonly #details: (string | number)[];
  readonly #numbers: Float64Array;
  #next = 0;

  constructor(kept: number = RECENT_REQUESTS_KEPT) {
    this.#kept = kept;
    this.#texts = TEXTS.map(() => new Array<string>(kept).fill(''));
    this.#details = new Array<string | number>(kept).fill('');
    this.#numbers = new Float64Array(kept * NUMBERS.length);
  }

  /** Keeps a request. Its fields come one by one, so that no object is allocated. Long texts of the caller are left out. */
  keep(
    requestId: string,
    subject: string,
    virtualHost: string,
    method: string,
    backend: string,
    tool: string,
    outcome: string,
    detail: string | number,
    status: number,
    durationMs: number,
    backendMs: number,
  ): void {
    const at = this.#next;
    this.#next = at + 1 === this.#kept ? 0 : at + 1;
    const [ids, subjects, hosts, methods, backends, tools, outcomes] = this.#texts as Columns;
    ids[at] = requestId;
    subjects[at] = subject.length > limits.storeKeyBytesMax ? '' : subject;
    hosts[at] = virtualHost.length > limits.quotedCharsMax ? '' : virtualHost;
    methods[at] = method.length > limits.quotedCharsMax ? '' : method;
    backends[at] = backend;
    tools[at] = tool.length > limits.quotedCharsMax ? '' : tool;
    outcomes[at] = outcome;
    this.#details[at] = detail;
    const first = at * NUMBERS.length;
    this.#numbers[first] = status;
    this.#numbers[first + 1] = durationMs;
    this.#numbers[first + 2] = backendMs;
    this.#numbers[first + 3] = Date.now();
  }

  /** The requests with this id. Several have one if they are of a batch, or of a client that makes its own ids. */
  find(requestId: string): RecentRequest[] {
    const found: RecentRequest[] = [];
    if (requestId === '') return found;
    for (let at = 0; at < this.#kept; at++) if (this.#texts[0]![at] === requestId) found.push(this.#at(at));
    return found;
  }

  #at(at: number): RecentRequest {
    const texts = TEXTS.map((name, column) => [name, this.#texts[column]![at]]);
    const numbers = NUMBERS.map((name, column) => [name, this.#numbers[at * NUMBERS.length + column]]);
    return { ...Object.fromEntries([...texts, ...numbers]), detail: this.#details[at] } as RecentRequest;
  }
}

type Columns = [string[], string[], string[], string[], string[], string[], string[]];

/** The request as operators see it. @param verdict what the same call would get now; `undefined` if that is not asked. */
export function describeRequest(
  { subject, endedAtMs, durationMs, backendMs, detail, ...request }: RecentRequest,
  verdict?: unknown,
) {
  return {
    ...request,
    subject: subjectHash(subject),
    ...(detail !== '' && { detail }),
    ...(verdict !== undefined && { verdict }),
    durationMs: tenths(durationMs),
    ...(backendMs >= 0 && { backendMs: tenths(backendMs) }),
    endedAt: new Date(endedAtMs).toISOString(),
  };
}

export function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}
