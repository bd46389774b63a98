// Notices in place of missing content, and error messages.
import type { ComponentChildren, JSX } from 'preact';
import type { Query } from '../api/query.js';
import { reasonWords } from '../model/reason-words.js';
import { Said } from './said.js';

export function Fault({
  words,
  retry,
}: {
  readonly words: string;
  readonly retry?: () => unknown;
}): JSX.Element | null {
  if (words === '') return null;
  return (
    <div class="fault" role="alert">
      <p>
        <Said text={reasonWords(words)} max={2_000} />
      </p>
      {retry !== undefined && (
        <button type="button" onClick={() => void retry()}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Takes about the place of what is being read, so that little moves when it arrives. */
export function Reading(): JSX.Element {
  return (
    <div class="skeleton">
      <span class="unseen">Reading …</span>
      <span />
      <span />
      <span />
    </div>
  );
}

interface LoadedProps<Value> {
  readonly query: Query<Value>;
  readonly children: (value: Value) => ComponentChildren;
}

/** Keeps showing the last value while it is read again, and when that fails. */
export function Loaded<Value>({ query, children }: LoadedProps<Value>): JSX.Element {
  const { value, fault, isReading, reload } = query;
  return (
    <>
      <Fault words={fault} retry={reload} />
      {value !== undefined ? children(value) : isReading ? <Reading /> : null}
    </>
  );
}
