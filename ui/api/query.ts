// Data that pages have read, cached by key: shown at once when the user returns to a page, while it is read again in the background.
import { signal, type Signal } from '@preact/signals';
import { useCallback, useEffect } from 'preact/hooks';
import { faultWords } from './api.js';
import { token } from './session.js';

export interface Query<Value> {
  /** The value read last; `undefined` until the first read succeeds. */
  readonly value: Value | undefined;
  /** Why the last read failed; `''` when it succeeded. */
  readonly fault: string;
  readonly isReading: boolean;
  readonly reload: () => Promise<void>;
}

interface State {
  readonly value: unknown;
  readonly fault: string;
  readonly isReading: boolean;
}

const BLANK: State = { value: undefined, fault: '', isReading: true };

const states = new Map<string, Signal<State>>();

// One user's data must not be shown to the next.
token.subscribe(() => states.clear());

function stateOf(key: string): Signal<State> {
  const known = states.get(key) ?? signal(BLANK);
  states.set(key, known);
  return known;
}

async function readInto(state: Signal<State>, read: () => Promise<unknown>): Promise<void> {
  state.value = { ...state.peek(), isReading: true };
  try {
    state.value = { value: await read(), fault: '', isReading: false };
  } catch (error) {
    state.value = { ...state.peek(), fault: faultWords(error), isReading: false };
  }
}

/** @param read reads what the key names; everything that varies must be part of the key. */
export function useQuery<Value>(key: string, read: () => Promise<Value>): Query<Value> {
  const state = stateOf(key);
  const reload = useCallback(() => readInto(stateOf(key), read), [key]);
  useEffect(() => void reload(), [reload]);
  const { value, fault, isReading } = state.value;
  return { value: value as Value | undefined, fault, isReading, reload };
}
