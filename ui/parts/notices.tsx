// Notices in place of missing content, and error messages.
import type { ComponentChildren, JSX } from 'preact';
import type { Query } from '../api/query.js';
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
        <Said text={words} max={2_000} />
      </p>
      {retry !== undefined && (
        <button type="button" onClick={() => void retry()}>
          Try again
        </button>
      )}
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
      {value !== undefined ? children(value) : isReading ? <p class="note">Reading …</p> : null}
    </>
  );
}
