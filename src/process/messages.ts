// The messages between the primary and a worker: plain data over Node's IPC channel (`advanced` serialization). Types and checks follow
// from a table for each direction.
import type { DataplaneOptions } from '../config/index.js';
import { isSeries, type Series } from '../metrics/index.js';
import { isLogLevel, type LogLevel } from '../shared/index.js';

/** The types that members of messages have in the tables below. A member whose type has a question mark may be absent. */
interface MemberTypes {
  readonly text: string;
  readonly 'text?': string | undefined;
  readonly number: number;
  readonly flag: boolean;
  readonly bytes: Uint8Array;
  readonly level: LogLevel;
  readonly options: DataplaneOptions;
  readonly series: readonly Series[];
  readonly question: ViewQuestion;
  readonly 'nothing?': undefined;
}

const checks: Readonly<Record<keyof MemberTypes, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  'text?': (value) => value === undefined || typeof value === 'string',
  number: (value) => typeof value === 'number',
  flag: (value) => typeof value === 'boolean',
  bytes: (value) => value instanceof Uint8Array,
  level: isLogLevel,
  // Options were checked where they were made: perhaps by a primary of an earlier version, after an upgrade by a reload. So their members
  // keep their names.
  options: (value) => typeof value === 'object' && value !== null,
  series: (value) => Array.isArray(value) && value.every(isSeries),
  question: (value) => isOneOf(viewQuestions, 'view', value),
  'nothing?': (value) => value === undefined,
};

type MessageTable = Readonly<Record<string, Readonly<Record<string, keyof MemberTypes>>>>;

type MembersOf<Row extends MessageTable[string]> = {
  readonly [Name in keyof Row as Row[Name] extends `${string}?` ? never : Name]: MemberTypes[Row[Name]];
} & { readonly [Name in keyof Row as Row[Name] extends `${string}?` ? Name : never]?: MemberTypes[Row[Name]] };

type RowOf<Kinds extends MessageTable, Label extends string> = {
  [Kind in keyof Kinds]: { readonly [Name in Label]: Kind } & MembersOf<Kinds[Kind]>;
}[keyof Kinds];

/** Whether a value is a message of the table. @param label the member that names the row. */
function isOneOf(table: MessageTable, label: string, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Readonly<Record<string, unknown>>;
  const kind = fields[label];
  // `hasOwn`, because `toString` is no message.
  const row = typeof kind === 'string' && Object.hasOwn(table, kind) ? table[kind] : undefined;
  return row !== undefined && Object.entries(row).every(([name, type]) => checks[type](fields[name]));
}

/** What an operator may ask a worker. The primary combines the answers, which are JSON text. */
const viewQuestions = {
  worker: {},
  /**
   * Sessions, oldest first: those of `subject`, with the hash `session`; `''` stands for all. A worker in a slot before `firstSlot` lists
   * none, and the one in `firstSlot` leaves out the first `offset`.
   */
  sessions: { subject: 'text', session: 'text', firstSlot: 'number', offset: 'number', countMax: 'number' },
  /** Whether this worker can reach the origins of backends. */
  backends: {},
  /** The recent requests with this `x-request-id`. */
  request: { requestId: 'text' },
  /** What a subject may reach at a virtual host, and why. `tool` may be `''`. */
  explain: { subject: 'text', virtualHost: 'text', tool: 'text' },
} as const satisfies MessageTable;

export type ViewQuestion = RowOf<typeof viewQuestions, 'view'>;

const toWorker = {
  /**
   * The first message, once. `hopDirectory` has the hop sockets, `slot-<n>.sock` (mode 0700). `hopSecret`: 32 random bytes of this start,
   * which both ends of a hop must know. `bootstrapModule`: URL of the bootstrap feature, in a build that has it.
   */
  start: {
    slot: 'number',
    slotCount: 'number',
    options: 'options',
    hopDirectory: 'text',
    hopSecret: 'bytes',
    bootstrapModule: 'text?',
  },
  /**
   * A successor has the slot. The worker is to stop accepting connections and send `left`. Then it is to finish its requests, forward those
   * that still arrive to the successor, and send `drained`. Its sessions continue in the successor. `stop` follows.
   */
  retire: {},
  /** A drain is coming, as the health check says from now on. All requests are still served. */
  'announce-drain': {},
  /** The worker is to stop accepting connections, finish its requests, and send `drained`. Hops of other workers are served. */
  drain: {},
  /** The worker is to end its upstream sessions and exit; killed after `withinMs`, of which `farewellsMs` are for telling backends. */
  stop: { withinMs: 'number', farewellsMs: 'number' },
  /** This subject's config was written: the worker is to drop what it caches of the config, and to send `forgotten`. */
  forget: { subject: 'text', ticket: 'number' },
  /** Every worker has forgotten the config that this worker has announced with `written`. */
  'all-forgotten': { ticket: 'number' },
  /** Whether the gateway can serve, for the health check. */
  readiness: { isReady: 'flag' },
  /** The worker is to send its `report`. */
  report: { ticket: 'number', series: 'nothing?' },
  /** The worker is to send its `view`. */
  view: { ticket: 'number', question: 'question' },
  'log-level': { level: 'level' },
} as const satisfies MessageTable;

export type ToWorker = RowOf<typeof toWorker, 'kind'>;
export type StartMessage = Extract<ToWorker, { readonly kind: 'start' }>;

const fromWorker = {
  /** Every listener is open. After a reload, the version may differ from the primary's, or be absent. */
  listening: { version: 'text?' },
  /** The worker exits. The reason is one line for an operator. */
  'start-failed': { reason: 'text' },
  /** New connections go only to the successor. */
  left: {},
  drained: {},
  /** The event loop runs. A listening worker that does not send this counts as hung (channel.ts). */
  heartbeat: {},
  /** The worker's store, as for `StoreObstacleListener`; before this message, the worker counts as able to read. */
  store: { obstacle: 'text', staleness: 'text?' },
  /** Why tokens of some issuer cannot be verified, or `''`; and whether no token can be. */
  keys: { obstacle: 'text', isInTheWay: 'flag' },
  /** The worker's counts since its start, and its current gauges. */
  report: { ticket: 'number', series: 'series' },
  /** The answer to a question, as JSON; `null` if there is none. The answer says if it leaves something out. */
  view: { ticket: 'number', answer: 'text' },
  /** This worker has written a config: every worker is to `forget` it, and then this one gets `all-forgotten`. */
  written: { subject: 'text', ticket: 'number' },
  forgotten: { ticket: 'number' },
} as const satisfies MessageTable;

export type FromWorker = RowOf<typeof fromWorker, 'kind'>;

export function isToWorker(value: unknown): value is ToWorker {
  return isOneOf(toWorker, 'kind', value);
}

export function isFromWorker(value: unknown): value is FromWorker {
  return isOneOf(fromWorker, 'kind', value);
}
