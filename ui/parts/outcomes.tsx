// Many requests that belong together: a few at a time, and what became of each, while they run and afterwards.
import type { JSX } from 'preact';
import { faultWords } from '../api/api.js';
import { Icon } from './icon.js';
import { Said } from './said.js';

export interface Outcome {
  readonly key: string;
  readonly name: string;
  readonly state: 'waiting' | 'underway' | 'done' | 'failed';
  readonly words: string;
}

export interface Doable {
  readonly key: string;
  readonly name: string;
  /** Returns what became of it in words, or rejects with an error in words. */
  readonly act: () => Promise<string>;
}

const AT_ONCE = 4;

/** Resolves when all are over. @param hear gets all outcomes whenever one changes. */
export async function runAll(items: readonly Doable[], hear: (outcomes: readonly Outcome[]) => void): Promise<void> {
  const outcomes: Outcome[] = items.map(({ key, name }) => ({ key, name, state: 'waiting', words: '' }));
  const set = (index: number, state: Outcome['state'], words = ''): void => {
    const known = outcomes[index];
    if (known !== undefined) outcomes[index] = { ...known, state, words };
    hear([...outcomes]);
  };
  hear([...outcomes]);
  const queue = items.entries();
  const work = async (): Promise<void> => {
    for (const [index, { act }] of queue) {
      set(index, 'underway');
      await act().then(
        (words) => set(index, 'done', words),
        (error: unknown) => set(index, 'failed', faultWords(error)),
      );
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

export function outcomeCounts(outcomes: readonly Outcome[]): {
  readonly done: number;
  readonly failed: number;
  readonly open: number;
} {
  const done = outcomes.filter(({ state }) => state === 'done').length;
  const failed = outcomes.filter(({ state }) => state === 'failed').length;
  return { done, failed, open: outcomes.length - done - failed };
}

const STATE_WORDS = { waiting: 'waits', underway: 'under way', done: 'done', failed: 'failed' } as const;

interface OutcomeListProps {
  readonly outcomes: readonly Outcome[];
  readonly linkOf?: (outcome: Outcome) => JSX.Element;
}

/** What failed comes first once all are over: it is what there is to do. */
export function OutcomeList({ outcomes, linkOf }: OutcomeListProps): JSX.Element {
  const isOver = outcomeCounts(outcomes).open === 0;
  const failed = outcomes.filter(({ state }) => state === 'failed');
  const shown = isOver ? [...failed, ...outcomes.filter(({ state }) => state !== 'failed')] : outcomes;
  return (
    <ul class="outcomes" aria-label="Results">
      {shown.map((outcome) => (
        <li key={outcome.key} class={outcome.state}>
          <Icon name={outcome.state === 'done' ? 'done' : outcome.state === 'failed' ? 'fault' : 'clock'} />
          <span class="name">{linkOf === undefined ? outcome.name : linkOf(outcome)}</span>
          <span class="note">
            {outcome.words === '' ? STATE_WORDS[outcome.state] : <Said text={outcome.words} max={600} />}
          </span>
        </li>
      ))}
    </ul>
  );
}
