// The closed set of messages between the primary and a worker. Plain data, sent over Node's IPC channel with the
// `advanced` serialization.
import type { DataplaneOptions } from '../config/dataplane-options.js';
import type { Series } from '../metrics/series.js';
import type { ViewQuestion } from './view-question.js';

/** The first message to a worker, once. */
export interface StartMessage {
  readonly kind: 'start';
  readonly slot: number;
  readonly slotCount: number;
  readonly options: DataplaneOptions;
  /** Private directory (mode 0700) that holds the slots' hop sockets, `slot-<n>.sock`. */
  readonly hopDirectory: string;
  /** 32 random bytes that both ends of a hop must know; made anew at each start of the primary. */
  readonly hopSecret: Uint8Array;
  /** Module URL of the bootstrap feature; `undefined` in a build without it. */
  readonly bootstrapModule: string | undefined;
}

export type ToWorker =
  | StartMessage
  /**
   * A new worker has the slot: stop accepting and answer `left`, finish what is in flight and pass on to it what still comes,
   * then answer `drained`. Sessions go on there, so none is ended. `stop` follows.
   */
  | { readonly kind: 'retire' }
  /** A drain will come: the health check says so from now on, and everything is served as before. */
  | { readonly kind: 'announce-drain' }
  /** Stop accepting, finish what is in flight, answer `drained`. The worker goes on serving hops of the others. */
  | { readonly kind: 'drain' }
  /**
   * Every worker has drained, or the time is up: end the upstream sessions and exit 0, or be killed after `withinMs`.
   * `farewellsMs` of these are for telling the backends.
   */
  | { readonly kind: 'stop'; readonly withinMs: number; readonly farewellsMs: number }
  /** Another worker wrote this subject's config: forget what is cached of it and answer `forgotten`. */
  | { readonly kind: 'forget'; readonly subject: string; readonly ticket: number }
  /** Every worker has forgotten the subject that this worker announced. */
  | { readonly kind: 'all-forgotten'; readonly ticket: number }
  /** Whether the gateway as a whole can serve, for the health check on the public address. */
  | { readonly kind: 'readiness'; readonly isReady: boolean }
  /** Somebody wants to see the figures: answer `report`. */
  | { readonly kind: 'report'; readonly ticket: number }
  /** An operator asks: answer `view`. */
  | { readonly kind: 'view'; readonly ticket: number; readonly question: ViewQuestion }
  /** From now on only lines of this level and above are logged. */
  | { readonly kind: 'log-level'; readonly level: DataplaneOptions['logLevel'] };

export type FromWorker =
  /** Every listener is open. */
  | { readonly kind: 'listening' }
  /** The worker cannot start; it exits by itself after this. One line, for a person. */
  | { readonly kind: 'start-failed'; readonly reason: string }
  /** New connections come to the new worker of the slot alone. */
  | { readonly kind: 'left' }
  | { readonly kind: 'drained' }
  /** The event loop turns: a worker that listens and does not say so for too long hangs (heartbeat.ts). */
  | { readonly kind: 'heartbeat' }
  /** Why this worker cannot read user configs from here on; `''` when it can. Until told otherwise it can. */
  | { readonly kind: 'store'; readonly obstacle: string }
  /** Why tokens of some issuer cannot be verified here, `''` when they can; and whether those of all cannot. */
  | { readonly kind: 'keys'; readonly obstacle: string; readonly isInTheWay: boolean }
  /** What this worker has counted since its start, and what it has now. */
  | { readonly kind: 'report'; readonly ticket: number; readonly series: readonly Series[] }
  /** JSON; `null` for nothing. Bounded: what is left out is said in it. */
  | { readonly kind: 'view'; readonly ticket: number; readonly answer: string }
  /** This worker wrote a subject's config: have every worker forget it, then answer `all-forgotten`. */
  | { readonly kind: 'written'; readonly subject: string; readonly ticket: number }
  | { readonly kind: 'forgotten'; readonly ticket: number };
