// What the orchestrator asks of the load process and what it gets back: plain data that crosses as one message each.

/** One request of a script, and what its answer must be. */
export interface Step {
  readonly method: 'POST' | 'DELETE';
  readonly path: string;
  readonly body: string | undefined;
  /** Beside those of its connection. */
  readonly headers?: Readonly<Record<string, string>>;
  /** `opens`: the answer brings a session id, which every later step of the connection carries; without one they are in none. */
  readonly session: 'opens' | 'carries';
  /** The exact answer; `undefined` where only the status counts, or a part. */
  readonly expectedBody: string | undefined;
  /** What the answer must hold, where its other bytes are for the target to choose. */
  readonly expectedPart?: string;
  /**
   * The answer is an event stream on which the caller is asked something: this is the result that it gives. The expected
   * body is then the message with which the stream ends.
   */
  readonly reply?: string;
}

/** What one connection does: `opening` once and unmeasured, `loop` over and over, `closing` once at the end. */
export interface Script {
  readonly opening: readonly Step[];
  readonly loop: readonly Step[];
  readonly closing: readonly Step[];
}

export interface ConnectionPlan {
  /** On each of its requests. */
  readonly headers: Readonly<Record<string, string>>;
  readonly script: Script;
}

/** Which of a gateway's workers own the sessions of a connection: the one that it landed on, or another. */
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
  /** Of all connections together, in an open loop; `undefined`: each connection sends when it has its last answer. */
  readonly requestsPerSecond: number | undefined;
  /** Processes whose CPU time is taken as the measured window opens and closes. */
  readonly targetPids: readonly number[];
  readonly backendPids: readonly number[];
  /** Instead of a loop: the loop's one step is done once in each of so many sessions. */
  readonly firstCalls?: FirstCalls | undefined;
}

export interface FirstCalls {
  /** Scheme, host and port of the gateway that the sessions are opened at. */
  readonly opensAt: string;
  readonly sessions: number;
  /** Calls under way. */
  readonly atOnce: number;
}

/** What is read from a Redis, over and over. */
export interface ReadsPlan extends RunTimes {
  readonly redisPort: number;
  /** Under way. */
  readonly atOnce: number;
}

/**
 * Of whole bodies, to the last byte of the answer: from the request's write in a closed loop, and in an open loop from
 * the moment that it was due, so that waiting for a free connection counts.
 */
export interface Latency {
  readonly p50Us: number;
  readonly p90Us: number;
  readonly p99Us: number;
  readonly p99_9Us: number;
}

/** What went wrong, warm-up included. Anything but zeros makes the figures void. */
export interface Faults {
  /** Connection errors and timeouts. */
  readonly errors: number;
  readonly non2xx: number;
  /** Requests whose connection was closed before their answer. */
  readonly lost: number;
  readonly wrongBodies: number;
  /** The first fault in words. */
  readonly sample: string | undefined;
}

/** Everything but the faults is of the measured window alone. */
export interface Measurement {
  readonly requests: number;
  readonly elapsedMs: number;
  readonly latency: Latency;
  /** User and system time. */
  readonly targetCpuUs: number;
  readonly backendCpuUs: number;
  readonly loadCpuUs: number;
  /** As the window closes; of idle sessions, what they added to what was there as it opened. */
  readonly targetResidentBytes: number;
  /** Of a while in which nothing was asked, where that was measured. */
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
