// The messages between the primary and a worker: plain data over Node's IPC channel (`advanced` serialization). Types and checks follow
// from a table for each direction.
import type { DataplaneOptions } from '../config/index.js';
import { isSeries, type Series } from '../metrics/index.js';
import { isLogLevel, type LogLevel } from '../shared/index.js';

/** A member whose type has a question mark may be absent. */
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
  // Checked where they were created. After an upgrade by a reload, that is a primary of an earlier version: members keep their names.
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

/** @param label the member that names the row. */
function isOneOf(table: Table, label: string, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Readonly<Record<string, unknown>>;
  const kind = fields[label];
  // `toString` is no message.
  const row = typeof kind === 'string' && Object.hasOwn(table, kind) ? table[kind] : undefined;
  return row !== undefined && Object.entries(row).every(([name, type]) => isValid[type](fields[name]));
}

/** What an operator may ask a worker. The primary combines the answers, which are JSON text. */
const viewQuestions = {
  worker: {},
  /**
   * In the order in which sessions began here: all, those of one subject, or the one with this hash; `''` means any. Slots before
   * `firstSlot` list none, and `firstSlot` lists those from `offset` on.
   */
  sessions: { subject: 'text', session: 'text', firstSlot: 'number', offset: 'number', countMax: 'number' },
  /** Whether the origins of backends can be reached from here. */
  backends: {},
  request: { requestId: 'text' },
  /** What a subject may reach at a virtual host, and why. `tool` may be `''`. */
  explain: { subject: 'text', virtualHost: 'text', tool: 'text' },
} as const satisfies Table;

export type ViewQuestion = OneOf<typeof viewQuestions, 'view'>;

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
   * A successor has the slot: stop accepting and answer `left`; finish, forward what still arrives to the successor, and answer
   * `drained`. Sessions continue there. `stop` follows.
   */
  retire: {},
  /** A drain is coming, as the health check says from now on. Everything is served. */
  'announce-drain': {},
  /** Stop accepting, finish, answer `drained`. Hops of other workers are served. */
  drain: {},
  /** End the upstream sessions and exit with 0, or be killed after `withinMs`. `farewellsMs` of that is for telling backends. */
  stop: { withinMs: 'number', farewellsMs: 'number' },
  /** This config was written: drop what is kept of it and answer `forgotten`. */
  forget: { subject: 'text', ticket: 'number' },
  /** Every worker has forgotten what this one has announced. */
  'all-forgotten': { ticket: 'number' },
  /** Whether the gateway can serve, for the health check. */
  readiness: { isReady: 'flag' },
  /** Answer `report`. */
  report: { ticket: 'number', series: 'nothing?' },
  /** Answer `view`. */
  view: { ticket: 'number', question: 'question' },
  'log-level': { level: 'level' },
} as const satisfies Table;

export type ToWorker = OneOf<typeof toWorker, 'kind'>;
export type StartMessage = Extract<ToWorker, { readonly kind: 'start' }>;

const fromWorker = {
  /** Every listener is open. After a reload, the version may differ from the primary's; some do not send it. */
  listening: { version: 'text?' },
  /** The worker exits. The reason is one line for an operator. */
  'start-failed': { reason: 'text' },
  /** New connections go only to the successor. */
  left: {},
  drained: {},
  /** The event loop runs. A listening worker without this counts as hung (channel.ts). */
  heartbeat: {},
  /** As for `StoreObstacleListener`; before it, the worker counts as able to read. */
  store: { obstacle: 'text', staleness: 'text?' },
  /** Why tokens of some issuer cannot be verified, or `''`; and whether none can. */
  keys: { obstacle: 'text', isInTheWay: 'flag' },
  /** Counts since the start, and current gauges. */
  report: { ticket: 'number', series: 'series' },
  /** JSON; `null` for nothing. Says what it leaves out. */
  view: { ticket: 'number', answer: 'text' },
  /** Make every worker drop this config, then answer `all-forgotten`. */
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
