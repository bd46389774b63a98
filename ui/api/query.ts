// What pages have read: kept by its key, shown at once when a page comes back, and read again behind it.
import { signal, type Signal } from '@preact/signals';
import { useCallback, useEffect } from 'preact/hooks';
import { faultWords } from './api.js';
import { token } from './session.js';

export interface Query<Value> {
  /** What was read last; `undefined` until anything was. */
  readonly value: Value | undefined;
  /** Why it could not be read again; `''` when it could. */
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

// What one person has read is not another's to see.
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

/** @param read what the key names; its parts that change are in the key. */
export function useQuery<Value>(key: string, read: () => Promise<Value>): Query<Value> {
  const state = stateOf(key);
  const reload = useCallback(() => readInto(stateOf(key), read), [key]);
  useEffect(() => void reload(), [reload]);
  const { value, fault, isReading } = state.value;
  return { value: value as Value | undefined, fault, isReading, reload };
}
