// The closed set of messages between the primary and a worker. Plain data, sent over Node's IPC channel with the
// `advanced` serialization.
import type { DataplaneOptions } from '../config/index.js';
import type { Series } from '../metrics/index.js';

/** The questions that an operator may ask a worker: a closed set. The primary combines the answers, which are JSON text. */
export type ViewQuestion =
  /** The state of the worker. */
  | { readonly view: 'worker' }
  /**
   * Sessions in the order in which they began here: all, those of one subject, or the one with this hash,
   * where `''` means any. Slots before `firstSlot` list none, and `firstSlot` lists those from `offset` on.
   */
  | {
      readonly view: 'sessions';
      readonly subject: string;
      readonly session: string;
      readonly firstSlot: number;
      readonly offset: number;
      readonly countMax: number;
    }
  /** The origins of backends, and whether they can be reached from here. */
  | { readonly view: 'backends' }
  /** A recent request. */
  | { readonly view: 'request'; readonly requestId: string }
  /** What a subject may reach at a virtual host, and why. `tool` is `''` when no tool is asked about. */
  | { readonly view: 'explain'; readonly subject: string; readonly virtualHost: string; readonly tool: string };

type Fields = Readonly<Record<string, unknown>>;

const checks: Readonly<Record<ViewQuestion['view'], (fields: Fields) => boolean>> = {
  worker: () => true,
  sessions: ({ subject, session, firstSlot, offset, countMax }) =>
    isText(subject) && isText(session) && [firstSlot, offset, countMax].every((count) => typeof count === 'number'),
  backends: () => true,
  request: ({ requestId }) => isText(requestId),
  explain: ({ subject, virtualHost, tool }) => isText(subject) && isText(virtualHost) && isText(tool),
};

export function isViewQuestion(value: unknown): value is ViewQuestion {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Fields;
  const { view } = fields;
  return typeof view === 'string' && Object.hasOwn(checks, view) && checks[view as ViewQuestion['view']](fields);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** The first message to a worker, once. */
export interface StartMessage {
  readonly kind: 'start';
  readonly slot: number;
  readonly slotCount: number;
  readonly options: DataplaneOptions;
  /** The private directory (mode 0700) of the slots' hop sockets, `slot-<n>.sock`. */
  readonly hopDirectory: string;
  /** 32 random bytes that both ends of a hop must know; generated at each start of the primary. */
  readonly hopSecret: Uint8Array;
  /** Module URL of the bootstrap feature; `undefined` in a build without it. */
  readonly bootstrapModule: string | undefined;
}

export type ToWorker =
  | StartMessage
  /**
   * A successor has the slot: stop accepting and answer `left`; finish what is in flight and forward what still
   * arrives to the successor; then answer `drained`. Sessions continue there, so none is ended. `stop` follows.
   */
  | { readonly kind: 'retire' }
  /** A drain is coming: the health check says so from now on, and everything is served as before. */
  | { readonly kind: 'announce-drain' }
  /** Stop accepting, finish what is in flight, answer `drained`. The worker still serves hops of other workers. */
  | { readonly kind: 'drain' }
  /**
   * Every worker has drained, or the time is up: end the upstream sessions and exit with 0, or be killed after `withinMs`.
   * `farewellsMs` of that is for telling the backends.
   */
  | { readonly kind: 'stop'; readonly withinMs: number; readonly farewellsMs: number }
  /** A worker wrote this subject's config: drop what is kept of it and answer `forgotten`. */
  | { readonly kind: 'forget'; readonly subject: string; readonly ticket: number }
  /** Every worker has forgotten the subject that this worker announced. */
  | { readonly kind: 'all-forgotten'; readonly ticket: number }
  /** Whether the gateway as a whole can serve, for the health check on the public address. */
  | { readonly kind: 'readiness'; readonly isReady: boolean }
  /** The figures were requested: answer `report`. */
  | { readonly kind: 'report'; readonly ticket: number }
  /** An operator asks a question: answer `view`. */
  | { readonly kind: 'view'; readonly ticket: number; readonly question: ViewQuestion }
  /** From now on log only lines of this level and above. */
  | { readonly kind: 'log-level'; readonly level: DataplaneOptions['logLevel'] };

export type FromWorker =
  /** Every listener is open. After a reload the worker's version may differ from the primary's; some versions do not send theirs. */
  | { readonly kind: 'listening'; readonly version?: string }
  /** The worker cannot start, and exits by itself after this. The reason is one line for an operator. */
  | { readonly kind: 'start-failed'; readonly reason: string }
  /** New connections go only to the successor. */
  | { readonly kind: 'left' }
  | { readonly kind: 'drained' }
  /** The event loop is running: a listening worker that does not send this for too long counts as hung (heartbeat.ts). */
  | { readonly kind: 'heartbeat' }
  /** Whether this worker can read user configs from now on, as `StoreObstacles` says it. Until the first such message, it counts as able to. */
  | { readonly kind: 'store'; readonly obstacle: string; readonly staleness?: string | undefined }
  /** Why tokens of some issuer cannot be verified here, `''` when they can; and whether no issuer's tokens can be verified. */
  | { readonly kind: 'keys'; readonly obstacle: string; readonly isInTheWay: boolean }
  /** This worker's counts since its start, and its current gauges. */
  | { readonly kind: 'report'; readonly ticket: number; readonly series: readonly Series[] }
  /** JSON; `null` for nothing. Bounded: an answer says what it leaves out. */
  | { readonly kind: 'view'; readonly ticket: number; readonly answer: string }
  /** This worker wrote a subject's config: make every worker drop it, then answer `all-forgotten`. */
  | { readonly kind: 'written'; readonly subject: string; readonly ticket: number }
  | { readonly kind: 'forgotten'; readonly ticket: number };
