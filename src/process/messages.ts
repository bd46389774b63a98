// The closed set of messages between the primary and a worker: plain data, sent over Node's IPC channel with the `advanced` serialization.
// A table for each direction says what the members of each message are; the types and the checks of what arrives follow from it.
import type { DataplaneOptions } from '../config/index.js';
import { isSeries, type Series } from '../metrics/index.js';
import { isLogLevel, type LogLevel } from '../shared/index.js';

/** The types of members, by name. A member whose type has a question mark may be absent. */
interface Members {
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

const isValid: Readonly<Record<keyof Members, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  'text?': (value) => value === undefined || typeof value === 'string',
  number: (value) => typeof value === 'number',
  flag: (value) => typeof value === 'boolean',
  bytes: (value) => value instanceof Uint8Array,
  level: isLogLevel,
  // They were checked where they were created (config), in the same build of the program.
  options: (value) => typeof value === 'object' && value !== null,
  series: (value) => Array.isArray(value) && value.every(isSeries),
  question: (value) => isOneOf(viewQuestions, 'view', value),
  'nothing?': (value) => value === undefined,
};

type Table = Readonly<Record<string, Readonly<Record<string, keyof Members>>>>;

type MembersOf<Row extends Table[string]> = {
  readonly [Name in keyof Row as Row[Name] extends `${string}?` ? never : Name]: Members[Row[Name]];
} & { readonly [Name in keyof Row as Row[Name] extends `${string}?` ? Name : never]?: Members[Row[Name]] };

type OneOf<Kinds extends Table, Label extends string> = {
  [Kind in keyof Kinds]: { readonly [Name in Label]: Kind } & MembersOf<Kinds[Kind]>;
}[keyof Kinds];

/** @param label the member that says which of the table's rows applies. */
function isOneOf(table: Table, label: string, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Readonly<Record<string, unknown>>;
  const kind = fields[label];
  // Only own rows: `toString` is not a message.
  const row = typeof kind === 'string' && Object.hasOwn(table, kind) ? table[kind] : undefined;
  return row !== undefined && Object.entries(row).every(([name, type]) => isValid[type](fields[name]));
}

/** The questions that an operator may ask a worker. The primary combines the answers, which are JSON text. */
const viewQuestions = {
  /** The state of the worker. */
  worker: {},
  /**
   * Sessions in the order in which they began here: all, those of one subject, or the one with this hash,
   * where `''` means any. Slots before `firstSlot` list none, and `firstSlot` lists those from `offset` on.
   */
  sessions: { subject: 'text', session: 'text', firstSlot: 'number', offset: 'number', countMax: 'number' },
  /** The origins of backends, and whether they can be reached from here. */
  backends: {},
  /** A recent request. */
  request: { requestId: 'text' },
  /** What a subject may reach at a virtual host, and why. `tool` is `''` when no tool is asked about. */
  explain: { subject: 'text', virtualHost: 'text', tool: 'text' },
} as const satisfies Table;

export type ViewQuestion = OneOf<typeof viewQuestions, 'view'>;

const toWorker = {
  /**
   * The first message, once. `hopDirectory`: the private directory (mode 0700) of the slots' hop sockets, `slot-<n>.sock`. `hopSecret`: 32
   * random bytes that both ends of a hop must know, generated at each start of the primary. `bootstrapModule`: module URL of the bootstrap
   * feature, in a build that has it.
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
   * A successor has the slot: stop accepting and answer `left`; finish what is in flight and forward what still
   * arrives to the successor; then answer `drained`. Sessions continue there, so none is ended. `stop` follows.
   */
  retire: {},
  /** A drain is coming: the health check says so from now on, and everything is served as before. */
  'announce-drain': {},
  /** Stop accepting, finish what is in flight, answer `drained`. The worker still serves hops of other workers. */
  drain: {},
  /**
   * Every worker has drained, or the time is up: end the upstream sessions and exit with 0, or be killed after `withinMs`.
   * `farewellsMs` of that is for telling the backends.
   */
  stop: { withinMs: 'number', farewellsMs: 'number' },
  /** A worker wrote this subject's config: drop what is kept of it and answer `forgotten`. */
  forget: { subject: 'text', ticket: 'number' },
  /** Every worker has forgotten the subject that this worker announced. */
  'all-forgotten': { ticket: 'number' },
  /** Whether the gateway as a whole can serve, for the health check on the public address. */
  readiness: { isReady: 'flag' },
  /** The figures were requested: answer `report`. */
  report: { ticket: 'number', series: 'nothing?' },
  /** An operator asks a question: answer `view`. */
  view: { ticket: 'number', question: 'question' },
  /** From now on log only lines of this level and above. */
  'log-level': { level: 'level' },
} as const satisfies Table;

export type ToWorker = OneOf<typeof toWorker, 'kind'>;
export type StartMessage = Extract<ToWorker, { readonly kind: 'start' }>;

const fromWorker = {
  /** Every listener is open. After a reload the worker's version may differ from the primary's; some versions do not send theirs. */
  listening: { version: 'text?' },
  /** The worker cannot start, and exits by itself after this. The reason is one line for an operator. */
  'start-failed': { reason: 'text' },
  /** New connections go only to the successor. */
  left: {},
  drained: {},
  /** The event loop is running: a listening worker that does not send this for too long counts as hung (channel.ts). */
  heartbeat: {},
  /** Whether this worker can read user configs from now on, as for `StoreObstacleListener`; before such a message, it counts as able to. */
  store: { obstacle: 'text', staleness: 'text?' },
  /** Why tokens of some issuer cannot be verified here, `''` when they can; and whether no issuer's tokens can be verified. */
  keys: { obstacle: 'text', isInTheWay: 'flag' },
  /** This worker's counts since its start, and its current gauges. */
  report: { ticket: 'number', series: 'series' },
  /** JSON; `null` for nothing. Bounded: an answer says what it leaves out. */
  view: { ticket: 'number', answer: 'text' },
  /** This worker wrote a subject's config: make every worker drop it, then answer `all-forgotten`. */
  written: { subject: 'text', ticket: 'number' },
  forgotten: { ticket: 'number' },
} as const satisfies Table;

export type FromWorker = OneOf<typeof fromWorker, 'kind'>;

export function isToWorker(value: unknown): value is ToWorker {
  return isOneOf(toWorker, 'kind', value);
}

export function isFromWorker(value: unknown): value is FromWorker {
  return isOneOf(fromWorker, 'kind', value);
}
