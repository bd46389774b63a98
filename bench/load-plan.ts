// What the orchestrator sends to the load process and gets back: plain data, in one message each.

/** One request of a script, and the expected response. */
export interface Step {
  readonly method: 'POST' | 'DELETE';
  readonly path: string;
  readonly body: string | undefined;
  /** In addition to those of its connection. */
  readonly headers?: Readonly<Record<string, string>>;
  /** `opens`: the response brings a session id, which every later step of the connection carries; without one they have none. */
  readonly session: 'opens' | 'carries';
  /** The exact response body; `undefined` where only the status, or a part, is checked. */
  readonly expectedBody: string | undefined;
  /** What the response must contain, where the target may choose its other bytes. */
  readonly expectedPart?: string;
  /**
   * The response is an event stream on which the caller is asked something: this is the result that it answers. The expected body is then
   * the message with which the stream ends.
   */
  readonly reply?: string;
}

/** What one connection does: `opening` once and unmeasured, `loop` repeatedly, `closing` once at the end. */
export interface Script {
  readonly opening: readonly Step[];
  readonly loop: readonly Step[];
  readonly closing: readonly Step[];
}

export interface ConnectionPlan {
  /** For each of its requests. */
  readonly headers: Readonly<Record<string, string>>;
  readonly script: Script;
}

/** Which of a gateway's workers owns the sessions of a connection: the one that it landed on, or another. */
export interface Placement {
  readonly owner: 'home' | 'other';
  readonly workers: number;
}

export interface RunTimes {
  /** Before the measured window, so that connections, caches and compiled code are warm. */
  readonly warmUpMs: number;
  readonly measureMs: number;
}

export interface LoadPlan extends RunTimes {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly connections: readonly ConnectionPlan[];
  /** `undefined`: wherever the kernel puts them. */
  readonly placement: Placement | undefined;
  /** The rate of all connections together, in an open loop; `undefined`: each connection sends its next request after its last response. */
  readonly requestsPerSecond: number | undefined;
  /** Processes whose CPU time is taken as the measured window opens and closes. */
  readonly targetPids: readonly number[];
  readonly backendPids: readonly number[];
  /** Instead of a loop: the loop's one step is done once in each of a number of sessions. */
  readonly firstCalls?: FirstCalls | undefined;
}

export interface FirstCalls {
  /** Scheme, host and port of the gateway at which the sessions are opened. */
  readonly opensAt: string;
  readonly sessions: number;
  /** Concurrent calls. */
  readonly atOnce: number;
}

/** Repeated reads from a Redis. */
export interface ReadsPlan extends RunTimes {
  readonly redisPort: number;
  /** Concurrent reads. */
  readonly atOnce: number;
}

/**
 * Until the last byte of the response: from the request's write in a closed loop; in an open loop from the moment it was due, so that
 * waiting for a free connection counts.
 */
export interface Latency {
  readonly p50Us: number;
  readonly p90Us: number;
  readonly p99Us: number;
  readonly p99_9Us: number;
}

/** What went wrong, including the warm-up. Anything but zeros makes the figures void. */
export interface Faults {
  /** Connection errors and timeouts. */
  readonly errors: number;
  readonly non2xx: number;
  /** Requests whose connection was closed before their response. */
  readonly lost: number;
  readonly wrongBodies: number;
  /** A description of the first fault. */
  readonly sample: string | undefined;
}

/** Everything but the faults covers only the measured window. */
export interface Measurement {
  readonly requests: number;
  readonly elapsedMs: number;
  readonly latency: Latency;
  /** User and system time. */
  readonly targetCpuUs: number;
  readonly backendCpuUs: number;
  readonly loadCpuUs: number;
  /** As the window closes; for idle sessions, what they added since it opened. */
  readonly targetResidentBytes: number;
  /** CPU time during a period without requests, where that was measured. */
  readonly quiet?: Quiet;
  readonly faults: Faults;
}

export interface Quiet {
  readonly elapsedMs: number;
  readonly targetCpuUs: number;
}

export type LoadReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'measured'; readonly measurement: Measurement }
  | { readonly kind: 'failed'; readonly reason: string };
