// What stands around a merged list, so that it is the answer of one request.

/** What goes around the list to make it the caller's answer. */
export interface AnswerFrame {
  /** The message up to its result. */
  readonly head: string;
  /** `event`: the message as an event of a stream. */
  readonly form: 'message' | 'event';
  /** What the result says of itself. */
  readonly dress?: ListDress | undefined;
}

/** What a result has beside its list: where requests have no session, each answer tells whose it is and how long it holds. */
export interface ListDress {
  /** JSON, with a comma behind it. */
  readonly members: string;
  readonly meta: Readonly<Record<string, unknown>>;
}
