// The latest requests of this process: an operator with a request's id can see how it ended. Hot path if metrics are collected and
// requests have ids.
import { limits, subjectHash } from '../shared/index.js';

/** The most requests that can be looked up. Then the oldest is forgotten. */
const RECENT_REQUESTS_MAX = 1_024;

const TEXT_FIELDS = ['requestId', 'subject', 'virtualHost', 'method', 'backend', 'tool', 'outcome'] as const;
const NUMBER_FIELDS = ['status', 'durationMs', 'backendMs', 'endedAtMs'] as const;

/** A request that has ended. `backendMs` is -1 if no backend was asked; `endedAtMs` is wall clock. */
export type RecentRequest = Readonly<
  Record<(typeof TEXT_FIELDS)[number], string> &
    Record<(typeof NUMBER_FIELDS)[number], number> & { detail: string | number }
>;

/** A ring buffer with a column for each field, so that keeping a request allocates nothing. */
export class RecentRequests {
  readonly #capacity: number;
  readonly #texts: string[][];
  readonly #details: (string | number)[];
  readonly #numbers: Float64Array;
  #nextIndex = 0;

  constructor(capacity: number = RECENT_REQUESTS_MAX) {
    this.#capacity = capacity;
    this.#texts = TEXT_FIELDS.map(() => new Array<string>(capacity).fill(''));
    this.#details = new Array<string | number>(capacity).fill('');
    this.#numbers = new Float64Array(capacity * NUMBER_FIELDS.length);
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
    const at = this.#nextIndex;
    this.#nextIndex = at + 1 === this.#capacity ? 0 : at + 1;
    const [ids, subjects, hosts, methods, backends, tools, outcomes] = this.#texts as TextColumns;
    ids[at] = requestId;
    subjects[at] = subject.length > limits.storeKeyBytesMax ? '' : subject;
    hosts[at] = virtualHost.length > limits.quotedCharsMax ? '' : virtualHost;
    methods[at] = method.length > limits.quotedCharsMax ? '' : method;
    backends[at] = backend;
    tools[at] = tool.length > limits.quotedCharsMax ? '' : tool;
    outcomes[at] = outcome;
    this.#details[at] = detail;
    const first = at * NUMBER_FIELDS.length;
    this.#numbers[first] = status;
    this.#numbers[first + 1] = durationMs;
    this.#numbers[first + 2] = backendMs;
    this.#numbers[first + 3] = Date.now();
  }

  /** The requests with this id: several, if they came in one batch, or if the client makes its own ids. */
  find(requestId: string): RecentRequest[] {
    const found: RecentRequest[] = [];
    if (requestId === '') return found;
    for (let at = 0; at < this.#capacity; at++) if (this.#texts[0]![at] === requestId) found.push(this.#requestAt(at));
    return found;
  }

  #requestAt(at: number): RecentRequest {
    const texts = TEXT_FIELDS.map((name, column) => [name, this.#texts[column]![at]]);
    const numbers = NUMBER_FIELDS.map((name, column) => [name, this.#numbers[at * NUMBER_FIELDS.length + column]]);
    return { ...Object.fromEntries([...texts, ...numbers]), detail: this.#details[at] } as RecentRequest;
  }
}

type TextColumns = [string[], string[], string[], string[], string[], string[], string[]];

/** The request as operators see it. @param verdict what the same call would get now; `undefined` to leave it out. */
export function describeRequest(
  { subject, endedAtMs, durationMs, backendMs, detail, ...request }: RecentRequest,
  verdict?: unknown,
) {
  return {
    ...request,
    subject: subjectHash(subject),
    ...(detail !== '' && { detail }),
    ...(verdict !== undefined && { verdict }),
    durationMs: roundToTenths(durationMs),
    ...(backendMs >= 0 && { backendMs: roundToTenths(backendMs) }),
    endedAt: new Date(endedAtMs).toISOString(),
  };
}

export function roundToTenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}
