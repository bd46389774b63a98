// The frame around a merged list.

/** What is written around the list to make it the answer to one request. */
export interface AnswerFrame {
  /** The message up to its result. */
  readonly head: string;
  /** `event`: the message is sent as an event of a stream. */
  readonly form: 'message' | 'event';
  /** Members of the result beside the list. */
  readonly extras?: ResultExtras | undefined;
}

/** What a result has beside its list: a modern one names its server, and says how long and for whom it may be cached. */
export interface ResultExtras {
  /** Members as JSON, each followed by a comma. */
  readonly members: string;
  readonly meta: Readonly<Record<string, unknown>>;
}
