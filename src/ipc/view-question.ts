// The questions that an operator may ask a worker: a closed set. The primary combines the answers, which are JSON text.

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
